// Tells the router how long programs really took.
//
// A call that ends in a read is measured as a whole, transfers and waits included (`call`). Otherwise a few of the first runs of a program and then one in many are measured: on devices that are done when a launch returns by
// the clock of the host, on the others between two marks of their timeline. Nothing waits for a measurement: what is not
// known when the device gets round to it is dropped.

import type { Mark } from '../devices/device.ts';
import type { Router } from '../routing/router.ts';
import { operationOf } from '../routing/work.ts';
import type { Executable } from './programs.ts';

interface Sample {
  readonly start: number;
  readonly mark: Mark;
}

/** Runs that are measured: the first ones, without the very first, which pays for what is lazily made; then one in many. */
const firstRuns = 4;
const every = 128;
const firstCalls = 16;
const everyCall = 32;

export class Feedback {
  readonly #router: Router | null;
  /** The run in progress is part of a call that is measured as a whole. */
  #within = false;
  #last: Executable | null = null;

  constructor(router: Router | null) {
    this.#router = router;
  }

  /** Changes when placements should be decided anew. */
  get epoch(): number {
    return this.#router === null ? 0 : this.#router.epoch;
  }

  /** What to remember until the program's launches are enqueued; null if this run is not measured. */
  begin(executable: Executable): Sample | null {
    if (this.#router === null || executable.decision === null) return null;
    const run = executable.runs++;
    this.#last = executable;
    if (this.#within || run === 0 || (run > firstRuns && run % every !== 0)) return null;
    return { mark: executable.place.device.mark(), start: performance.now() };
  }

  /** A call begins (with `true`) or has enqueued its work: its runs are not measured one by one. */
  within(call: boolean): void {
    this.#within = call;
    if (call) this.#last = null;
  }

  /** The program of the last run within a call, if the router should hear how long the call took. */
  get measured(): Executable | null {
    const last = this.#last;
    if (!last || last.runs < 2) return null;
    return last.runs <= firstCalls || last.runs % everyCall === 0 ? last : null;
  }

  /** A call took so long, from its start to the result in host memory. */
  call(executable: Executable, ms: number): void {
    if (executable.decision) this.#router?.observeCall(executable.decision, ms * 1000);
  }

  end(executable: Executable, { start, mark }: Sample): void {
    const { place, decision, entry } = executable;
    const after = place.device.mark();
    const work = entry.work;
    const predicted = decision?.predictions.find((p) => p.device === place.id);
    if (!work || !predicted) return;
    const issued = performance.now();
    const tell = (ms: number): void =>
      this.#router!.observe(operationOf(work), work, place.id, predicted.launch + predicted.work, ms * 1000);
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
}
