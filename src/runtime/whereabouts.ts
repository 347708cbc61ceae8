// Where the inputs of a program are, and where they can be brought without waiting.

import { operationTypes } from '../base/operations.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import type { Storage } from '../graph/storage.ts';
import type { Want } from './want.ts';

/** Where the inputs are and what is asked, as one number. Two patterns may share a number: that costs time, not truth. */
export function locations(leaves: readonly Node[], want: Want): number {
  let h = want.excluded * 8 + (want.sync ? 1 : 0) + (want.awaits ? 2 : 0) + (want.wanted ? 4 : 0);
  h = Math.imul(h, 31) + (want.pin?.bit ?? 0) + ((want.prefer?.bit ?? 0) << 8);
  if (want.op) h = Math.imul(h, 31) + 1 + operationTypes.indexOf(want.op);
  for (let i = 0; i < leaves.length; i++) {
    const s = leaves[i]!.storage;
    h = Math.imul(h, 31) + (s ? s.mask + (s.pin ? s.pin.bit << 8 : 0) : 0);
  }
  return h | 0;
}

/** The names of the places that hold bytes, and `host`. */
export function whereabouts(storage: Storage | null): readonly string[] {
  if (!storage) return [];
  const at = storage.places.map((p) => p.id);
  return storage.host && at.length > 0 ? [...at, 'host'] : at;
}

/** Whether all inputs are at the place or can be brought there without waiting. */
export function reachable(leaves: readonly Node[], place: Place): boolean {
  for (let i = 0; i < leaves.length; i++) {
    const s = leaves[i]!.storage;
    if (!s || (s.mask & place.bit) !== 0 || s.host) continue;
    if (!s.places.some((p) => p.caps.syncRead)) return false;
  }
  return true;
}

/** The place the inputs are pinned to, if any. */
export function pinOf(leaves: readonly Node[]): Place | null {
  let pin: Place | null = null;
  for (const { storage } of leaves) {
    if (!storage?.pin) continue;
    if (pin && storage.pin !== pin) {
      throw new ArgumentError({
        code: 'PINNED_APART',
        message: `inputs of one computation are pinned to different devices: ${pin.id} and ${storage.pin.id}`,
        fix: 'Move one of them with tensor.to(device), or compute inside rt.scope({ device }, …).',
        where: 'routing',
      });
    }
    pin = storage.pin;
  }
  return pin;
}
