// A control loop at a fixed rate: sensor values from a source, motors to a sink, on a schedule that does not drift.
//
// Tick k is due at start + k / hz, however long the ticks before it took. The motors of a tick must be there by the next one; if
// they are late, the miss is counted and the sink gets what the policy says instead. Ticks that passed meanwhile are left out, and count
// as missed too: the loop never runs faster to catch up.

import { layerKinds } from '../base/layer-kinds.ts';
import { quantilesOf } from '../base/quantiles.ts';
import { checked } from '../base/signatures.ts';
import { waited } from '../base/timer.ts';
import { turn } from '../index.ts';
import { FieldConfigError } from './errors.ts';
import type { FieldInput, StepResult } from './field.ts';

/** What the sink gets when motors are late: the last ones that were not, zeros, or zeros and the end. */
export type DeadlinePolicy = 'repeat' | 'zero' | 'stop';

export interface LoopOptions {
  readonly hz: number;
  readonly source: () => FieldInput | Promise<FieldInput>;
  readonly sink: (motors: Float32Array) => void | Promise<void>;
  /** Default 'repeat'. */
  readonly onDeadline?: DeadlinePolicy | undefined;
  /** Ends the loop, also while the source or the sink has not answered. */
  readonly signal?: AbortSignal | undefined;
  /** Ends after so many ticks. Without it, with the signal. */
  readonly ticks?: number | undefined;
}

/** In milliseconds. */
export interface LatencyFigures {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly mean: number;
}

export interface LoopReport {
  readonly hz: number;
  readonly ticks: number;
  readonly seconds: number;
  /** Ticks whose motors were late, and ticks that were left out because of one. */
  readonly missed: number;
  /** From a tick to its motors. */
  readonly latency: LatencyFigures;
  /** How late ticks began. */
  readonly jitter: LatencyFigures;
  /** Latencies in 32 bins from 0 to two periods; what is longer is in the last one. */
  readonly histogram: readonly number[];
  /** `ticks`: all were done; `signal`: it was told to end; `deadline`: the policy `stop`. */
  readonly ended: 'ticks' | 'signal' | 'deadline';
}

/** A tick of a loop has ended. */
export interface LoopTick {
  readonly hz: number;
  /** From the tick to its motors. */
  readonly latencyMs: number;
  /** Motors came after the next tick was due. */
  readonly late: boolean;
  /** Misses since the tick before: its own, and ticks that were left out because of it. */
  readonly missed: number;
}

/** The time a loop goes by; tests bring their own. */
export interface LoopClock {
  now(): number;
  /** Resolves at a time, or when the signal says so. */
  until(time: number, signal: AbortSignal | undefined): Promise<void>;
}

const where = 'loop';
const bins = 32;

/** Latencies in 32 bins from 0 to two periods; what is longer is in the last one. */
export const latencyHistogram = checked(
  'latencyHistogram',
  'latencies:amounts periodMs:milliseconds',
  (latencies: Iterable<number>, periodMs: number): number[] => {
    const histogram = new Array<number>(bins).fill(0);
    for (const latency of latencies) histogram[binOf(latency, periodMs)]!++;
    return histogram;
  },
  layerKinds,
);

const binOf = (latency: number, period: number): number =>
  Math.max(0, Math.min(bins - 1, Math.floor((latency / (2 * period)) * bins)));

