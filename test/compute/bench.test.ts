// What the bench calls met.

import { expect, it } from 'vitest';
import { ceilingVerdict } from '../../bench/compute/report.ts';

it.each<[string, number[], number | null, string]>([
  ['within five points', [0.76, 0.84], 1, 'met'],
  ['above', [0.8, 0.86], 1, 'missed'],
  ['far below: the device idles more than it should', [0.59, 0.6], 1, 'missed'],
  ['without a single window', [], 1, 'not measured'],
  ['with a load that does not reach it', [0.59], 0.6, 'not measured'],
  ['with a load nobody measured', [0.8], null, 'not measured'],
])('a ceiling of 80 %% %s', (_name, shares, without, expected) => {
  expect(ceilingVerdict(shares, 0.8, without)).toBe(expected);
});
