// The fuzzer's evaluator against NumPy: what it calls exact must be what NumPy says, and its bounds must hold NumPy's value.

import { describe, expect, it } from 'vitest';
import { normalizeAxes, normalizeAxis } from '../../src/base/shape.ts';
import { readCases } from '../cases/files.ts';
import type { Case, HostTensor } from '../cases/format.ts';
import * as acc from './accumulate.ts';
import { einsum } from './contract.ts';
import { convolved } from './convolve.ts';
import {
  binary,
  binaryAllows,
  binaryRows,
  bitcast,
  cast,
  compare,
  comparisonNames,
  logicNames,
  scalarBeside,
  searched,
  unary,
  where,
} from './elementwise.ts';
import { check, type Tally } from './program.ts';
import * as move from './rearrange.ts';
import { type Bounded, undecided } from './value.ts';

const given = (t: HostTensor): Bounded => ({
  dtype: t.dtype,
  shape: t.shape,
  values: Array.from(t.data as ArrayLike<number | bigint>),
  errors: new Float64Array(t.data.length),
});

interface Options {
  readonly axis?: number | readonly number[];
  readonly keepdims?: boolean;
  readonly descending?: boolean;
  readonly mode?: string;
  readonly ord?: number;
  readonly ddof?: number;
}

const kept = (x: Bounded, axes: readonly number[], y: Bounded, keepdims?: boolean): Bounded =>
  keepdims
    ? move.reshape(
        y,
        x.shape.map((d, i) => (axes.includes(i) ? 1 : d)),
      )
    : y;

const binaries = new Set([...Object.keys(binaryRows), ...comparisonNames, ...logicNames]);

/** What the evaluator says of a case, or null where it has no such op. */
function evaluate(c: Case): Bounded[] | null {
  const xs = c.inputs.map(given);
  const [x, y, z] = xs as [Bounded, Bounded, Bounded];
  const options = (c.args.find((a) => typeof a === 'object' && !Array.isArray(a)) ?? {}) as Options;
  if (binaries.has(c.op)) {
    const other = xs.length === 2 ? y : scalarBeside(x, c.args[0] as number);
    const common = binary('equal', x, other) && c.outputs[0]!.dtype;
    return binaryAllows(c.op, common === 'bool' ? x.dtype : common) ? [binary(c.op, x, other)] : null;
  }
  switch (c.op) {
    case 'cast':
      return [cast(x, c.args[0] as Bounded['dtype'])];
    case 'where':
      return [where(x, y, z)];
    case 'sum':
    case 'prod':
    case 'max':
    case 'min':
    case 'any':
    case 'all':
    case 'countNonzero':
    case 'mean':
    case 'variance':
    case 'std':
    case 'norm':
    case 'logsumexp': {
      if (options.ddof || (options.ord && options.ord !== 2) || (c.op === 'mean' && x.dtype === 'bool')) return null;
      const axes = normalizeAxes(options.axis, x.shape.length, c.op);
      if (x.values.length === 0) return null;
      const result =
        c.op === 'sum' || c.op === 'prod'
          ? acc.total(c.op, x, axes)
          : c.op === 'max' || c.op === 'min'
            ? acc.extreme(c.op, x, axes)
            : c.op === 'any' || c.op === 'all'
              ? acc.truth(c.op, x, axes)
              : c.op === 'countNonzero'
                ? acc.countNonzero(x, axes)
                : acc.statistic(c.op, x, axes);
      return [kept(x, axes, result, options.keepdims)];
    }
    case 'argmax':
    case 'argmin':
      return options.axis === undefined || options.keepdims || x.values.length === 0
        ? null
        : [acc.position(c.op, x, normalizeAxis(options.axis as number, x.shape.length, c.op))];
    case 'cumsum':
    case 'cumprod':
      return [
        acc.runningTotal(
          c.op === 'cumsum' ? 'sum' : 'prod',
          x,
          normalizeAxis(c.args[0] as number, x.shape.length, c.op),
        ),
      ];
    case 'cummax':
    case 'cummin':
      return [
        move.runningExtreme(
          x,
          normalizeAxis(c.args[0] as number, x.shape.length, c.op),
          c.op === 'cummax' ? 'max' : 'min',
        ),
      ];
    case 'softmax':
    case 'logSoftmax':
      return [acc.softmax(x, normalizeAxis(c.args[0] as number, x.shape.length, c.op), c.op === 'logSoftmax')];
    case 'matmul':
      return x.shape.length < 2 ||
        y.shape.length < 2 ||
        (x.shape.length > 2 && y.shape.length > 2 && `${x.shape.slice(0, -2)}` !== `${y.shape.slice(0, -2)}`)
        ? null
        : [acc.matmul(x, y)];
    case 'sort':
    case 'argsort': {
      const { values, positions } = move.sorted(
        x,
        normalizeAxis(c.args[0] as number, x.shape.length, c.op),
        options.descending ?? false,
      );
      return [c.op === 'sort' ? values : positions];
    }
    case 'gather':
      return [move.gather(x, y, normalizeAxis(c.args[0] as number, x.shape.length, c.op))];
    case 'takeAlongAxis':
      return [move.takeAlongAxis(x, y, normalizeAxis(c.args[0] as number, x.shape.length, c.op))];
    case 'conv1d':
    case 'conv2d':
    case 'conv3d':
    case 'convTranspose':
    case 'convKernelGradient': {
      const shape = (c.args.find((a) => Array.isArray(a)) ?? null) as readonly number[] | null;
      return (options as { padding?: unknown }).padding === 'same'
        ? null
        : [convolved(c.op, x, y, shape, options as object)];
    }
    case 'searchsorted':
      return x.dtype === y.dtype ? [searched(x, y, (options as { side?: string }).side === 'right')] : null;
    case 'bitcast':
      return [bitcast(x, c.args[0] as Bounded['dtype'])];
    case 'zeros':
      return null;
    default:
      return xs.length === 1 && c.args.length === 0 && known(c.op) ? [unary(c.op, x)] : null;
  }
}

