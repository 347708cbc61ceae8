// A trace drawn from the measured calls: every call at least once, short ones more often, in an order that a seed fixes.

import type { Timed } from './measure.ts';
import { bestOf } from './policies.ts';

export function makeTrace(timed: readonly Timed[], length: number, secondsInAll: number): Timed[] {
  const oracle = (t: Timed): number => t.us.get(bestOf(t))!;
  const each = (secondsInAll * 1e6) / timed.length;
  const weights = timed.map((t) => Math.min(1, each / oracle(t)));
  const sum = weights.reduce((a, b) => a + b, 0);
  const trace = timed.flatMap((t, i) =>
    Array.from({ length: Math.max(1, Math.round((length * weights[i]!) / sum)) }, () => t),
  );
  let state = 12345;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  while (trace.length < length) trace.push(timed[Math.floor(random() * timed.length)]!);
  for (let i = trace.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [trace[i], trace[j]] = [trace[j]!, trace[i]!];
  }
  return trace;
}
