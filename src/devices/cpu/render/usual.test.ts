// Loops that leave for rare elements: the same values wherever those are, in maps and in every form of reduction.

import { describe, expect, it } from 'vitest';
import { data, kernelOf, Run, randomSource, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { decompose } from '../../../kernel/decompose/index.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import { cpuNative } from './native.ts';

type FloatType = 'f32' | 'f64';

/** With the functions that the device lacks written out as for the device. */
function lowered(spec: Spec): Spec {
  const { outputs, accumulators } = decompose(kernelOf(spec), cpuNative, { skipsArms: true });
  return { ...spec, outputs, accumulators };
}

/** Usual numbers, but at some places what functions treat on their own. */
function numbers(n: number, rareAt: (i: number) => boolean, type: FloatType): ReturnType<typeof data> {
  const rare = [0, -0, -1, 1e-40, Number.POSITIVE_INFINITY, Number.NaN, 1e30, Number.NEGATIVE_INFINITY, -1e30];
  const random = randomSource(n + 1);
  return data(
    type,
    Array.from({ length: n }, (_, i) => (rareAt(i) ? rare[i % rare.length]! : Math.fround(random() * 3 + 0.1))),
  );
}

const places: Readonly<Record<string, (i: number) => boolean>> = {
  nowhere: () => false,
  everywhere: () => true,
  'now and then': (i) => i % 37 === 5,
  'at the end': (i) => i > 180,
  'in one stretch': (i) => i >= 40 && i < 90,
};

const same = (got: readonly unknown[], want: readonly unknown[]): void => {
  const at = want.findIndex((v, i) => !Object.is(v, got[i]) && !(Number.isNaN(v) && Number.isNaN(got[i])));
  expect(at < 0 ? 'equal' : `${at}: ${got[at]} for ${want[at]}`).toBe('equal');
};

describe.each(Object.keys(places))('rare elements %s', (where) => {
  const rareAt = places[where]!;

  it.each([
    ['log', 'f32'],
    ['log', 'f64'],
    ['exp', 'f32'],
    ['expm1', 'f64'],
    ['sin', 'f32'],
    ['tanh', 'f64'],
  ] as const)('give the same %s of %s as the reference', (op, type) => {
    for (const n of [1, 7, 16, 33, 200, 301]) {
      const b = new Exprs();
      const spec = lowered({
        space: [n],
        outputs: [b.alu(op, b.load(type, 0, b.axis(0, n)))],
        inputs: [numbers(n, rareAt, type)],
      });
      same(new Run(spec).run().values(), reference(spec)[0]!);
    }
  });

  it('give the same two outputs, of which one lies over the input', () => {
    const [b, n] = [new Exprs(), 203];
    const x = b.load('f32', 0, b.axis(0, n));
    const spec = lowered({
      space: [n],
      outputs: [b.alu('log', x), b.alu('lt', b.alu('exp', x), b.const('f32', 2))],
      inputs: [numbers(n, rareAt, 'f32')],
      inPlace: [0],
    });
    const [first, second] = reference(spec) as [number[], number[]];
    const run = new Run({ ...spec, outputs: spec.outputs.slice(0, 1) }, { overlay: true });
    same(run.run().values(), first);
    same(new Run(spec).run().values(1), second);
  });

  const rows = (space: readonly number[], reduced: readonly number[], x: (b: Exprs) => Expr, op: AluOp): Spec => {
    const b = new Exprs();
    const value = b.alu(op, x(b));
    const flag = b.alu('lt', value, b.const('f32', 1));
    const accumulators: Accumulator[] = [
      { op: 'max', type: 'f32', value },
      { op: 'any', type: 'bool', value: flag },
      { op: 'sum', type: 'i32', value: b.cast('i32', flag) },
    ];
    const n = [...space, ...reduced].reduce((a, c) => a * c, 1);
    return lowered({
      space,
      reduced,
      accumulators,
      outputs: [b.acc('f32', 0), b.acc('bool', 1), b.acc('i32', 2)],
      inputs: [numbers(n, rareAt, 'f32')],
    });
  };

  it.each(['log', 'exp', 'sin'] as const)('give the same reductions of %s along rows', (op) => {
    const spec = rows([3], [301], (b) => b.load('f32', 0, plus(b, b.axis(0, 3), 301, b.axis(1, 301))), op);
    const run = new Run(spec).run();
    for (const [k, want] of reference(spec).entries()) same(run.values(k), want);
  });

  it.each([undefined, 0])('give the same reductions down columns (streamed from %s bytes on)', (streamedBytes) => {
    const spec = rows([301], [70], (b) => b.load('f32', 0, plus(b, b.axis(1, 70), 301, b.axis(0, 301))), 'log');
    const run = new Run(spec, streamedBytes === undefined ? {} : { streamedBytes }).run();
    for (const [k, want] of reference(spec).entries()) same(run.values(k), want);
  });
});

/** row · length + column. */
const plus = (b: Exprs, row: Expr, length: number, column: Expr): Expr =>
  b.alu('add', b.alu('mul', row, b.const('index', length)), column);

describe('quotients of 64-bit numbers', () => {
  it.each(['i64', 'u64'] as const)('of %s are exact, small or large, by zero too', (type) => {
    const random = randomSource(5);
    const small = (): bigint => BigInt(Math.floor(random() * 2000)) - (type === 'i64' ? 1000n : 0n);
    const edges = [0n, 1n, 7n, 2n ** 50n - 1n, 2n ** 50n, 2n ** 50n + 1n, 2n ** 51n, 2n ** 62n, 2n ** 63n - 1n];
    const signed = type === 'i64' ? [...edges, ...edges.map((v) => -v), -(2n ** 63n)] : [...edges, 2n ** 64n - 1n];
    const pairs = [
      ...signed.flatMap((x) => signed.map((y) => [x, y] as const)),
      ...Array.from({ length: 500 }, () => [small(), small()] as const),
      ...Array.from({ length: 500 }, (_, i) => [BigInt(Math.floor(random() * 2 ** 50)), BigInt(i + 1)] as const),
    ];
    const n = pairs.length;
    const b = new Exprs();
    const [x, y] = [0, 1].map((slot) => b.load(type, slot, b.axis(0, n))) as [Expr, Expr];
    const spec: Spec = {
      space: [n],
      outputs: [b.alu('idiv', x, y), b.alu('imod', x, y)],
      inputs: [0, 1].map((k) =>
        data(
          type,
          pairs.map((p) => p[k]!),
        ),
      ),
    };
    const run = new Run(lowered(spec)).run();
    for (const [k, want] of reference(spec).entries()) same(run.values(k), want);
  });
});

describe('floats as 64-bit numbers', () => {
  it.each(['f32', 'f64'] as const)('%s are cut off, and saturate', (type) => {
    const list = [
      0,
      -0,
      0.5,
      -0.5,
      1.99,
      -1.99,
      2 ** 31,
      2 ** 50,
      2 ** 50 + 2 ** 30,
      -(2 ** 50),
      2 ** 53,
      2 ** 62,
      1e30,
    ];
    const values = [...list, ...list.map((v) => -v), Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const n = values.length;
    const b = new Exprs();
    const x = b.load(type, 0, b.axis(0, n));
    const inputs = [data(type, type === 'f32' ? values.map(Math.fround) : values)];
    const spec: Spec = { space: [n], outputs: [b.cast('i64', x), b.cast('u8', x)], inputs };
    const run = new Run(lowered(spec)).run();
    for (const [k, want] of reference(spec).entries()) same(run.values(k), want);
  });
});

describe('the position of the largest 64-bit number of a row', () => {
  it.each(['i64', 'u64'] as const)('of %s is the first one', (type) => {
    const lowest = type === 'i64' ? -(2n ** 63n) : 0n;
    const [b, n] = [new Exprs(), 41];
    const list = [
      Array.from({ length: n }, () => lowest),
      Array.from({ length: n }, (_, i) => (i === 17 || i === 30 ? 2n ** 63n - 1n : BigInt(i))),
      Array.from({ length: n }, (_, i) => (i === 40 ? 2n ** 62n : 1n)),
    ];
    const spec: Spec = {
      space: [3],
      reduced: [n],
      accumulators: [{ op: 'argmax', type, value: b.load(type, 0, plus(b, b.axis(0, 3), n, b.axis(1, n))) }],
      outputs: [b.acc('i32', 0)],
      inputs: [data(type, list.flat())],
    };
    same(new Run(spec).run().values(), [0, 17, 40]);
  });
});