const unaries = new Set(
  'neg abs sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan cosh asin acos atan sinh tanh asinh acosh atanh erf sigmoid relu floor ceil trunc round sign square logicalNot isnan isinf isfinite bitwiseNot'.split(
    ' ',
  ),
);
const known = (op: string): boolean => unaries.has(op);

const files = [
  'unary',
  'binary',
  'promotion',
  'scalars',
  'cast',
  'where',
  'reductions',
  'statistics',
  'scans',
  'layers',
  'matmul',
  'ordering',
  'indexing',
  'conv',
  'conv-layouts',
  'dynamic',
];

describe("the fuzzer's evaluator agrees with NumPy", () => {
  it.each(files)('%s', (file) => {
    const tally: Tally = { compared: 0, undecided: 0 };
    const problems: string[] = [];
    let evaluated = 0;
    for (const c of readCases(file)) {
      if (c.throws || c.inputs.some((i) => i.via.length > 0)) continue;
      const got = evaluate(c);
      if (!got) continue;
      evaluated++;
      for (const [i, want] of c.outputs.entries()) {
        const problem = check(got[i]!, want, tally);
        if (problem) problems.push(`${c.at} ${c.op}: NumPy's ${problem}`);
      }
    }
    expect(problems.slice(0, 10)).toEqual([]);
    expect(evaluated).toBeGreaterThan(5);
    expect(tally.compared).toBeGreaterThan(tally.undecided);
  });
});

describe('an einsum whose steps may overflow or vanish on the way', () => {
  const f32 = (shape: readonly number[], values: readonly number[]): Bounded => ({
    dtype: 'f32',
    shape,
    values: values.map(Math.fround),
    errors: new Float64Array(values.length),
  });

  it('is open where a product of some operands leaves the range of the type, whatever the rest makes of it', () => {
    const { errors, values } = einsum({ inputs: ['ab', 'ab', 'a'], output: 'ba' }, [
      f32([3, 2], [3e38, 2, 1e-30, 3, 5, 0]),
      f32([3, 2], [2.35, 3, 1e-30, 4, 3e38, 7]),
      f32([3], [0, 1e30, 0]),
    ]);
    // NumPy gives NaN, 0, NaN for a = 0, 1, 2 and b = 0, in this order of the operands.
    expect([...errors.slice(0, 3)]).toEqual([undecided, undecided, undecided]);
    expect(errors.slice(3).every(Number.isFinite)).toBe(true);
    expect(values.slice(3)).toEqual([0, Math.fround(12 * Math.fround(1e30)), 0]);
  });

  it('is open where a sum of one operand leaves it', () => {
    const spec = { inputs: ['i', 'k'], output: 'k' };
    const sum = (values: readonly number[]) => einsum(spec, [f32([2], values), f32([2], [0, 1e-3])]).errors;
    expect([...sum([3e38, 3e38])]).toEqual([undecided, undecided]);
    expect(sum([3, 4]).every(Number.isFinite)).toBe(true);
  });

  it('is decided where nothing is summed and there is one product', () => {
    const { values, errors } = einsum({ inputs: ['i', 'i'], output: 'i' }, [f32([1], [3e38]), f32([1], [0])]);
    expect([values, [...errors]]).toEqual([[0], [0]]);
  });
});

describe('a comparison of 64-bit integers with a number', () => {
  const bounded = (dtype: 'i64' | 'f64', values: readonly (number | bigint)[]): Bounded => ({
    dtype,
    shape: [values.length],
    values: [...values],
    errors: new Float64Array(values.length),
  });

  it('goes by their values', () => {
    const x = bounded('i64', [1n, 2n, 3n]);
    expect([...compare('equal', x, bounded('f64', [2])).values]).toEqual([0, 1, 0]);
    expect([...compare('notEqual', x, bounded('f64', [2.5])).values]).toEqual([1, 1, 1]);
    expect([...compare('less', x, bounded('f64', [2.5])).values]).toEqual([1, 1, 0]);
  });
});
