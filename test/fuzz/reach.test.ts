// What the random graphs reach: a kind of input that the generator never makes is a kind of bug that the fuzzer never finds.

import { describe, expect, it } from 'vitest';
import { type DType, dtypes, intRange, isFloat } from '../../src/base/dtype.ts';
import fc from '../support/properties.ts';
import { comparisonNames } from './elementwise.ts';
import { programs } from './generate.ts';
import { type Program, type Step, valuesOf } from './program.ts';
import type { Bounded } from './value.ts';

interface Seen {
  readonly step: Step;
  readonly inputs: readonly Bounded[];
}

const isEmpty = (x: Bounded): boolean => x.shape.includes(0);

function steps(p: Program): Seen[] {
  const values = valuesOf(p);
  return p.items.flatMap((i) => (i.kind === 'step' ? [{ step: i, inputs: i.inputs.map((n) => values[n]!) }] : []));
}

const seen = fc.sample(programs({ dtypes: new Set(dtypes) }), { seed: 7, numRuns: 3000 }).flatMap(steps);
const share = (test: (s: Seen) => boolean): number => seen.filter(test).length;
const ops = new Set(seen.map((s) => s.step.op));

describe('random graphs have', () => {
  it.each([
    ...'einsum matmul dot outer conv2d maxPool avgPool softmax logSoftmax gather takeAlongAxis scatter sort argsort topk'.split(
      ' ',
    ),
    ...'layerNorm cosineSimilarity segmentSum segmentMean segmentMax segmentMin sliceAt split attention'.split(' '),
    ...'conv1d conv3d convTranspose convKernelGradient windows windowsAndFold bitcast searchsortedIn rfft tan cosh'.split(
      ' ',
    ),
    ...'diagonal trace clip where concat stack tile repeat pad roll slice flip permute reshape cast pow cumsum argmax'.split(
      ' ',
    ),
  ])('%s', (op) => {
    expect([...ops]).toContain(op);
  });

  it.each([
    'einsum',
    'matmul',
    'dot',
    'outer',
    'conv2d',
    'convKernelGradient',
    'windows',
    'searchsortedIn',
    'maxPool',
    'avgPool',
    'sum',
    'cumsum',
    'sort',
    'gather',
    'scatter',
    'concat',
    'softmax',
    'add',
    'where',
  ])('%s of empty operands', (op) => {
    expect(share(({ step, inputs }) => step.op === op && inputs.some(isEmpty))).toBeGreaterThan(0);
  });

  it.each(
    dtypes.flatMap((t) => ['einsum', 'matmul', 'maxPool', 'avgPool', 'sum', 'argmax'].map((op) => [op, t] as const)),
  )('%s of %s', (op, dtype: DType) => {
    expect(share(({ step, inputs }) => step.op === op && inputs[0]!.dtype === dtype)).toBeGreaterThan(0);
  });

  it('einsums that contract to zeros, stretch sizes of 1, take diagonals and join three operands', () => {
    const einsums = seen.filter((s) => s.step.op === 'einsum');
    expect(einsums.some(({ step, inputs }) => inputs.some(isEmpty) && step.results[0]!.values.length > 0)).toBe(true);
    expect(einsums.some(({ inputs }) => inputs.length === 3)).toBe(true);
    const labels = ({ step }: Seen): string[] => `${step.args[0]}`.split('->')[0]!.split(',');
    expect(einsums.some((s) => labels(s).some((l) => new Set(l).size < l.length))).toBe(true);
    const sizes = (s: Seen): Map<string, Set<number>> => {
      const found = new Map<string, Set<number>>();
      labels(s).forEach((l, k) => {
        for (const [i, c] of [...l].entries()) found.set(c, (found.get(c) ?? new Set()).add(s.inputs[k]!.shape[i]!));
      });
      return found;
    };
    expect(einsums.some((s) => [...sizes(s).values()].some((set) => set.size > 1))).toBe(true);
  });

  it('axes and indices that count from the end, indices of every integer type', () => {
    const options = ({ step }: Seen): { axis?: unknown; reverse?: boolean; exclusive?: boolean; dtype?: string } =>
      step.args.find((a): a is object => typeof a === 'object' && !Array.isArray(a)) ?? {};
    for (const op of ['cumsum', 'gather', 'takeAlongAxis', 'concat'])
      expect(share(({ step }) => step.op === op && Number(step.args[0]) < 0)).toBeGreaterThan(0);
    for (const op of ['sum', 'argmax', 'scatter'])
      expect(share((s) => s.step.op === op && Number(options(s).axis) < 0)).toBeGreaterThan(0);
    const indices = seen.flatMap(({ step, inputs }) =>
      ['gather', 'takeAlongAxis', 'scatter'].includes(step.op) ? [inputs[1]!] : [],
    );
    expect(indices.some((x) => x.values.some((v) => v < 0))).toBe(true);
    for (const dtype of ['u8', 'i32', 'u32', 'i64', 'u64'] as const)
      expect(indices.some((x) => x.dtype === dtype)).toBe(true);
    expect(share((s) => s.step.op === 'cumsum' && options(s).reverse === true)).toBeGreaterThan(0);
    expect(share((s) => s.step.op === 'cumprod' && options(s).exclusive === true)).toBeGreaterThan(0);
    for (const op of ['cumsum', 'cumprod', 'sum', 'prod'])
      for (const dtype of ['bool', 'i64', 'f16'])
        expect(share((s) => s.step.op === op && options(s).dtype === dtype)).toBeGreaterThan(0);
  });

  it('values made by rules, choices beside numbers, rows with infinities, and eight axes', () => {
    for (const op of ['iota', 'eye', 'full', 'whereScalar', 'whereScalarFirst']) expect([...ops]).toContain(op);
    const infinite = (x: Bounded): boolean => x.values.includes(Number.POSITIVE_INFINITY);
    expect(share(({ step, inputs }) => step.op === 'softmax' && inputs.some(infinite))).toBeGreaterThan(0);
    expect(share(({ inputs }) => inputs.some((x) => x.shape.length === 8))).toBeGreaterThan(0);
  });

  it('values of one sign, signed zeros, values large beside their differences, and hardly any that differ', () => {
    const floats = seen.flatMap(({ inputs }) => inputs.filter((x) => isFloat(x.dtype) && x.values.length >= 8));
    const all = (test: (v: number) => boolean) => (x: Bounded) => (x.values as number[]).every(test);
    expect(floats.some(all((v) => v < 0))).toBe(true);
    expect(
      floats.some((x) => all((v) => v === 0)(x) && new Set((x.values as number[]).map((v) => 1 / v)).size === 2),
    ).toBe(true);
    expect(floats.some((x) => all((v) => v >= 1000 && v < 1001)(x) && new Set(x.values).size > 1)).toBe(true);
    const numerous = seen.flatMap(({ inputs }) => inputs.filter((x) => x.values.length >= 200));
    for (const dtype of ['bool', 'i32'] as const)
      expect(numerous.some((x) => x.dtype === dtype && x.values.every((v) => !v))).toBe(true);
    for (const dtype of ['u8', 'i32', 'u32', 'i64', 'u64'] as const) {
      const held = new Set(
        seen.flatMap(({ inputs }) => inputs.flatMap((x) => (x.dtype === dtype ? x.values : []))).map(BigInt),
      );
      expect(intRange[dtype].every((end) => held.has(end))).toBe(true);
    }
  });

  it('scalars that are NaN, infinite, -0 and huge', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -0, 1e30])
      expect(share(({ step }) => step.args.some((a) => Object.is(a, value)))).toBeGreaterThan(0);
  });

  it('numbers that a dtype does not hold: beside integers that compare, beside bools, as limits', () => {
    const beyond = ({ step: { args } }: Seen): boolean => Math.abs(Number(args[0])) >= 2 ** 31;
    for (const dtype of ['bool', 'u8', 'i32', 'u32', 'i64', 'u64'] as const) {
      const compared = (s: Seen): boolean => comparisonNames.includes(s.step.op) && s.inputs[0]!.dtype === dtype;
      expect(share((s) => compared(s) && beyond(s))).toBeGreaterThan(0);
    }
    expect(share((s) => s.step.op === 'add' && s.inputs[0]!.dtype === 'bool' && beyond(s))).toBeGreaterThan(0);
    expect(share((s) => s.step.op === 'clip' && beyond(s))).toBeGreaterThan(0);
    expect(share((s) => s.step.op === 'floorDivide' && isFloat(s.step.results[0]!.dtype))).toBeGreaterThan(0);
  });

  it('values that are cut among threads and blocks, where they are asked to be large', () => {
    const large = fc.sample(programs({ dtypes: new Set(dtypes), extent: 'large', maxSteps: 12 }), {
      seed: 7,
      numRuns: 60,
    });
    const sizes = large.flatMap(steps).map(({ step }) => step.results[0]!.values.length);
    expect(sizes.filter((n) => n > 4096).length).toBeGreaterThan(20);
    expect(Math.max(...sizes)).toBeGreaterThan(20_000);
  });

  it('i64 beside u64, and one value twice', () => {
    const beside = ({ inputs }: Seen): boolean => ['i64', 'u64'].every((t) => inputs.some((x) => x.dtype === t));
    expect(share((s) => comparisonNames.includes(s.step.op) && beside(s))).toBeGreaterThan(0);
    expect(share(({ step }) => new Set(step.inputs).size < step.inputs.length)).toBeGreaterThan(0);
  });
});
