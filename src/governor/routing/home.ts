// Where new host data is best brought: by where data of its size was used lately, before that by calibrated costs.

import type { DeviceId } from '../../devices/device.ts';
import { at } from './curve.ts';
import { launchTime, type Profile } from './profile.ts';

const octaves = 64;
const octaveOf = (bytes: number): number => (bytes < 2 ? 0 : Math.min(octaves - 1, Math.floor(Math.log2(bytes))));

/** A vote loses this share with each new one of its size. */
const forgetting = 1 / 16;
const votesNeeded = 0.15;

/** What is assumed of data before anything is known: elementwise passes and a reduction over it, then one number read. */
const passes = 4;

export class Homes {
  readonly #votes = new Map<DeviceId, Float64Array>();
  readonly #costs = new Map<DeviceId, Float64Array>();

  calibrated(id: DeviceId, profile: Profile): void {
    const costs = new Float64Array(octaves);
    for (let o = 0; o < octaves; o++) {
      const bytes = 1.5 * 2 ** o;
      costs[o] =
        at(profile.upload, bytes) +
        passes * launchTime(profile, 'map', bytes / 4, 2 * bytes) +
        launchTime(profile, 'reduce', bytes / 4, bytes) +
        profile.waitUs;
    }
    this.#costs.set(id, costs);
  }

  /** Host data of this size was used here. */
  used(id: DeviceId, bytes: number): void {
    const o = octaveOf(bytes);
    let mine = this.#votes.get(id);
    if (!mine) {
      mine = new Float64Array(octaves);
      this.#votes.set(id, mine);
    }
    for (const v of this.#votes.values()) v[o] = v[o]! * (1 - forgetting);
    mine[o] = mine[o]! + forgetting;
  }

  best(bytes: number, allowed: readonly DeviceId[]): DeviceId {
    const o = octaveOf(bytes);
    let best = allowed[0]!;
    let most = votesNeeded;
    let found = false;
    for (let i = 0; i < allowed.length; i++) {
      const votes = this.#votes.get(allowed[i]!)?.[o] ?? 0;
      if (votes <= most) continue;
      most = votes;
      best = allowed[i]!;
      found = true;
    }
    if (found) return best;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < allowed.length; i++) {
      const cost = this.#costs.get(allowed[i]!)?.[o];
      if (cost === undefined || cost >= least) continue;
      least = cost;
      best = allowed[i]!;
    }
    return best;
  }
}
