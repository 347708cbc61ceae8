// Policies scored by measured times: each picks a device for every call of the trace.

import type { DeviceId } from '../../src/index.ts';
import type { Timed } from './measure.ts';

export type Policy = (t: Timed) => DeviceId;

export interface Score {
  readonly name: string;
  readonly totalMs: number;
  /** Time over the oracle's, less one. */
  readonly regret: number;
  /** The largest and the 99th percentile of a call's time over its oracle's. */
  readonly worst: number;
  readonly p99: number;
  /** Share of right choices among the calls whose best device is more than 10 % faster. */
  readonly accuracy: number;
  readonly worstCall: string;
  /** Calls above twice their oracle. */
  readonly above: number;
  /** Those of them of which the samples cannot tell that they are slower there at all. */
  readonly unclear: number;
}

export const bestOf = (t: Timed): DeviceId => [...t.us].reduce((a, b) => (b[1] < a[1] ? b : a))[0];

/** Whether the samples tell that a call takes longer on one device than on another. */
const clearlySlower = (t: Timed, device: DeviceId, than: DeviceId): boolean =>
  t.between.get(device)![0] > t.between.get(than)![1];

export function score(name: string, trace: readonly Timed[], choices: readonly DeviceId[]): Score {
  let total = 0;
  let oracle = 0;
  let right = 0;
  let clear = 0;
  const ratios: number[] = [];
  let worst = 0;
  let worstCall = '';
  let above = 0;
  let unclear = 0;
  trace.forEach((t, i) => {
    const took = t.us.get(choices[i]!)!;
    const best = t.us.get(bestOf(t))!;
    total += took;
    oracle += best;
    ratios.push(took / best);
    if (took > 2 * best) {
      above++;
      if (!clearlySlower(t, choices[i]!, bestOf(t))) unclear++;
    }
    if (took / best > worst) {
      worst = took / best;
      worstCall = `${t.call.work.op} of ${t.call.n}, data at ${t.call.home}, sent to ${choices[i]}`;
    }
    const others = [...t.us.values()].filter((v) => v !== best);
    if (others.some((v) => v <= best * 1.1)) return;
    clear++;
    if (choices[i] === bestOf(t)) right++;
  });
  ratios.sort((a, b) => a - b);
  return {
    name,
    totalMs: total / 1000,
    regret: total / oracle - 1,
    worst,
    p99: ratios[Math.floor(0.99 * (ratios.length - 1))]!,
    accuracy: clear > 0 ? right / clear : 1,
    worstCall,
    above,
    unclear,
  };
}

export const apply = (trace: readonly Timed[], policy: Policy): DeviceId[] => trace.map(policy);

/** Calls of fewer elements go to the CPU, the rest to the GPU. */
export const threshold =
  (limit: number, cpu: DeviceId, gpu: DeviceId): Policy =>
  (t) =>
    t.call.n < limit ? cpu : gpu;

/** The single threshold that would have been best for this very trace. */
export function bestThreshold(trace: readonly Timed[], cpu: DeviceId, gpu: DeviceId): number {
  const limits = [...new Set(trace.map((t) => t.call.n)), Number.POSITIVE_INFINITY].sort((a, b) => a - b);
  const cost = (limit: number): number => trace.reduce((sum, t) => sum + t.us.get(threshold(limit, cpu, gpu)(t))!, 0);
  return limits.reduce((a, b) => (cost(b) < cost(a) ? b : a));
}
