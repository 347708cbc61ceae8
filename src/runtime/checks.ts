// Index checks: flags computed beside results that tell whether an index was out of range.
//
// Where a flag can be read at once a bad index stops the run; elsewhere the check stays with the results and is read before
// they are.

import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { DeviceLost, IndexError } from '../errors.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import type { Node } from '../graph/node.ts';
import type { DeferredCheck, Storage } from '../graph/storage.ts';
import type { Trace } from '../graph/trace.ts';
import type { Executable } from './executable.ts';

/** How often a flag is asked for, at once, before the results it guards are given up. */
const mostAttempts = 3;

export class Checks {
  readonly #recovery: Recovery;
  readonly #open = new Set<DeferredCheck>();

  constructor(recovery: Recovery) {
    this.#recovery = recovery;
  }

  /** Reads the flags, which follow the outputs among the plan's results, or defers that. */
  read(
    t: Pick<Trace, 'checks'>,
    { plan, place }: Executable,
    buffers: (DeviceBuffer | undefined)[],
    first: number,
    undo: () => void,
  ): DeferredCheck[] {
    const deferred: DeferredCheck[] = [];
    const seen = new Set<number>();
    const { device } = place;
    t.checks.forEach((check, i) => {
      const id = plan.outputs[first + i]!;
      // Equal checks share one flag.
      if (seen.has(id)) return;
      seen.add(id);
      const buffer = buffers[id]!;
      if (!device.readSync) {
        deferred.push(this.#defer(place, buffer, check.message));
        return;
      }
      try {
        if (device.readSync(buffer, 0, 1)[0] !== 0) throw badIndex(check.message);
      } catch (e) {
        undo();
        throw e;
      }
    });
    for (const id of seen) {
      if (device.readSync) place.release(buffers[id]!);
      buffers[id] = undefined;
    }
    return deferred;
  }

  /** Fails if an index behind these bytes was out of range. */
  async verify(storage: Storage): Promise<void> {
    await Promise.all((storage.checks ?? []).map((c) => c.verify()));
    storage.checks = null;
  }

  /** Fails if any index of work enqueued before was out of range; null if there is nothing to look at. */
  verifyAll(): Promise<unknown> | null {
    return this.#open.size > 0 ? Promise.all([...this.#open].map((c) => c.verify())) : null;
  }

  #defer(place: Place, buffer: DeviceBuffer, message: string): DeferredCheck {
    const { generation } = place;
    let outcome: Promise<void> | null = null;
    const settled = (): void => {
      this.#open.delete(check);
      if (place.generation === generation) place.release(buffer);
    };
    const read = async (): Promise<void> => {
      let flag: number | undefined;
      for (let attempt = 1; flag === undefined; attempt++) {
        // If the flag went with its device, so did the results it guards.
        if (place.generation !== generation) return settled();
        try {
          const reading = place.device.read(buffer, 0, 1);
          [flag] = await this.#recovery.within(reading, `read of an index check (${place.id})`);
        } catch (e) {
          if (attempt < mostAttempts && !(e instanceof DeviceLost)) continue;
          // Nobody may ask again: what a flag guards may be computed elsewhere next.
          settled();
          throw e;
        }
      }
      settled();
      if (flag !== 0) throw badIndex(message);
    };
    // Read once, however many results depend on it.
    const check: DeferredCheck = { verify: () => (outcome ??= read()) };
    this.#open.add(check);
    return check;
  }
}

/** The checks of a run and those its inputs still wait for, each once: a value used twice brings the same ones twice. */
export function withInherited(own: DeferredCheck[] | null, leaves: readonly Node[]): DeferredCheck[] | null {
  let all: Set<DeferredCheck> | null = null;
  for (const leaf of leaves) {
    const { checks } = leaf.storage!;
    if (!checks) continue;
    all ??= new Set(own);
    for (const check of checks) all.add(check);
  }
  return all ? [...all] : own;
}

function badIndex(message: string): IndexError {
  const [text = message, fix = ''] = message.split('\n  fix: ');
  return new IndexError({ code: 'INDEX_OUT_OF_RANGE', message: text, fix, where: text.split(':')[0]! });
}
