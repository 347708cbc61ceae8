import { describe, expect, it } from 'vitest';
import {
  data,
  kernelOf,
  Run,
  randomSource,
  reference,
  type Spec,
  samples,
} from '../../../../test/support/cpu-render.ts';
import { type DType, dtypes, isFloat } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import type { ReduceOp } from '../../../kernel/ops.ts';
import type { Value } from '../../../kernel/semantics.ts';
import { planReduction } from './reduce-plan.ts';

const ops: readonly ReduceOp[] = ['sum', 'prod', 'max', 'min', 'argmax', 'argmin'];
const opsOf = (t: DType): readonly ReduceOp[] =>
  t === 'bool' ? ['any', 'all', 'max', 'min', 'argmax', 'argmin'] : ops;

/** Reduces [outer, middle, inner] over the axes named; the output keeps the others in order. */
function reduction(
  op: ReduceOp,
  type: DType,
  shape: readonly number[],
  over: readonly number[],
  values: readonly Value[],
): Spec {
  const b = new Exprs();
  const kept = shape.map((_, k) => k).filter((k) => !over.includes(k));
  const order = [...kept, ...over];
  let index: Expr = b.const('index', 0);
  let stride = 1;
  for (let k = shape.length - 1; k >= 0; k--) {
    const axis = b.axis(order.indexOf(k), shape[k]!);
    index = b.alu('add', index, b.alu('mul', axis, b.const('index', stride)));
    stride *= shape[k]!;
  }
  const accumulators: Accumulator[] = [{ op, type, value: b.load(type, 0, index) }];
  const result: DType = op === 'argmax' || op === 'argmin' ? 'i32' : type;
  return {
    space: kept.map((k) => shape[k]!),
    reduced: over.map((k) => shape[k]!),
    accumulators,
    outputs: [b.acc(result, 0)],
    inputs: [data(type, values)],
  };
}

/** Float sums and products may round differently; everything else must be the same. */
function expectReduced(spec: Spec, label: string, options: ConstructorParameters<typeof Run>[1] = {}): void {
  const { op, type } = spec.accumulators![0]!;
  const expected = reference(spec)[0]!;
  const got = new Run(spec, options).run().values();
  if (!isFloat(type) || (op !== 'sum' && op !== 'prod')) {
    expect(got, label).toEqual(expected);
    return;
  }
  const tolerance = { f16: 2e-3, bf16: 2e-2, f32: 2e-5, f64: 1e-12 }[type as 'f32'];
  expected.forEach((e, i) => {
    const [x, y] = [got[i] as number, e as number];
    if (Number.isFinite(y))
      expect(Math.abs(x - y), `${label} [${i}] ${x} ${y}`).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(y)));
    else expect(x, label).toBe(y);
  });
}

const shapes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[1], [0]],
  [[3], [0]],
  [[40], [0]],
  [[131], [0]],
  [[5, 37], [1]],
  [[37, 5], [1]],
  [[37, 5], [0]],
  [[9, 70], [0]],
  [
    [3, 5, 33],
    [0, 2],
  ],
  [
    [3, 33, 5],
    [0, 1],
  ],
  [[4, 6, 3], [1]],
  [
    [2, 3, 4],
    [0, 1, 2],
  ],
];

