// Builds a healthy device anew: what lives on it is brought to host memory first, so that nothing is lost, and comes back where
// it is used next. A device that cannot be opened twice in one process (the CPU, CUDA without isolation) is emptied instead: its
// tensors and its idle memory go, its programs stay.

import type { Place } from '../devices/place.ts';
import { DeviceLost } from '../errors.ts';
import { refuseLent } from '../governor/memory/errors.ts';
import type { Losses } from '../governor/recovery/loss.ts';
import type { Storage, Storages } from '../graph/storage.ts';

/** What a reset did. */
export interface ResetReport {
  readonly device: string;
  /** Tensors that were on the device and are safe. */
  readonly restored: number;
  readonly ms: number;
}

export interface ResetParts {
  readonly storages: Storages;
  readonly losses: Losses;
  /** Waits for what is enqueued, within the time limit. */
  readonly finished: (place: Place) => Promise<unknown>;
}

export async function reset(place: Place, { storages, losses, finished }: ResetParts): Promise<ResetReport> {
  const start = performance.now();
  const { device } = place;
  const answers = await finished(place).then(
    () => true,
    () => false,
  );
  if (!answers) {
    losses.lost(place, device, 'it did not answer when it was reset');
    if (!(await losses.back(place))) throw gone(place);
    return { device: place.id, restored: 0, ms: performance.now() - start };
  }
  let back: Promise<boolean> | true = true;
  const restored = await save(place, storages, () => {
    if (place.device !== device) throw gone(place);
    if (device.reopen) back = losses.renew(place);
    else {
      for (const storage of storages) if (movable(storage, place)) storage.dropCopy(place);
      device.trim();
    }
  });
  if (!(await back)) throw gone(place);
  return { device: place.id, restored, ms: performance.now() - start };
}

const gone = (place: Place): DeviceLost =>
  new DeviceLost({
    message: `reset: ${place.id} was lost while it was reset`,
    fix: 'Where it can be opened again, the runtime does so by itself.',
    where: 'reset',
    device: place.id,
  });

const movable = (storage: Storage, place: Place): boolean =>
  (storage.mask & place.bit) !== 0 && (place.mortal || !storage.on(place)!.collected);

/** Brings everything of a place to host memory, until a look finds nothing left to bring: then, at once, calls `done`. */
async function save(place: Place, storages: Storages, done: () => void): Promise<number> {
  for (;;) {
    if (!place.alive) throw gone(place);
    let restored = 0;
    const only: Storage[] = [];
    for (const storage of storages) {
      if (!movable(storage, place)) continue;
      if (storage.lent) throw refuseLent(`${storage.dtype} [${storage.shape}]`, storage.lent, 'reset');
      restored++;
      if (!storage.host && (storage.mask & ~place.bit) === 0) only.push(storage);
    }
    if (only.length === 0) {
      done();
      return restored;
    }
    for (const storage of only) {
      const buffer = storage.on(place);
      if (!buffer) continue;
      const bytes = await place.device.read(buffer, 0, buffer.bytes);
      if (storage.owners > 0 && storage.on(place) === buffer) storage.keepOnHost(bytes.slice());
    }
  }
}