export async function runLoop(
  step: (input: FieldInput) => Promise<StepResult>,
  motorDim: number,
  options: LoopOptions,
  clock: LoopClock = hostClock,
  told: (tick: LoopTick) => void = () => {},
): Promise<LoopReport> {
  const { hz, source, sink, signal } = options;
  const policy = options.onDeadline ?? 'repeat';
  checkLoop(options, policy);
  const period = 1000 / hz;
  const most = options.ticks ?? Number.POSITIVE_INFINITY;
  const latencies = new Series();
  const lateness = new Series();
  const histogram = new Array<number>(bins).fill(0);
  let last: Float32Array = new Float32Array(motorDim);
  let [missed, tick, done] = [0, 0, 0];
  let ended: LoopReport['ended'] = 'ticks';
  const start = clock.now();
  while (done < most) {
    const due = start + tick * period;
    await clock.until(due, signal);
    if (!signal?.aborted) lateness.add(Math.max(0, clock.now() - due));
    const input = signal?.aborted ? stopped : await unlessStopped(source(), signal);
    if (input === stopped) {
      ended = 'signal';
      break;
    }
    const { motors } = await step(input);
    // A clock that went back tells nothing: 0, not less.
    const latency = Math.max(0, clock.now() - due);
    latencies.add(latency);
    histogram[binOf(latency, period)]!++;
    done++;
    const late = latency > period;
    if (!late) last = motors;
    await unlessStopped(sink(!late || policy === 'repeat' ? last : new Float32Array(motorDim)), signal);
    tick++;
    if (!late) {
      told({ hz, latencyMs: latency, late, missed: 0 });
      continue;
    }
    // The next tick is the first that is still to come.
    const next = policy === 'stop' ? tick : Math.max(tick, Math.ceil((clock.now() - start) / period));
    told({ hz, latencyMs: latency, late, missed: 1 + next - tick });
    missed += 1 + next - tick;
    tick = next;
    if (policy === 'stop') {
      ended = 'deadline';
      break;
    }
  }
  const seconds = (clock.now() - start) / 1000;
  return {
    hz,
    ticks: done,
    seconds,
    missed,
    latency: latencies.figures(),
    jitter: lateness.figures(),
    histogram,
    ended,
  };
}

const stopped = Symbol('stopped');

/** What a source or a sink answers; `stopped` if the signal comes first: one that never answers must not keep a loop from its end. */
function unlessStopped<T>(
  answer: T | Promise<T>,
  signal: AbortSignal | undefined,
): T | Promise<T> | Promise<T | typeof stopped> {
  if (!signal || !(answer instanceof Promise)) return answer;
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(stopped);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function checkLoop({ hz, ticks, source, sink }: LoopOptions, policy: string): void {
  const wrong = !(hz > 0 && hz <= 100_000)
    ? `hz is ${String(hz)}`
    : ticks !== undefined && !(Number.isSafeInteger(ticks) && ticks >= 1)
      ? `ticks is ${String(ticks)}`
      : !['repeat', 'zero', 'stop'].includes(policy)
        ? `onDeadline is '${policy}'`
        : typeof source !== 'function' || typeof sink !== 'function'
          ? 'source and sink are not both functions'
          : null;
  if (wrong === null) return;
  throw new FieldConfigError({
    where,
    problem: wrong,
    fix: "Give hz above 0, a source of sensor values, a sink for motors, and 'repeat', 'zero' or 'stop' for late ones.",
  });
}

/** Most samples that are kept: those of the last minutes at high rates. */
const mostSamples = 1 << 17;

/** Samples in a ring, and figures of them. */
class Series {
  readonly #values: number[] = [];
  #at = 0;

  add(value: number): void {
    if (this.#values.length < mostSamples) this.#values.push(value);
    else this.#values[this.#at++ % mostSamples] = value;
  }

  figures(): LatencyFigures {
    const mean = this.#values.reduce((a, b) => a + b, 0) / Math.max(1, this.#values.length);
    return { ...(quantilesOf(this.#values) ?? { p50: 0, p99: 0, max: 0 }), mean };
  }
}

/**
 * Timers are off by a millisecond or more: the last part of a wait is turns of the event loop, with the clock watched in between. A turn
 * makes garbage, and collecting that takes longer than a short period: without the pauses there would be thousands a tick.
 */
const turnsBelowMs = 2;
const watchMs = 0.1;

const hostClock: LoopClock = {
  now: () => performance.now(),
  async until(time, signal) {
    for (let left = time - performance.now(); left > 0 && !signal?.aborted; left = time - performance.now()) {
      if (left > turnsBelowMs) await waited(left - turnsBelowMs, signal);
      else {
        const pause = performance.now() + Math.min(left, watchMs);
        while (performance.now() < pause);
        if (left > watchMs) await turn();
      }
    }
  },
};
