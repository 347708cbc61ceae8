// Cleaning up: runs the steps in order and reports what they gave back, of reserved memory.
//
// One clean-up at a time. A request from within one (a step that allocates, a callback that cleans up too) does nothing
// and reports nothing freed, so no trigger can recurse or wait for itself. A step that throws is reported; the next ones
// still run.

import type { Report } from '../../base/callbacks.ts';
import type { DeviceId } from '../../devices/device.ts';
import { utilizationOf } from './figures.ts';
import { MiB, type PlaceFigures, type Rung, type TickClock } from './view.ts';

/** What a clean-up did. Figures are of reserved memory, so that returning idle blocks shows. */
export interface CleanupReport {
  readonly device: DeviceId;
  readonly trigger: 'request' | 'pressure';
  readonly beforeMb: number;
  readonly afterMb: number;
  readonly freedMb: number;
  /** Live memory that was freed: caches dropped, forgotten tensors collected. */
  readonly freedLiveMb: number;
  readonly beforeUtil: number;
  readonly afterUtil: number;
  /** The steps that ran, in order, with what each gave back. Empty if another clean-up was running. */
  readonly steps: readonly { readonly name: string; readonly freedMb: number }[];
  readonly timestamp: number;
  readonly ms: number;
}

export class Cleaner {
  readonly #figures: (device: DeviceId) => PlaceFigures;
  readonly #clock: TickClock;
  readonly #onError: Report;
  #running = false;

  constructor(figures: (device: DeviceId) => PlaceFigures, clock: TickClock, onError: Report) {
    this.#figures = figures;
    this.#clock = clock;
    this.#onError = onError;
  }

  get running(): boolean {
    return this.#running;
  }

  /** `after` is told before the next clean-up may begin: whoever cleans up from within it gets an empty report too. */
  run(
    device: DeviceId,
    trigger: CleanupReport['trigger'],
    rungs: Iterable<Rung>,
    after: (report: CleanupReport) => void,
  ): CleanupReport {
    const before = this.#figures(device);
    const started = this.#clock.now();
    if (this.#running) return describe(device, trigger, before, before, [], started, started);
    this.#running = true;
    try {
      const steps: { name: string; freedMb: number }[] = [];
      let last = before;
      for (const rung of rungs) {
        try {
          rung.run(device);
        } catch (error) {
          this.#onError(error, `memory clean-up: ${rung.name}`);
        }
        const now = this.#figures(device);
        steps.push({ name: rung.name, freedMb: (last.reserved - now.reserved) / MiB });
        last = now;
      }
      const report = describe(device, trigger, before, last, steps, started, this.#clock.now());
      after(report);
      return report;
    } finally {
      this.#running = false;
    }
  }
}

function describe(
  device: DeviceId,
  trigger: CleanupReport['trigger'],
  before: PlaceFigures,
  after: PlaceFigures,
  steps: CleanupReport['steps'],
  started: number,
  ended: number,
): CleanupReport {
  return {
    device,
    trigger,
    beforeMb: before.reserved / MiB,
    afterMb: after.reserved / MiB,
    freedMb: (before.reserved - after.reserved) / MiB,
    freedLiveMb: (before.inUse - after.inUse) / MiB,
    beforeUtil: utilizationOf(before),
    afterUtil: utilizationOf(after, steps.length > 0 ? after.reclaimable : 0),
    steps,
    timestamp: ended,
    ms: ended - started,
  };
}
