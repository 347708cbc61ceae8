// A trace drawn from the measured calls: every call at least once, short ones more often, in an order that a seed fixes.

import type { Timed } from './measure.ts';
import { bestOf } from './policies.ts';
import { randomFrom, shuffled } from './random.ts';

export function makeTrace(timed: readonly Timed[], length: number, secondsInAll: number): Timed[] {
  const oracle = (t: Timed): number => t.us.get(bestOf(t))!;
  const each = (secondsInAll * 1e6) / timed.length;
  const weights = timed.map((t) => Math.min(1, each / oracle(t)));
  const sum = weights.reduce((a, b) => a + b, 0);
  const trace = timed.flatMap((t, i) =>
    Array.from({ length: Math.max(1, Math.round((length * weights[i]!) / sum)) }, () => t),
  );
  const random = randomFrom(12345);
  while (trace.length < length) trace.push(timed[Math.floor(random() * timed.length)]!);
  return shuffled(trace, random);
}
