// How long each distinct call takes on each device, from inputs at home to the result in host memory.

import type { DeviceId, Runtime, Tensor } from '../../src/index.ts';
import type { Call } from './calls.ts';
import { randomFrom, shuffled } from './random.ts';

export interface Timed {
  readonly call: Call;
  /** Median µs per device, and the samples behind it. */
  readonly us: ReadonlyMap<DeviceId, number>;
  readonly samples: number;
  /** What the samples leave open: between these the true median lies, in 95 of 100 cases. */
  readonly between: ReadonlyMap<DeviceId, readonly [low: number, high: number]>;
  /** Quarters of the samples are below and above these. */
  readonly quartiles: ReadonlyMap<DeviceId, readonly [low: number, high: number]>;
}

const ascending = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);

export const median = (list: readonly number[]): number => {
  const s = ascending(list);
  const mid = (s.length - 1) / 2;
  return (s[Math.floor(mid)]! + s[Math.ceil(mid)]!) / 2;
};

/** By the order of the samples alone, whatever their distribution; all of them where there are five or fewer. */
function betweenOf(list: readonly number[]): [number, number] {
  const s = ascending(list);
  const rank = Math.max(0, Math.floor(s.length / 2 - 0.98 * Math.sqrt(s.length)));
  return [s[rank]!, s[s.length - 1 - rank]!];
}

function quartilesOf(list: readonly number[]): [number, number] {
  const s = ascending(list);
  const rank = (s.length - 1) >> 2;
  return [s[rank]!, s[s.length - 1 - rank]!];
}

/** Inputs at home, all uploads finished. */
export async function place(rt: Runtime, call: Call): Promise<Tensor[]> {
  const inputs = rt.scope({ device: call.home }, () => call.work.inputs(rt, call.n));
  if (inputs.length > 0) await rt.device(call.home).mark().whenDone();
  return inputs;
}

/** One run, in µs: on the device given, or where the runtime decides. */
export async function once(rt: Runtime, call: Call, device: DeviceId | null): Promise<number> {
  const inputs = await place(rt, call);
  const work = async (): Promise<number> => {
    const start = performance.now();
    const result = call.work.run(rt, inputs, call.n);
    const data = await result.data();
    const us = (performance.now() - start) * 1000;
    if (data.length === 0) throw new Error(`${call.work.op}: no result`);
    result.dispose();
    return us;
  };
  const us = await (device === null ? rt.scope(work) : rt.scope({ device }, work));
  for (const t of inputs) t.dispose();
  return us;
}

export interface Limits {
  /** Samples wanted of each call on each device; long calls have fewer, but at least `fewest`. */
  readonly samples: number;
  readonly fewest: number;
  /** Calls that take longer anywhere are not part of the trace. */
  readonly longestMs: number;
  /** Seconds in all, shared out evenly among the calls; after these only what is short or missing is timed. */
  readonly seconds: number;
}

/** A call that costs less is timed as often as planned, however late it is. */
const shortMs = 10;

class Sampled {
  readonly call: Call;
  readonly us: ReadonlyMap<DeviceId, number[]>;
  /** The least it has taken on all devices, its data brought home included. */
  costMs = Number.POSITIVE_INFINITY;

  constructor(call: Call, devices: readonly DeviceId[]) {
    this.call = call;
    this.us = new Map(devices.map((d) => [d, []]));
  }

  get samples(): number {
    return [...this.us.values()][0]!.length;
  }

  timed(): Timed {
    const each = <T>(of: (list: readonly number[]) => T): Map<DeviceId, T> =>
      new Map([...this.us].map(([d, list]) => [d, of(list)]));
    const { call, samples } = this;
    return { call, samples, us: each(median), between: each(betweenOf), quartiles: each(quartilesOf) };
  }
}

/**
 * The calls that every device can do in time, each run once everywhere, so that nothing is left to compile. `calls` has the sizes of an operation in
 * ascending order: once one takes too long, larger ones are left out.
 */
async function feasible(
  rt: Runtime,
  calls: readonly Call[],
  devices: readonly DeviceId[],
  limits: Limits,
): Promise<Sampled[]> {
  const found: Sampled[] = [];
  const ended = new Map<Call['work'], number>();
  for (const call of calls) {
    if (call.n > (ended.get(call.work) ?? Number.POSITIVE_INFINITY)) continue;
    let device = devices[0]!;
    try {
      let slowest = 0;
      for (device of devices) slowest = Math.max(slowest, await once(rt, call, device));
      if (slowest < 1000 * limits.longestMs) found.push(new Sampled(call, devices));
      else ended.set(call.work, call.n);
    } catch (error) {
      console.error(`  left out: ${call.work.op} of ${call.n} on ${device}: ${String(error).split('\n')[0]}`);
      ended.set(call.work, call.n);
    }
  }
  return found;
}

/**
 * Times calls on all devices, in random order: as in the trace, what runs before a call is some other call. The devices take turns, so that
 * whatever else the machine does slows all of them alike. Short calls are timed more often than long ones, whose times differ less.
 */
export async function measure(
  rt: Runtime,
  calls: readonly Call[],
  devices: readonly DeviceId[],
  limits: Limits,
  progress: (text: string) => void,
): Promise<Timed[]> {
  const start = performance.now();
  progress('finding the calls that all devices can do');
  const sampled = await feasible(rt, calls, devices, limits);
  const random = randomFrom(54321);
  const visit = async (s: Sampled): Promise<void> => {
    const begun = performance.now();
    for (const device of s.samples % 2 === 0 ? devices : [...devices].reverse())
      s.us.get(device)!.push(await once(rt, s.call, device));
    s.costMs = Math.min(s.costMs, performance.now() - begun);
  };
  const shareMs = (1000 * limits.seconds) / (2 * sampled.length);
  const visits = sampled.flatMap((s) => Array.from({ length: limits.samples }, () => s));
  for (const [i, s] of shuffled(visits, random).entries()) {
    if (i % 50 === 0) progress(`measuring ${sampled.length} calls, ${i} of ${visits.length} times`);
    const late = performance.now() - start > 1000 * limits.seconds && s.costMs > shortMs;
    if (s.samples < limits.fewest || (!late && s.samples * s.costMs < shareMs)) await visit(s);
  }
  return sampled.map((s) => s.timed());
}
