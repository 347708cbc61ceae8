import { expect, it } from 'vitest';
import { request } from '../../../test/support/routing.ts';
import { Costed } from './decision.ts';

const decision = (samples: number): Costed => {
  const p = { device: 'cpu', us: 1, launch: 1, work: 0, transfer: 0, penalty: 1, samples };
  return new Costed(request(1000), 'cpu', 'cpu_optimal', [p], false, 'the least predicted cost');
};
const measured = (d: Costed, calls: number): number =>
  Array.from({ length: calls }, () => d.due()).filter(Boolean).length;

it('has every call measured until it is known well, then one in many', () => {
  const d = decision(0);
  expect(measured(d, 16)).toBe(16);
  expect(measured(d, 320)).toBe(10);
});

it('counts what was known when it was made, so that a try is always measured and an old call seldom', () => {
  expect(measured(decision(3), 1)).toBe(1);
  expect(measured(decision(14), 32)).toBe(2);
  expect(measured(decision(1000), 64)).toBe(2);
});
