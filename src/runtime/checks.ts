// Index checks: flags computed beside results that tell whether an index was out of range.
//
// Where a flag can be read at once a bad index stops the run; elsewhere the check stays with the results and is read before
// they are.

import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { IndexError } from '../errors.ts';
import { type Asked, asked, type Work } from '../governor/recovery/attempt.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import type { Node } from '../graph/node.ts';
import type { DeferredCheck, Storage } from '../graph/storage.ts';
import type { Trace } from '../graph/trace.ts';
import type { Executable } from './executable.ts';

/** A flag that is read later. */
interface Flag {
  readonly place: Place;
  readonly generation: number;
  readonly buffer: DeviceBuffer;
}

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
        if (device.readSync(buffer, 0, 1)[0] !== 0) throw badIndex(check.message());
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

  /** True: an index was out of range. If the flag went with its device, so did the results it guards. */
  readonly #reading: Work<Flag, Asked, Promise<boolean>> = {
    what: 'read of an index check',
    run: async ({ place, generation, buffer }) => {
      if (place.generation !== generation) return false;
      const reading = place.device.read(buffer, 0, 1);
      const [flag] = await this.#recovery.within(reading, `read of an index check (${place.id})`);
      return flag !== 0;
    },
    blame: (_, { place }) => ({ place, node: null }),
  };

  #defer(place: Place, buffer: DeviceBuffer, message: () => string): DeferredCheck {
    const { generation } = place;
    const { attempts } = this.#recovery;
    let outcome: Promise<void> | null = null;
    const read = async (): Promise<void> => {
      const want = { ...asked, prefer: place, pin: place, pinned: true };
      try {
        const bad = await attempts.runAsync(this.#reading, { place, generation, buffer }, want);
        if (bad) throw badIndex(message());
      } finally {
        // Nobody asks again, whatever came of it: what a flag guards may be computed elsewhere next.
        this.#open.delete(check);
        if (place.generation === generation) place.release(buffer);
      }
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
