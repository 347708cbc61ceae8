// Waiting for a software adapter in Node without taking its processor.
//
// Dawn asks for results on every turn of the event loop, without a pause, while anything is awaited. A GPU does not mind; a software
// adapter computes on the same cores and loses one to it. So while something of it is awaited, the loop rests between turns: a
// twentieth of the time since anything happened, a millisecond at most, and only when the turn before had nothing else to do. Short
// work is not rested for: with all cores busy, coming back takes up to a slice of the scheduler, some milliseconds.

/** Turns shorter than this had only Dawn's question in them, in milliseconds. */
const idleTurn = 0.1;
/** Rests shorter than these, in milliseconds, cost more than they give, where the work is known to be long and where it is not. */
const leastRest = { long: 0.02, unknown: 0.3 } as const;
/** Workgroups that certainly take long. */
const longWork = 1024;
const mostRest = 1;
const share = 1 / 20;

/** How a promise of the GPU is awaited. */
export type Waiter = <T>(work: Promise<T>) => Promise<T>;

export interface Rests {
  readonly now: () => number;
  readonly nextTurn: (f: () => void) => void;
  readonly rest: (ms: number) => void;
}

export class Patience {
  readonly #host: Rests;
  /** Workgroups enqueued so far, and how many when something last arrived. */
  readonly #enqueued: () => number;
  #arrived = 0;
  #long = false;
  #waiting = 0;
  /** When something was last asked for or arrived. */
  #since = 0;
  #turned = 0;
  #turning = false;

  constructor(host: Rests, enqueued: () => number) {
    this.#host = host;
    this.#enqueued = enqueued;
  }

  /** The same promise, awaited with rests. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#waiting++;
    this.#since = this.#host.now();
    this.#long = this.#enqueued() - this.#arrived >= longWork;
    if (!this.#turning) {
      this.#turning = true;
      this.#turned = this.#since;
      this.#host.nextTurn(this.#turn);
    }
    return work.finally(() => {
      this.#waiting--;
      this.#since = this.#host.now();
      this.#arrived = this.#enqueued();
    });
  }

  readonly #turn = (): void => {
    this.#turning = this.#waiting > 0;
    if (!this.#turning) return;
    const now = this.#host.now();
    const rest = Math.min((now - this.#since) * share, mostRest);
    if (now - this.#turned < idleTurn && rest >= leastRest[this.#long ? 'long' : 'unknown']) this.#host.rest(rest);
    this.#turned = this.#host.now();
    this.#host.nextTurn(this.#turn);
  };
}

/** Rests on this thread, as threads of Node may. */
function restsOfThread(): Rests {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return {
    now: () => performance.now(),
    nextTurn: (f) => setImmediate(f),
    rest: (ms) => {
      Atomics.wait(cell, 0, 0, ms);
    },
  };
}

/** Awaits with patience. For Node: browsers do not poll. */
export function patientWaiter(enqueued: () => number): Waiter {
  const patience = new Patience(restsOfThread(), enqueued);
  return (work) => patience.during(work);
}
