// Every f32 function over its whole range against double precision, with each op rounded as devices round it.

import { describe, expect, it } from 'vitest';
import { decomposed, evaluator, plain, ulps } from '../../../test/support/decompose.ts';
import type { AluOp } from '../ops.ts';
import { meaning } from '../semantics.ts';
import { accuracy } from './accuracy.ts';

type Op = keyof typeof accuracy;

const bits = new DataView(new ArrayBuffer(4));
const fromBits = (u: number): number => {
  bits.setUint32(0, u >>> 0);
  return bits.getFloat32(0);
};

const special = [
  ...[0, 1, 2, 3, 0.5, 1.5, 0.25, 0.75, 0.875, 4, 10, 100, 2 ** 24 - 1, 2 ** 24, 2 ** 25, 2 ** 60, 2 ** 61, 1e10, 1e38],
  ...[
    2 ** -149,
    3 * 2 ** -149,
    2 ** -126,
    2 ** -127,
    2 ** -130,
    2 ** -24,
    2 ** -25,
    2 ** -12,
    2 ** -13,
    256,
    256.00003,
  ],
  ...[0.35, Math.LN2, 0.69314724, 0.70710677, 0.70710683, Math.SQRT2, 1.4142137, 0.41421354, -0.29289323, 0.7853981],
  // Where sin, cos and tan come closest to their bounds.
  ...[175.67659, 27.2213268, 49.5176315, 3.92490602, 163.488022],
  ...[0.7853982, 1.5707963, 1.5707964, Math.PI, 6.2831855, 355, 11, 22, 710, 103.9, 103.97, 103.98, 104, 150, 149, 151],
  ...[88.02, 88.72283, 88.72284, 89.4159, 89.416, 9.01, 9.0109, 9.02, 3.92, 3.95, 4, 0.99999994, 1.0000001, 8192],
  ...[87.33654, 87.33655, 126, 127, 128, 127.99999, 128.00002, 3.4028234663852886e38, Number.POSITIVE_INFINITY],
].flatMap((v) => [Math.fround(v), -Math.fround(v)]);

/** Numbers of all exponents and both signs, `perExponent` each, the same in every run. */
function spread(perExponent: number): number[] {
  const out: number[] = [];
  for (let e = 0; e < 255; e++) {
    for (let i = 0; i < perExponent; i++) {
      const mantissa = Math.imul(e * 7919 + i, 0x9e3779b1) >>> 9;
      const sign = i % 2 ? 0x80000000 : 0;
      out.push(fromBits(sign + e * 2 ** 23 + mantissa));
    }
  }
  return out;
}

/** Evenly spaced numbers where the functions bend. */
const dense = (from: number, to: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.fround(from + ((to - from) * (i + 0.5)) / count));

const arguments_ = [...special, Number.NaN, ...spread(24), ...dense(-4, 4, 6001), ...dense(-110, 110, 4001)];

/** The largest error, for devices that compute everything and for those that skip what is rare. */
function worst(op: Op, rows: Iterable<readonly number[]>): { error: number; at: string } {
  const truth = meaning(op as AluOp, 'f32')!;
  let error = 0;
  let at = '';
  const forms = [false, true].map((skips) => evaluator(decomposed(op, 'f32', plain, skips)));
  for (const row of rows) {
    const [x, y] = row as [number, number];
    const want = truth(x, y, 0) as number;
    for (const run of forms) {
      const got = run(...row) as number;
      const e = ulps('f32', got, want);
      if (e > error) [error, at] = [e, `${op}(${row.join(', ')}) = ${got}, should be ${want}`];
    }
  }
  return { error, at };
}

const unary = (Object.keys(accuracy) as Op[]).filter((op) => !['pow', 'mod', 'atan2'].includes(op));

describe('f32 functions', () => {
  it.each(unary)('%s is within its stated error for every exponent, and exact at its special values', (op) => {
    const { error, at } = worst(
      op,
      arguments_.map((x) => [x]),
    );
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f32);
    // A bound that nothing comes near says nothing.
    expect(error).toBeGreaterThan(accuracy[op].f32 / 3);
  });

  it('finds the remainder of the arguments that come closest to multiples of π/2', () => {
    const hard = [16367173 * 2 ** 72, 13161509 * 2 ** 25, 12301711, 6381956, 2 ** 127, 3.4028234663852886e38, 1.1e29];
    for (const op of ['sin', 'cos', 'tan'] as const) {
      const { error, at } = worst(
        op,
        hard.map((x) => [Math.fround(x)]),
      );
      expect(error, at).toBeLessThanOrEqual(accuracy[op].f32);
    }
  });

  const pairs = [
    ...special.flatMap((x) => special.map((y) => [x, y] as const)),
    ...special.flatMap((x) => [
      [x, Number.NaN],
      [Number.NaN, x],
    ]),
    ...spread(8).flatMap((x, i, all) => [
      [x, all[(i * 389) % all.length]!],
      [x, Math.fround(3 * Math.sin(i))],
      [Math.fround(2 + Math.sin(i)), x],
    ]),
  ] as (readonly number[])[];

  it.each(['pow', 'atan2'] as const)('%s is within its stated error, and exact at its special values', (op) => {
    const { error, at } = worst(op, pairs);
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f32);
  });

  it('pow is within its stated error where the result is neither 0 nor infinite', () => {
    const rows = spread(16).map((v, i) => {
      const x = Math.abs(v);
      return [x, Math.fround((140 / Math.log2(x)) * Math.sin(i))];
    });
    const { error, at } = worst('pow', rows);
    expect(error, at).toBeLessThanOrEqual(accuracy.pow.f32);
    expect(error).toBeGreaterThan(0.5);
  });

  it.each(['exp', 'exp2', 'log', 'log2', 'log10', 'sin', 'cos'] as const)(
    '%s gives the same bits where a device skips what is rare',
    (op) => {
      const [any, skipping] = [evaluator(decomposed(op, 'f32')), evaluator(decomposed(op, 'f32', plain, true))];
      for (const x of arguments_)
        if (!Object.is(any(x), skipping(x))) expect.fail(`${op} ${x}: ${any(x)}, ${skipping(x)}`);
    },
  );

  it('mod is exact, however far its operands lie apart', () => {
    const { error, at } = worst('mod', pairs.slice(0, 12000));
    // The remainder itself is exact; adding a divisor of the other sign rounds once.
    expect(error, at).toBeLessThanOrEqual(accuracy.mod.f32);
  });

  it('tanh and erf never leave -1 … 1', () => {
    for (const op of ['tanh', 'erf'] as const) {
      const run = evaluator(decomposed(op, 'f32'));
      const beyond = dense(2, 10, 20000).filter((x) => (run(x) as number) > 1 || (run(-x) as number) < -1);
      expect(beyond, op).toEqual([]);
    }
  });

  it.each([false, true])(
    'gives whole powers of whole numbers exactly (a device that skips what is rare: %s)',
    (skips) => {
      const run = evaluator(decomposed('pow', 'f32', plain, skips));
      for (let x = -16; x <= 16; x++) {
        for (let y = 0; Math.abs(x) ** y < 2 ** 24 && y < 40; y++) expect(run(x, y)).toBe(x ** y);
      }
      const exp2 = evaluator(decomposed('exp2', 'f32'));
      for (let n = -149; n < 128; n++) expect(exp2(n)).toBe(2 ** n);
      const log2 = evaluator(decomposed('log2', 'f32'));
      for (let n = -149; n < 128; n++) expect(log2(2 ** n)).toBe(n);
    },
  );
});
