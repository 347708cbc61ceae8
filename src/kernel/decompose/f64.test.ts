// The f64 functions against true values made with high precision (test/math/make.py), and more densely against Math.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decomposed, evaluator, plain, ulps } from '../../../test/support/decompose.ts';
import { meaning } from '../semantics.ts';
import { accuracy } from './accuracy.ts';

type Op = keyof typeof accuracy;

type Fixtures = Readonly<Record<string, string>>;

const read = (name: string): Fixtures =>
  JSON.parse(readFileSync(new URL(`../../../test/math/${name}`, import.meta.url), 'utf8'));
const fixtures = read('f64.json');
/** The arguments that came out farthest from the truth, of some million each. */
const hardest = read('f64-hard.json');

/** Rows of arguments, the true value as a double, and what the double lacks. */
function rowsOf(op: Op, arity: number, from = fixtures): number[][] {
  const bytes = Buffer.from(from[op]!, 'base64');
  const values = Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(i * 8));
  return Array.from({ length: values.length / (arity + 2) }, (_, i) =>
    values.slice(i * (arity + 2), (i + 1) * (arity + 2)),
  );
}

const unary = (Object.keys(accuracy) as Op[]).filter((op) => !['pow', 'mod', 'atan2'].includes(op));

const special = [
  ...[
    0,
    1,
    2,
    3,
    0.5,
    1.5,
    0.75,
    4,
    10,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 500,
    2 ** 501,
    1e300,
    2 ** -1074,
    3 * 2 ** -1074,
    2 ** -1022,
  ],
  ...[
    2 ** -1030,
    2 ** -53,
    2 ** -54,
    2 ** -55,
    2 ** -28,
    2 ** 20,
    2 ** 20 + 1,
    2 ** 28,
    19,
    20,
    21,
    710,
    709.782712893384,
  ],
  ...[
    709.7827128933841, 710.4758600739439, 710.475860073944, 745.1332191019411, 745.1332191019412, 708.3964185322641,
    1024,
  ],
  ...[
    1023,
    1022,
    1074,
    1075,
    1076,
    Number.MAX_VALUE,
    Number.POSITIVE_INFINITY,
    0.9999999999999999,
    1.0000000000000002,
    5.9,
    6,
  ],
].flatMap((v) => [v, -v]);

/** The largest error, for devices that compute everything and for those that skip what is rare. */
function worst(op: Op, rows: readonly (readonly number[])[], arity: number): { error: number; at: string } {
  let error = 0;
  let at = '';
  const forms = [false, true].map((skips) => evaluator(decomposed(op, 'f64', plain, skips)));
  for (const row of rows) {
    const args = row.slice(0, arity);
    for (const run of forms) {
      const got = run(...args) as number;
      const e = ulps('f64', got, row[arity]!, row[arity + 1]!);
      if (e > error) [error, at] = [e, `${op}(${args.join(', ')}) = ${got}, should be ${row[arity]}`];
    }
  }
  return { error, at };
}

const againstMath = (op: Op, args: readonly (readonly number[])[]): number[][] =>
  args.map((a) => [...a, meaning(op, 'f64')!(a[0]!, a[1] ?? 0, 0) as number, 0]);

describe('f64 functions', () => {
  it.each(['log', 'cos'] as const)('%s gives the same bits where a device skips what is rare', (op) => {
    const [any, skipping] = [evaluator(decomposed(op, 'f64')), evaluator(decomposed(op, 'f64', plain, true))];
    for (const x of [...special, Number.NaN, ...rowsOf(op, 1).map((row) => row[0]!)])
      if (!Object.is(any(x), skipping(x))) expect.fail(`${op} ${x}: ${any(x)}, ${skipping(x)}`);
  });

  it.each(unary)('%s is within its stated error of the true value', (op) => {
    const rows = rowsOf(op, 1);
    expect(rows.length).toBe(160);
    const { error, at } = worst(op, rows, 1);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64);
    expect(error).toBeGreaterThan(0.3);
  });

  it.each(['pow', 'atan2'] as const)('%s is within its stated error of the true value', (op) => {
    const { error, at } = worst(op, rowsOf(op, 2), 2);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64);
    expect(error).toBeGreaterThan(0.3);
  });

  it.each([...unary, 'pow', 'atan2'] as const)('%s is within its stated error at the hardest arguments known', (op) => {
    const arity = op === 'pow' || op === 'atan2' ? 2 : 1;
    const rows = rowsOf(op, arity, hardest);
    expect(rows.length).toBe(8);
    const { error, at } = worst(op, rows, arity);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64);
    // Those arguments are what the bound was made for.
    expect(error).toBeGreaterThan(0.6 * accuracy[op].f64);
  });

  // Math itself may be off by one unit; erf of semantics.ts by a few.
  it.each(unary)('%s agrees with Math at special values and over a dense range', (op) => {
    const dense = Array.from({ length: 800 }, (_, i) => [-25 + i / 16]);
    const { error, at } = worst(op, againstMath(op, [...special.map((x) => [x]), [Number.NaN], ...dense]), 1);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64 + (op === 'erf' ? 6 : 1));
  });

  it.each(['pow', 'atan2'] as const)('%s agrees with Math at special values', (op) => {
    const args = special.flatMap((x) =>
      [...special, Number.NaN].flatMap((y) => [
        [x, y],
        [y, x],
      ]),
    );
    const { error, at } = worst(op, againstMath(op, args), 2);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64 + 1);
  });

  it('mod is exact, however far its operands lie apart', () => {
    const args = special.flatMap((x) => special.filter((_, i) => i % 3 === 0).map((y) => [x, y]));
    const { error, at } = worst(
      'mod',
      againstMath('mod', [...args, [1e300, 0.7], [-1e308, 3e-308], [5.5, Number.NaN]]),
      2,
    );
    expect(error, at).toBe(0);
  });
});
