// Finds accesses to device memory that no stream, event or wait of the host puts in order: what a real GPU may do in any order.
//
// Reads the calls that a mock driver recorded. Every stream and the host have a vector clock: what is enqueued knows what the host knew,
// an event carries what its stream knew when it was recorded, a wait passes that on. An access is in order with an earlier one
// to the same bytes, of which one writes, if it knows of it.

import type { MockCall } from './cuda-mock.ts';

type Clock = Map<number, number>;

interface Access {
  readonly what: string;
  readonly stream: number;
  readonly tick: number;
  readonly from: number;
  readonly to: number;
  readonly writes: boolean;
}

/** Ranges of device memory that a kernel reads and writes. */
export type RangesOf = (call: MockCall) => readonly { readonly from: number; readonly bytes: number }[];

const join = (into: Clock, other: Clock): void => {
  for (const [stream, tick] of other) if ((into.get(stream) ?? 0) < tick) into.set(stream, tick);
};

export class StreamOrder {
  readonly #host: Clock = new Map();
  readonly #streams = new Map<number, Clock>();
  readonly #events = new Map<number, Clock>();
  readonly #accesses: Access[] = [];
  readonly #rangesOf: RangesOf;
  /** Pairs of accesses in no order, told in words. */
  readonly races: string[] = [];

  constructor(rangesOf: RangesOf) {
    this.#rangesOf = rangesOf;
  }

  /** A call of the driver, in the order of the calls; `done`: what a query of an event answered. */
  see(call: MockCall, done = true): void {
    const { name, args } = call;
    const [a, b, c, d] = args as [number, number, number, number];
    switch (name) {
      case 'cuEventRecord':
        this.#events.set(a, new Map(this.#tick(b)));
        return;
      case 'cuStreamWaitEvent':
        join(this.#tick(a), this.#events.get(b) ?? new Map());
        return;
      case 'cuEventQuery':
        if (done) join(this.#host, this.#events.get(a) ?? new Map());
        return;
      case 'cuEventSynchronize':
        join(this.#host, this.#events.get(a) ?? new Map());
        return;
      case 'cuStreamSynchronize':
        join(this.#host, this.#tick(a));
        return;
      case 'cuCtxSynchronize':
        for (const clock of this.#streams.values()) join(this.#host, clock);
        return;
      case 'cuMemcpyHtoDAsync_v2':
        this.#access(name, d, a, c, true);
        return;
      case 'cuMemcpyDtoHAsync_v2':
        this.#access(name, d, b, c, false);
        return;
      case 'cuLaunchKernel':
        for (const { from, bytes } of this.#rangesOf(call)) this.#access(name, args[8]!, from, bytes, true);
        return;
      default:
    }
  }

  /** The clock of a stream, at a new point of it. */
  #tick(stream: number): Clock {
    let clock = this.#streams.get(stream);
    if (!clock) this.#streams.set(stream, (clock = new Map()));
    join(clock, this.#host);
    clock.set(stream, (clock.get(stream) ?? 0) + 1);
    return clock;
  }

  #access(what: string, stream: number, from: number, bytes: number, writes: boolean): void {
    const clock = this.#tick(stream);
    const to = from + bytes;
    for (const a of this.#accesses) {
      if (!(a.writes || writes) || a.to <= from || a.from >= to || (clock.get(a.stream) ?? 0) >= a.tick) continue;
      this.races.push(`${what} on ${stream} and ${a.what} on ${a.stream} at ${Math.max(a.from, from)}`);
    }
    this.#accesses.push({ what, stream, tick: clock.get(stream)!, from, to, writes });
  }
}