describe('reductions', () => {
  for (const type of dtypes) {
    it(`of ${type} give what the reference gives, for every op and shape`, () => {
      for (const op of opsOf(type)) {
        for (const [shape, over] of shapes) {
          const n = shape.reduce((a, b) => a * b, 1);
          const random = randomSource(n + 1);
          const mild = isFloat(type) && (op === 'sum' || op === 'prod');
          const values = mild
            ? Array.from({ length: n }, () => random() + 0.5 - (op === 'prod' ? 0 : 0.5))
            : samples(type, n, n + 5);
          expectReduced(reduction(op, type, shape, over, values), `${op} ${type} ${shape} over ${over}`);
        }
      }
    });
  }

  it('find the first of equal extremes when memory is not in the order of positions', () => {
    const b = new Exprs();
    const [rows, columns] = [6, 40];
    const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
    const index = b.alu('add', b.alu('mul', j, b.const('index', rows)), i);
    const random = randomSource(4);
    for (let round = 0; round < 20; round++) {
      const values = Array.from({ length: rows * columns }, () => Math.floor(random() * 40));
      for (const op of ['argmax', 'argmin'] as const) {
        expectReduced(
          {
            space: [],
            reduced: [rows, columns],
            accumulators: [{ op, type: 'f32', value: b.load('f32', 0, index) }],
            outputs: [b.acc('i32', 0)],
            inputs: [data('f32', values)],
          },
          `${op} ${round}`,
        );
      }
    }
  });

  it('find the first extreme of a row: NaN before all, equal ones, both zeros, infinities', () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    const random = randomSource(11);
    for (const type of ['f32', 'f64', 'f16'] as const) {
      for (const size of [1, 3, 4, 5, 16, 17, 31, 64, 100, 200]) {
        const row = (special: readonly number[]): number[] =>
          Array.from({ length: size }, () => special[Math.floor(random() * special.length)]!);
        const rows = [
          row([-inf]),
          row([inf, -inf]),
          row([nan]),
          row([0, -0]),
          row([0, -0, -1]),
          row([...Array(size).fill(1), nan]),
          row([1, 2, 3, nan, inf]),
          row([1, 2, 3]),
        ];
        for (const op of ['argmax', 'argmin'] as const) {
          expectReduced(reduction(op, type, [rows.length, size], [1], rows.flat()), `${op} ${type} ${size}`);
          for (const one of rows) expectReduced(reduction(op, type, [size], [0], one), `${op} ${type} ${size}`);
        }
      }
    }
  });

  it('find an extreme, or a NaN behind one, at every position of rows of several blocks', () => {
    for (const type of ['f32', 'f64', 'i32', 'u32', 'i64', 'u64', 'u8', 'bf16'] as const) {
      for (const size of [2, 15, 16, 31, 32, 33, 53, 64, 65, 97]) {
        const positions = Array.from({ length: size }, (_, i) => i);
        const plain = type === 'i64' || type === 'u64' ? BigInt : (v: number): number => v;
        const rowsOf = (value: (i: number, at: number) => number): Value[] =>
          positions.flatMap((at) => positions.map((i) => plain(value(i, at))));
        const tables = [
          rowsOf((i, at) => (i === at ? 9 : 5)),
          rowsOf((i, at) => (i === at ? 1 : 5)),
          rowsOf((i, at) => (i < at ? i : 2 * at - i + size)),
          rowsOf((i) => size - i),
          ...(isFloat(type)
            ? [rowsOf((i, at) => (i === at ? Number.NaN : i % 7)), rowsOf((i, at) => (i >= at ? Number.NaN : size - i))]
            : []),
        ];
        tables.forEach((values, k) => {
          for (const op of ['argmax', 'argmin'] as const)
            expectReduced(reduction(op, type, [size, size], [1], values), `${op} ${type} ${size} ${k}`);
        });
      }
    }
  });

  it('know the extremes of floats from NaN and from zeros of the other sign, wherever these stand', () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    const random = randomSource(5);
    const kinds = [[-inf], [inf, -inf], [0, -0], [-0], [0, -0, -1], [0, -0, 1], [-0, -1], [1, 2, nan], [-1, nan, -0]];
    for (const type of ['f32', 'f64', 'f16'] as const) {
      for (const op of ['max', 'min'] as const) {
        for (const size of [1, 4, 5, 31, 64, 100]) {
          const rows = kinds.map((kind) =>
            Array.from({ length: size }, () => kind[Math.floor(random() * kind.length)]!),
          );
          const label = `${op} ${type} ${size}`;
          expectReduced(reduction(op, type, [rows.length, size], [1], rows.flat()), label);
          const turned = Array.from({ length: size }, (_, i) => rows.map((r) => r[i]!)).flat();
          expectReduced(reduction(op, type, [size, rows.length], [0], turned), label);
        }
      }
    }
  });

  it('find both extremes of the same values, in either order and beside other reductions', () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    const random = randomSource(6);
    const kinds = [
      [-inf],
      [inf],
      [inf, -inf],
      [0, -0],
      [-0],
      [0],
      [-0, -1],
      [1, 2, nan],
      [-1, nan],
      [nan],
      [-3, -2],
      [5],
    ];
    for (const type of ['f32', 'f64', 'f16'] as const)
      for (const size of [1, 3, 17, 70, 700])
        for (const ops of [
          ['max', 'min'],
          ['min', 'max'],
          ['max', 'any', 'min', 'max'],
        ] as const) {
          const rows = kinds.map((kind) =>
            Array.from({ length: size }, () => kind[Math.floor(random() * kind.length)]!),
          );
          for (const list of type === 'f32' ? [rows, ...rows.map((row) => [row])] : [rows]) {
            const b = new Exprs();
            const x = b.load(
              type,
              0,
              b.alu('add', b.alu('mul', b.axis(0, list.length), b.const('index', size)), b.axis(1, size)),
            );
            const isOne = b.alu('lt', b.const(type, 1), x);
            const accumulators = ops.map(
              (op): Accumulator => (op === 'any' ? { op, type: 'bool', value: isOne } : { op, type, value: x }),
            );
            const spec: Spec = {
              space: [list.length],
              reduced: [size],
              accumulators,
              outputs: accumulators.map((a, k) => b.acc(a.type, k)),
              inputs: [data(type, list.flat())],
            };
            const got = new Run(spec).run();
            const want = reference(spec);
            ops.forEach((op, k) => {
              expect(got.values(k), `${ops.join()} ${op} ${type} ${size}`).toEqual(want[k]);
            });
          }
        }
  });

  it('find a NaN of either sign and any bits among numbers of both signs, or of one', () => {
    const bits = (v: number): number => new Int32Array(Float32Array.of(v).buffer)[0]!;
    const nans = [0x7f800001, 0x7fffffff, 0x7fc00000, -1, -0x7fffff, -0x400000];
    const others = [[1, -1, 0, -0], [Infinity, 2], [-Infinity, -3], []].map((list) => list.map(bits));
    for (const op of ['max', 'min'] as const) {
      for (const size of [1, 5, 64]) {
        const columns = nans.flatMap((nan) =>
          others.map((list) =>
            Array.from({ length: size }, (_, i) => (i === size >> 1 ? nan : (list[i % list.length] ?? nan))),
          ),
        );
        for (const down of [false, true]) {
          const [b, n] = [new Exprs(), columns.length];
          const [outer, inner] = [b.axis(0, n), b.axis(1, size)];
          const [major, minor, stride] = down ? [inner, outer, n] : [outer, inner, size];
          const index = b.alu('add', b.alu('mul', major, b.const('index', stride)), minor);
          const all = down ? Array.from({ length: size }, (_, i) => columns.map((c) => c[i]!)) : columns;
          const spec: Spec = {
            space: [n],
            reduced: [size],
            accumulators: [{ op, type: 'f32', value: b.bitcast('f32', b.load('i32', 0, index)) }],
            outputs: [b.acc('f32', 0)],
            inputs: [data('i32', all.flat())],
          };
          expect(new Run(spec).run().values(), `${op} ${size} ${down}`).toEqual(columns.map(() => Number.NaN));
        }
      }
    }
  });

  it('end any and all where they are known, wherever that is, and begin the next row afresh', () => {
    for (const size of [15, 64, 83, 200]) {
      // Row i has its odd one out at i, every second row has none.
      const at = (i: number): number => (i % 2 ? -1 : i >> 1);
      const rows = 2 * size;
      for (const [op, usual] of [
        ['any', 0],
        ['all', 1],
      ] as const) {
        const values = Array.from({ length: rows * size }, (_, k) =>
          k % size === at(Math.floor(k / size)) ? 1 - usual : usual,
        );
        expectReduced(reduction(op, 'bool', [rows, size], [1], values), `${op} ${size}`);
        expectReduced(reduction(op, 'bool', [2, size, size], [1, 2], values), `${op} ${size} over two axes`);
      }
    }
    const many = 70_000;
    for (const hit of [0, 16_384, many - 1, many])
      for (const op of ['any', 'all'] as const) {
        const values = Array.from({ length: many }, (_, k) => (k === hit ? 1 : 0) ^ (op === 'all' ? 1 : 0));
        expectReduced(reduction(op, 'bool', [many], [0], values), `${op} ${hit} of ${many}`);
      }
  });

  // Rows of more than a kilobyte, many of them: their columns are walked block by block.
  const streamed = { streamedBytes: 0 };
  const long = { f64: 131, f32: 300, f16: 700, i32: 261, i64: 130, u8: 1040, bool: 1040 } as const;
  for (const [type, columns] of Object.entries(long) as [DType, number][]) {
    it(`of ${type} down long rows give what the reference gives, split anywhere`, () => {
      for (const op of opsOf(type)) {
        for (const rows of type === 'f32' ? [64, 70, 200] : [70]) {
          const n = rows * columns;
          const random = randomSource(n);
          const mild = isFloat(type) && (op === 'sum' || op === 'prod');
          const values = mild
            ? Array.from({ length: n }, () => (op === 'prod' ? 0.99 + 0.02 * random() : random()))
            : samples(type, n, n + 5);
          const spec = reduction(op, type, [rows, columns], [0], values);
          expectReduced(spec, `${op} ${type} ${rows}`, streamed);
          const run = new Run(spec, streamed);
          const half = new Run(spec, streamed).run(run.wasm.items >> 1);
          expect(half.bytes()).toEqual(run.run().bytes());
          expect(run.wasm.scratchBytes > 0, `${op} ${type} is streamed`).toBe(!op.startsWith('arg'));
        }
      }
    });
  }

  it.each([
    ['f32', 1024],
    ['f64', 1536],
    ['i32', 1025],
  ] as const)('of %s down %i columns are cut into slices where these have many rows', (type, columns) => {
    const random = randomSource(columns);
    for (const op of ['sum', 'max'] as const) {
      for (const rows of [200, 300]) {
        const values = Array.from({ length: rows * columns }, () => Math.floor(1000 * random()));
        const spec = reduction(op, type, [rows, columns], [0], values);
        expectReduced(spec, `${op} ${type} ${rows}`, streamed);
        expect(new Run(spec, streamed).wasm.parts > 0).toBe(rows > 256);
      }
    }
  });

  it.each([2, 7, 16, 17, -1, -3])(
    'go down columns that are %i elements apart from each other, and are streamed while they share lines',
    (apart) => {
      const [rows, columns] = [70, 65];
      const width = Math.abs(apart) * columns + 256;
      const random = randomSource(width);
      for (const [type, most] of [
        ['f32', 16],
        ['f64', 8],
        ['i32', 16],
      ] as const)
        for (const op of ['sum', 'max', 'argmin'] as const) {
          const b = new Exprs();
          const column = b.alu('mul', b.axis(0, columns), b.const('index', apart));
          const first = b.const('index', apart < 0 ? width - 1 : 3);
          const row = b.alu('mul', b.axis(1, rows), b.const('index', width));
          const to = op === 'argmin' ? 'i32' : type;
          const values = Array.from({ length: rows * width }, () => Math.floor(1000 * random()));
          const spec: Spec = {
            space: [columns],
            reduced: [rows],
            accumulators: [{ op, type, value: b.load(type, 0, b.alu('add', b.alu('add', row, column), first)) }],
            outputs: [b.acc(to, 0)],
            inputs: [data(type, values)],
          };
          expectReduced(spec, `${op} ${type}`, streamed);
          expect(planReduction(kernelOf(spec), 0).form).toBe('columns');
          const isNear = Math.abs(apart) <= most;
          expect(new Run(spec, streamed).wasm.scratchBytes > 0, `${op} ${type}`).toBe(isNear && op !== 'argmin');
        }
    },
  );

  it.each([
    [4, 3, 5],
    [37, 6, 70],
    [5, 20, 20_000],
  ])(
    'put %i neighbours in a vector that are not the last axis of the %i columns of results, over %i',
    (inner, outer, rows) => {
      // Results are transposed: [inner, outer] of values [outer, rows, inner].
      const random = randomSource(rows);
      const values = Array.from({ length: inner * outer * rows }, () => Math.floor(50 * random()));
      for (const [type, op] of [
        ['f32', 'sum'],
        ['f32', 'max'],
        ['i64', 'min'],
        ['f64', 'argmax'],
      ] as const) {
        const b = new Exprs();
        const major = b.alu('mul', b.axis(1, outer), b.const('index', rows * inner));
        const minor = b.alu('add', b.alu('mul', b.axis(2, rows), b.const('index', inner)), b.axis(0, inner));
        const wide = type === 'i64' ? values.map(BigInt) : values;
        const spec: Spec = {
          space: [inner, outer],
          reduced: [rows],
          accumulators: [{ op, type, value: b.load(type, 0, b.alu('add', major, minor)) }],
          outputs: [b.acc(op === 'argmax' ? 'i32' : type, 0)],
          inputs: [data(type, wide)],
        };
        expect(planReduction(kernelOf(spec)).vector.axis, op).toBe(0);
        expectReduced(spec, `${op} ${type}`);
      }
    },
  );

  it('keep zeros and NaN of a column from block to block', () => {
    const columns = 300;
    const first = [0, -0, -0, Number.NaN, 1, -1, Number.NEGATIVE_INFINITY];
    for (const op of ['max', 'min'] as const) {
      for (const at of [0, 15, 16, 50, 69]) {
        const values = Array.from({ length: 70 * columns }, (_, i) => {
          const [r, c] = [Math.floor(i / columns), i % columns];
          return r === at ? first[c % first.length]! : c % 2 ? -0 : 0;
        });
        expectReduced(reduction(op, 'f32', [70, columns], [0], values), `${op} ${at}`, streamed);
      }
    }
  });
});
