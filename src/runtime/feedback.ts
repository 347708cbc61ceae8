// Tells the router how long programs really took.
//
// A call that ends in a read is measured as a whole, transfers and waits included (`call`). Otherwise a few of the first runs of a program and then one in many are measured: on devices that are done when a launch returns by
// the clock of the host, on the others between two marks of their timeline. Nothing waits for a measurement: what is not
// known when the device gets round to it is dropped. Nothing fails for a measurement either: one that cannot be taken is left out.

import type { Mark } from '../devices/device.ts';
import { Costed } from '../governor/routing/decision.ts';
import type { Router } from '../governor/routing/router.ts';
import type { Operation } from '../governor/routing/types.ts';
import { operationOf } from '../governor/routing/work.ts';
import type { Emitter } from './events.ts';
import type { Executable } from './executable.ts';

interface Sample {
  readonly start: number;
  readonly mark: Mark;
}

/** Runs that are measured: the first ones, without the very first, which pays for what is lazily made; then one in many. */
const firstRuns = 4;
const every = 128;

export class Feedback {
  readonly #router: Router | null;

  readonly #events: Emitter | null;

  constructor(router: Router | null, events: Emitter | null = null) {
    this.#router = router;
    this.#events = events;
  }

  /** Whether anybody wants to know. */
  get wanted(): boolean {
    return this.#router !== null;
  }

  /** Changes when placements should be decided anew. */
  get epoch(): number {
    return this.#router === null ? 0 : this.#router.epoch;
  }

  /** What to remember until the program's launches are enqueued; null if this run is not measured, or its call as a whole. */
  begin(executable: Executable, whole: boolean): Sample | null {
    if (this.#router === null || executable.decision === null) return null;
    const run = executable.runs++;
    if (whole || run === 0 || (run > firstRuns && run % every !== 0)) return null;
    const mark = markOf(executable);
    return mark && { mark, start: performance.now() };
  }

  /** A call that ran a program last took so long, from its start to the result in host memory. */
  call({ decision, runs }: Executable, ms: number): void {
    // The first run pays for what is made lazily.
    if (!(runs > 1 && decision instanceof Costed && decision.due())) return;
    this.#router?.observeCall(decision, ms * 1000);
    if (!this.#events?.heard.measured) return;
    const predicted = decision.predictions.find((p) => p.device === decision.device);
    if (predicted) this.#told(decision.request.op, decision.device, predicted.us, ms, true);
  }

  end(executable: Executable, { start, mark }: Sample): void {
    const { place, decision, entry } = executable;
    const after = markOf(executable);
    const work = entry.work;
    const predicted = decision?.predictions.find((p) => p.device === place.id);
    if (!after || !work || !predicted) return;
    const issued = performance.now();
    const op = decision instanceof Costed ? decision.request.op : operationOf(work);
    const expected = predicted.launch + predicted.work;
    const tell = (ms: number): void => {
      this.#router!.observe(op, work, place.id, expected, ms * 1000);
      if (this.#events?.heard.measured) this.#told(op, place.id, expected, ms, false);
    };
    if (after.done()) {
      tell(issued - start);
      return;
    }
    after.whenDone().then(
      () => {
        const ms = after.since(mark);
        // Device time where it can be had; the launches' own cost is what the host spent.
        if (ms !== null) tell(Math.max(ms, issued - start));
      },
      () => {},
    );
  }

  #told(op: Operation, device: string, predictedUs: number, ms: number, whole: boolean): void {
    this.#events?.emit('measured', { op, device, predictedMs: predictedUs / 1000, ms, whole });
  }
}

function markOf({ place }: Executable): Mark | null {
  try {
    return place.device.mark();
  } catch {
    // The next work finds out what is wrong with the device.
    return null;
  }
}
