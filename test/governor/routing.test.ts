// The bench of routing on recorded machines: an H200 beside 16 cores, and a software GPU beside 2, with noise on every time.

import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/seeded.ts';
import { Machine, recorded, traceOf } from './routing-machine.ts';

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

describe.each(['h200', 'swiftshader'])('on the machine recorded as %s', (name) => {
  const machine = recorded(name);
  const runs = seeds.map((seed) => {
    const trace = traceOf(machine.calls, 2400, 12, seededRandom(100 + seed));
    const m = new Machine(machine, seed);
    return { calls: trace.length, cold: m.pass(trace), warm: m.pass(trace) };
  });

  it('is within 15 % of the best choices at first and within 5 % when warm', () => {
    for (const { cold, warm } of runs) {
      expect(cold.regret).toBeLessThanOrEqual(0.15);
      expect(warm.regret).toBeLessThanOrEqual(0.05);
    }
  });

  it('sends no call, when warm, where it takes more than twice its best time, but for a single try', () => {
    const above = runs.filter(({ warm }) => warm.above > 0);
    expect(above.length, above.map((r) => r.warm.worstCall).join('; ')).toBeLessThanOrEqual(1);
    expect(Math.max(...runs.map((r) => r.warm.above))).toBeLessThanOrEqual(1);
    expect(Math.max(...runs.map((r) => r.warm.p99))).toBeLessThanOrEqual(1.6);
  });

  it('has done nearly all its exploring in the first pass', () => {
    for (const { calls, cold, warm } of runs) {
      expect(cold.explored).toBeGreaterThan(0);
      expect(warm.explored).toBeLessThan(0.005 * calls);
    }
  });
});
