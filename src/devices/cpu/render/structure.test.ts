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
import { within } from '../../../../test/support/time.ts';
import type { DType } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Value } from '../../../kernel/semantics.ts';
import { stagingAddress } from '../memory.ts';
import { reach } from './addresses.ts';
import { renderKernel } from './render.ts';

function expectSame(spec: Spec, label = ''): void {
  const expected = reference(spec);
  const run = new Run(spec).run();
  expected.forEach((values, k) => {
    expect(run.values(k), label).toEqual(values);
  });
}

/** The row-major index of positions in a shape. */
function indexOf(b: Exprs, shape: readonly number[], positions: readonly Expr[]): Expr {
  return positions.reduce(
    (sum, p, k) => b.alu('add', b.alu('mul', sum, b.const('index', shape[k]!)), p),
    b.const('index', 0) as Expr,
  );
}

const n$ = (b: Exprs, n: number): Expr => b.const('index', n);

/** i + s modulo n, as the planner writes it. */
function rolled(b: Exprs, i: Expr, n: number, s: number): Expr {
  return b.alu('add', i, b.alu('where', b.alu('lt', i, n$(b, n - s)), n$(b, s), n$(b, s - n)));
}

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

describe('index expressions', () => {
  it('roll along every axis', () => {
    for (const shape of [[37], [5, 19], [4, 3, 33], [3, 3, 3, 16]]) {
      for (const [axis, n] of shape.entries()) {
        for (const s of [1, 2, n - 1]) {
          if (s < 1 || s >= n) continue;
          for (const type of ['f32', 'u8', 'f64', 'f16', 'bool'] as const) {
            const b = new Exprs();
            const pos = shape.map((size, k) => b.axis(k, size));
            pos[axis] = rolled(b, pos[axis]!, n, s);
            const inputs = [data(type, samples(type, count(shape), 3))];
            expectSame(
              { space: shape, outputs: [b.load(type, 0, indexOf(b, shape, pos))], inputs },
              `${shape} ${axis} ${s} ${type}`,
            );
          }
        }
      }
    }
  });

  it('read rolled neighbours on all axes at once', () => {
    const shape = [4, 5, 18];
    const b = new Exprs();
    const pos = shape.map((size, k) => b.axis(k, size));
    let sum: Expr = b.load('f64', 0, indexOf(b, shape, pos));
    for (const [k, n] of shape.entries()) {
      for (const s of [1, n - 1]) {
        const moved = pos.map((p, j) => (j === k ? rolled(b, p, n, s) : p));
        sum = b.alu('add', sum, b.load('f64', 0, indexOf(b, shape, moved)));
      }
    }
    expectSame({ space: shape, outputs: [sum], inputs: [data('f64', samples('i32', count(shape), 4).map(Number))] });
  });

  it('pad and concatenate with gates on the vector axis and on outer axes', () => {
    for (const axis of [0, 1]) {
      for (const type of ['f32', 'u8', 'i64', 'bf16', 'bool'] as const) {
        const inner = [6, 21];
        const lo = 2;
        const outer = inner.map((n, k) => (k === axis ? n + 5 : n));
        const b = new Exprs();
        const pos = outer.map((size, k) => b.axis(k, size));
        const p = pos[axis]!;
        const gate = b.alu('and', b.alu('le', n$(b, lo), p), b.alu('lt', p, n$(b, lo + inner[axis]!)));
        const shifted = pos.map((x, k) => (k === axis ? b.alu('sub', x, n$(b, lo)) : x));
        const padded = b.load(type, 0, indexOf(b, inner, shifted), gate);
        const values = samples(type, count(inner), 8);
        expectSame({ space: outer, outputs: [padded], inputs: [data(type, values)] }, `pad ${axis} ${type}`);
        // Concat: the first operand up to a cut, the second behind it.
        const cut = inner[axis]!;
        const first = b.alu('lt', p, n$(b, cut));
        const rest = inner.map((n, k) => (k === axis ? 5 : n));
        const behind = pos.map((x, k) => (k === axis ? b.alu('sub', x, n$(b, cut)) : x));
        const joined = b.alu(
          'where',
          first,
          b.load(type, 0, indexOf(b, inner, pos), first),
          b.load(type, 1, indexOf(b, rest, behind), b.alu('not', first)),
        );
        const inputs = [data(type, values), data(type, samples(type, count(rest), 9))];
        expectSame({ space: outer, outputs: [joined], inputs }, `concat ${axis} ${type}`);
      }
    }
  });

  it('look up positions that come from memory, forwards along any axis', () => {
    const [rows, columns] = [7, 23];
    for (const type of ['f32', 'u8', 'i64', 'f16', 'bool'] as const) {
      for (const at of ['i32', 'i64', 'u8'] as const) {
        const b = new Exprs();
        const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
        const random = randomSource(5);
        const pick = (n: number, from: number): Value[] =>
          Array.from({ length: n }, () =>
            at === 'i64' ? BigInt(Math.floor(random() * from)) : Math.floor(random() * from),
          );
        const byRow = b.load(type, 0, indexOf(b, [9, columns], [b.cast('index', b.load(at, 1, i)), j]));
        const byColumn = b.load(type, 0, indexOf(b, [9, columns], [i, b.cast('index', b.load(at, 2, j))]));
        const inputs = [
          data(type, samples(type, 9 * columns, 6)),
          data(at, pick(rows, 9)),
          data(at, pick(columns, columns)),
        ];
        expectSame({ space: [rows, columns], outputs: [byRow, byColumn], inputs }, `${type} ${at}`);
      }
    }
  });

  it('transpose, flip, step, broadcast and leave divisions of a reshape', () => {
    for (const type of ['f32', 'u8', 'i64', 'f16', 'bool'] as const) {
      const [rows, columns] = [11, 37];
      const b = new Exprs();
      const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
      const values = data(type, samples(type, 2 * rows * columns, 2));
      const flat = b.alu('add', b.alu('mul', i, n$(b, columns)), j);
      const outputs = [
        b.load(type, 0, b.alu('add', b.alu('mul', j, n$(b, rows)), i)),
        b.load(type, 0, b.alu('sub', n$(b, columns - 1), j)),
        b.load(type, 0, b.alu('sub', n$(b, 2 * (columns - 1)), b.alu('mul', j, n$(b, 2)))),
        b.load(type, 0, b.alu('mul', j, n$(b, 2))),
        b.load(type, 0, i),
        b.load(type, 0, b.alu('idiv', b.alu('mul', flat, n$(b, 2)), n$(b, 3))),
        b.load(type, 0, b.alu('imod', b.alu('add', flat, n$(b, 5)), n$(b, 13))),
      ];
      for (const e of outputs)
        expectSame({ space: [rows, columns], outputs: [e], inputs: [values] }, `${type} ${e.id}`);
    }
  });

  it('open gates and choose rows by what a row of memory says', () => {
    const [rows, columns] = [6, 21];
    const b = new Exprs();
    const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
    const flag = b.load('bool', 1, i);
    const at = b.alu('add', b.alu('mul', i, n$(b, columns)), j);
    const chosen = b.alu('add', b.alu('mul', b.cast('index', flag), n$(b, columns)), j);
    const inputs = [data('f32', samples('f32', rows * columns, 3)), data('bool', [0, 1, 1, 0, 0, 1])];
    const outputs = [b.load('f32', 0, at, flag), b.load('f32', 0, chosen)];
    expectSame({ space: [rows, columns], outputs, inputs });
  });

  it('compare a position with another axis, as triangles and diagonals do', () => {
    const [rows, columns] = [9, 41];
    const b = new Exprs();
    const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
    const x = b.load('f32', 0, b.alu('add', b.alu('mul', i, n$(b, columns)), j));
    const zero = b.const('f32', 0);
    const outputs = [
      b.alu('where', b.alu('le', j, i), x, zero),
      b.alu('where', b.alu('lt', i, b.alu('add', j, n$(b, -3))), x, zero),
      b.alu('where', b.alu('eq', i, j), x, zero),
      b.alu('where', b.alu('lt', b.alu('mul', j, n$(b, 3)), n$(b, 50)), x, zero),
      b.alu('where', b.alu('lt', n$(b, 50), b.alu('mul', j, n$(b, 3))), x, zero),
      b.alu('where', b.alu('lt', b.alu('mul', j, n$(b, 2)), i), x, zero),
    ];
    expectSame({ space: [rows, columns], outputs, inputs: [data('f32', samples('f32', rows * columns, 1))] });
  });

  it('divide positions by powers of two and by other numbers', () => {
    for (const divisor of [1, 2, 3, 16, 64, 100, 128]) {
      const b = new Exprs();
      const [i, j] = [b.axis(0, 3), b.axis(1, 150)];
      const at = b.alu('add', b.alu('mul', i, n$(b, 151)), j);
      const parts = (['idiv', 'imod'] as const).map((op) => b.alu(op, at, n$(b, divisor)));
      const outputs = parts.flatMap((part) => [b.cast('i32', part), b.load('f32', 0, part)]);
      expectSame({ space: [3, 150], outputs, inputs: [data('f32', samples('f32', 512, 5))] }, `${divisor}`);
    }
  });

  it('have one address for elements that lie a little apart, before and behind the position', () => {
    const b = new Exprs();
    const [i, j] = [b.axis(0, 40), b.axis(1, 64)];
    const near = [-3, -1, 0, 1, 2, 5, 70].map((by) => {
      const row = b.alu('max', b.alu('min', b.alu('add', i, n$(b, by)), n$(b, 39)), n$(b, 0));
      return b.load('f32', 0, b.alu('add', b.alu('mul', row, n$(b, 64)), j));
    });
    const back = b.load('f32', 0, b.alu('sub', n$(b, 40 * 64 - 1), b.alu('add', b.alu('mul', i, n$(b, 64)), j)));
    const ahead = [64, 128, 4095].map((by) =>
      b.load('f32', 1, b.alu('add', b.alu('add', b.alu('mul', i, n$(b, 64)), j), n$(b, by))),
    );
    const outputs = [...near, back, ...ahead].map((value) => ({ type: 'f32' as const, value }));
    const inputs = [data('f32', samples('f32', 40 * 64, 6)), data('f32', samples('f32', 40 * 64 + 4096, 7))];
    expectSame({ space: [40, 64], outputs, inputs });
    const { text } = new Run({ space: [40, 64], outputs: outputs.slice(-3), inputs }).wasm;
    for (const by of [64, 128, 4095]) expect(text).toMatch(new RegExp(`offset=${4 * by}\\b`));
    expect(stagingAddress).toBeGreaterThan(reach);
  });

  it('turn positions into numbers of every type', () => {
    const [rows, columns] = [3, 37];
    for (const type of ['u8', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64'] as const) {
      const b = new Exprs();
      const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
      const outputs = [b.cast(type, b.alu('add', b.alu('mul', i, n$(b, 100)), j)), b.cast(type, i)];
      expectSame({ space: [rows, columns], outputs }, type);
    }
  });

  it('vectorise along a longer axis when the last one is short', () => {
    for (const shape of [
      [50, 3],
      [5, 40, 2],
      [70, 7],
    ]) {
      const b = new Exprs();
      const pos = shape.map((size, k) => b.axis(k, size));
      const last = shape.length - 1;
      for (const type of ['f32', 'bool', 'f16', 'i64'] as DType[]) {
        const x = b.load(type, 0, indexOf(b, shape, pos));
        const y = b.load(type, 1, pos[last]!);
        const e = type === 'bool' ? b.alu('xor', x, y) : b.alu('max', x, y);
        const inputs = [data(type, samples(type, count(shape), 2)), data(type, samples(type, shape[last]!, 3))];
        const spec = { space: shape, outputs: [e], inputs };
        expectSame(spec, `${shape} ${type}`);
        expect(new Run(spec).wasm.lanes).toBeGreaterThan(1);
      }
    }
  });
});

/** Byte by byte; the matcher for arrays is slow on long ones. */
const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

describe('words', () => {
  const words: readonly number[] = [0, 1, 5, 255, 256, 0x12345678, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff];
  const given = data(
    'u32',
    Array.from({ length: 70 }, (_, i) => words[i % words.length]!),
  );
  const input = (b: Exprs): Expr => b.load('u32', 0, b.axis(0, 70));

  it('turn by any number of bits', () => {
    for (let n = 1; n < 32; n++) {
      const b = new Exprs();
      const x = input(b);
      const part = (op: 'shl' | 'shr', by: number): Expr => b.alu(op, x, b.const('u32', by));
      const outputs = [
        b.alu('or', part('shl', n), part('shr', 32 - n)),
        b.alu('or', part('shr', 32 - n), part('shl', n)),
        // Not quite a turn.
        b.alu('or', part('shl', n), part('shr', 31 - n)),
        b.alu('or', part('shl', n), b.alu('shr', b.alu('xor', x, part('shr', 1)), b.const('u32', 32 - n))),
      ];
      expectSame({ space: [70], outputs, inputs: [given] }, `by ${n}`);
    }
  });

  it('become numbers of every type, whether they reach beyond 2^31 or not', () => {
    const b = new Exprs();
    const x = input(b);
    const c = (v: number): Expr => b.const('u32', v);
    const values = [
      x,
      b.alu('shr', x, c(1)),
      b.alu('shr', x, c(8)),
      b.alu('add', b.alu('shr', x, c(8)), c(1)),
      b.alu('add', b.alu('shr', x, c(1)), b.alu('shr', x, c(1))),
      b.alu('add', b.alu('shr', x, c(1)), c(1)),
      b.alu('and', x, c(0x7fffffff)),
      b.alu('and', x, c(0x80000001)),
    ];
    const outputs = values.flatMap((v) =>
      (['f32', 'f64', 'f16', 'i64', 'u64', 'u8', 'i32'] as const).map((type) => b.cast(type, v)),
    );
    for (let at = 0; at < outputs.length; at += 8)
      expectSame({ space: [70], outputs: outputs.slice(at, at + 8), inputs: [given] }, `from output ${at}`);
  });
});

describe('items', () => {
  const long = (): Spec => {
    const n = 40003;
    const b = new Exprs();
    const i = b.axis(0, n);
    const x = b.load('f32', 0, rolled(b, i, n, 777));
    const e = b.alu('div', b.alu('add', x, b.scalar('f32', 0)), b.alu('max', x, b.const('f32', 0.5)));
    return {
      space: [n],
      outputs: [e],
      inputs: [data('f32', samples('f32', n, 12))],
      scalars: [{ type: 'f32', value: 0.25 }],
    };
  };

  it('give the same bits however they are split', () => {
    const b = new Exprs();
    const shape = [3, 4, 29];
    const pos = shape.map((size, k) => b.axis(k, size));
    pos[1] = rolled(b, pos[1]!, 4, 1);
    const x = b.load('f32', 0, indexOf(b, shape, pos));
    const rows: Spec = {
      space: shape,
      outputs: [b.alu('sqrt', b.alu('mul', x, x))],
      inputs: [data('f32', samples('f32', count(shape), 5))],
    };
    for (const spec of [rows, long()]) {
      const run = new Run(spec);
      expect(run.wasm.items).toBeGreaterThan(4);
      const expected = new Run(spec).run().bytes();
      for (let cut = 0; cut <= run.wasm.items; cut++) {
        expect(same(new Run(spec).run(cut).bytes(), expected), `cut ${cut}`).toBe(true);
      }
      expect(same(new Run(spec).run(1, 2, 3).bytes(), expected)).toBe(true);
    }
  });

  it('of a split reduction give the same bits however they are split, and what the reference gives', () => {
    for (const [space, reduced, strides] of [
      [[], [50000], [1]],
      [[3], [33000], [33000, 1]],
      [[7], [6000], [1, 7]],
      [
        [2, 5],
        [100, 80],
        [5, 1, 800, 10],
      ],
    ] as const) {
      for (const [op, types] of [
        ['sum', ['f32', 'i64']],
        ['max', ['f64', 'u8']],
        ['argmax', ['f32', 'i64']],
        ['argmin', ['u8']],
      ] as const) {
        for (const type of types) {
          const b = new Exprs();
          const sizes = [...space, ...reduced];
          let index: Expr = b.const('index', 0);
          sizes.forEach((n, k) => {
            index = b.alu('add', index, b.alu('mul', b.axis(k, n), n$(b, strides[k]!)));
          });
          const n = sizes.reduce((sum, size, k) => sum + (size - 1) * strides[k]!, 1);
          const random = randomSource(9);
          const values = Array.from({ length: n }, (): Value => {
            const r = Math.floor(random() * 200);
            return type === 'i64' ? BigInt(r) : r;
          });
          const result: DType = op.startsWith('arg') ? 'i32' : type;
          const spec: Spec = {
            space,
            reduced,
            accumulators: [{ op, type, value: b.load(type, 0, index) }],
            outputs: [b.alu('add', b.acc(result, 0), b.const(result, 1))],
            inputs: [data(type, values)],
          };
          const run = new Run(spec);
          const label = `${op} ${type} ${space} ${reduced}`;
          expect(run.wasm.parts, label).toBeGreaterThan(1);
          const bytes = run.run().bytes();
          expect(run.values(), label).toEqual(reference(spec)[0]);
          expect(new Run(spec).run(1, Math.floor(run.wasm.items / 2)).bytes(), label).toEqual(bytes);
        }
      }
    }
  });
});

describe('kernels', () => {
  it('may write over an input, with several outputs', () => {
    const n = 45;
    const b = new Exprs();
    const i = b.axis(0, n);
    const [x, y] = [b.load('f32', 0, i), b.load('f32', 1, i)];
    const spec: Spec = {
      space: [n],
      outputs: [b.alu('add', x, y), b.alu('sub', x, y)],
      inputs: [data('f32', samples('i32', n, 1).map(Number)), data('f32', samples('i32', n, 2).map(Number))],
      inPlace: [0, 1],
    };
    expect(new Run(spec, { overlay: true }).run().values(0)).toEqual(reference(spec)[0]);
    expect(new Run(spec, { overlay: true }).run().values(1)).toEqual(reference(spec)[1]);
  });

  it('run on shared memory and take scalars of every type', () => {
    const n = 9;
    const b = new Exprs();
    const types = ['bool', 'u8', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64'] as const;
    const spec: Spec = {
      space: [n],
      outputs: types.map((t, k) => b.scalar(t, k)),
      scalars: types.map((type) => ({ type, value: type === 'bool' ? 1 : 3 })),
    };
    const run = new Run(spec, { shared: true }).run();
    types.forEach((_, k) => {
      expect(run.values(k)).toEqual(reference(spec)[k]);
    });
  });

  it('of rank 0 compute one element', () => {
    const b = new Exprs();
    const x = b.load('f32', 0, n$(b, 0));
    expectSame({ space: [], outputs: [b.alu('mul', x, x)], inputs: [data('f32', [3])] });
    expectSame({ space: [1, 1], outputs: [b.alu('neg', x)], inputs: [data('f32', [3])] });
  });

  it('reduce with several accumulators, values computed on the way and an epilogue that reads memory', () => {
    for (const [rows, columns] of [
      [13, 50],
      [3, 700],
      [40, 6],
    ] as const) {
      const b = new Exprs();
      const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
      const x = b.load('f64', 0, b.alu('add', b.alu('mul', i, n$(b, columns)), j));
      const spec: Spec = {
        space: [rows],
        reduced: [columns],
        accumulators: [
          { op: 'sum', type: 'f64', value: x },
          { op: 'sum', type: 'f64', value: b.alu('mul', x, x) },
          { op: 'argmax', type: 'f64', value: b.alu('neg', x) },
          { op: 'any', type: 'bool', value: b.alu('lt', b.const('f64', 90), x) },
        ],
        outputs: [
          b.alu('sub', b.acc('f64', 1), b.alu('mul', b.acc('f64', 0), b.load('f64', 1, i))),
          b.acc('i32', 2),
          b.acc('bool', 3),
        ],
        inputs: [
          data(
            'f64',
            samples('i32', rows * columns, 3, 50).map((v) => Number(v) % 100),
          ),
          data('f64', samples('u8', rows, 4).map(Number)),
        ],
      };
      expectSame(spec, `${rows} × ${columns}`);
    }
  });

  it('reduce rows with many accumulators, few vectors of each at a time', () => {
    const lanesOf = (accumulators: number): number => {
      const b = new Exprs();
      const x = b.load('f32', 0, indexOf(b, [50, 96], [b.axis(0, 50), b.axis(1, 96)]));
      let value: Expr = x;
      const sums = Array.from({ length: accumulators }, (_, i) => {
        value = b.alu('add', value, b.const('f32', i));
        return { op: i % 3 === 2 ? ('max' as const) : ('sum' as const), type: 'f32' as const, value };
      });
      const values = Array.from({ length: 50 * 96 }, (_, i) => ((i * 7) % 23) - 11);
      const spec: Spec = {
        space: [50],
        reduced: [96],
        accumulators: sums,
        outputs: sums.map((_, i) => b.acc('f32', i)),
        inputs: [data('f32', values)],
      };
      expectSame(spec, `${accumulators} accumulators`);
      return new Run(spec).wasm.lanes;
    };
    expect([2, 3, 6, 12, 14].map(lanesOf)).toEqual([16, 8, 4, 4, 4]);
  });

  it('sum 4M random f32 within 2 ulp', () => {
    const n = 1 << 22;
    const random = randomSource(77);
    const values = Float32Array.from({ length: n }, () => random());
    const b = new Exprs();
    const spec: Spec = {
      space: [],
      reduced: [n],
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(0, n)) }],
      outputs: [b.acc('f32', 0)],
      inputs: [data('f32', values as unknown as Value[])],
    };
    const exact = values.reduce((sum, v) => sum + v, 0);
    const ulp = 2 ** (Math.floor(Math.log2(exact)) - 23);
    expect(Math.abs((new Run(spec).run().values()[0] as number) - exact)).toBeLessThanOrEqual(2 * ulp);
  });

  it('keep float sums close over long nested reductions, by rows and by columns', () => {
    for (const [space, reduced, strides] of [
      [[2], [500, 40], [20000, 40, 1]],
      [[2], [3000, 3], [9000, 3, 1]],
      [[40], [700], [1, 40]],
      [[40], [300, 5], [1, 200, 40]],
      [[40], [5, 300], [1, 12000, 40]],
    ] as const) {
      const b = new Exprs();
      const sizes = [...space, ...reduced];
      let index: Expr = b.const('index', 0);
      sizes.forEach((n, k) => {
        index = b.alu('add', index, b.alu('mul', b.axis(k, n), n$(b, strides[k]!)));
      });
      const random = randomSource(3);
      const spec: Spec = {
        space,
        reduced,
        accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, index) }],
        outputs: [b.acc('f32', 0)],
        inputs: [
          data(
            'f32',
            Array.from({ length: count(sizes) }, () => Math.fround(random())),
          ),
        ],
      };
      const expected = reference(spec)[0]!;
      new Run(spec)
        .run()
        .values()
        .forEach((v, i) => {
          const e = expected[i] as number;
          const ulp = 2 ** (Math.floor(Math.log2(e)) - 23);
          expect(Math.abs((v as number) - e), `${sizes}`).toBeLessThanOrEqual(3 * ulp);
        });
    }
  });

  it('keep the bits of a bitcast', () => {
    const n = 21;
    for (const [from, to] of [
      ['f32', 'u32'],
      ['i32', 'f32'],
      ['f64', 'i64'],
      ['u64', 'f64'],
    ] as const) {
      const b = new Exprs();
      const values = samples(from, n, 2).filter((v) => !Number.isNaN(v) && v !== 0xffffffff);
      // Patterns that are NaN as a float need not survive the host's arrays.
      const safe = values.map((v) =>
        from === 'i32' ? Math.abs(v as number) % 1e9 : from === 'u64' ? (v as bigint) % 10n ** 15n : v,
      );
      const e = b.bitcast(to, b.load(from, 0, b.axis(0, safe.length)));
      expectSame({ space: [safe.length], outputs: [e], inputs: [data(from, safe)] }, `${from} ${to}`);
    }
  });

  it('count positions beyond 2^31', () => {
    const n = 3_000_000_000;
    const b = new Exprs();
    const i = b.axis(0, n);
    const late = b.cast('u8', b.alu('le', n$(b, n - 5), i));
    const value = b.alu('add', b.cast('u8', b.alu('imod', i, n$(b, 251))), late);
    const kernel = kernelOf({ space: [n], outputs: [value] });
    const wasm = renderKernel(kernel, { shared: false });
    // Only the pages that are touched take memory.
    const memory = new WebAssembly.Memory({ initial: Math.ceil(n / 65536) + 2 });
    new Uint32Array(memory.buffer, 0, 1)[0] = 64;
    const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm.bytes as BufferSource), { env: { memory } });
    (instance.exports.run as (args: number, begin: number, end: number) => void)(0, wasm.items - 1, wasm.items);
    const tail = new Uint8Array(memory.buffer, 64 + n - 40, 40);
    expect([...tail]).toEqual(Array.from({ length: 40 }, (_, k) => ((n - 40 + k) % 251) + (k >= 35 ? 1 : 0)));
  });

  it('choose lanes with relaxed SIMD where that is allowed', () => {
    const b = new Exprs();
    const x = b.load('f32', 0, b.axis(0, 64));
    const e = b.alu('where', b.alu('lt', x, b.const('f32', 0)), b.alu('neg', x), x);
    const kernel = kernelOf({ space: [64], outputs: [e], inputs: [data('f32', samples('f32', 64, 1))] });
    expect(renderKernel(kernel, { shared: false, relaxed: true }).text).toContain('i32x4.relaxed_laneselect');
    expect(renderKernel(kernel, { shared: false }).text).not.toContain('relaxed');
  });

  it('of deep conditions that share their parts are rendered at once, at the width of their operands', () => {
    for (const type of ['f32', 'u8', 'f64'] as const) {
      const b = new Exprs();
      const i = b.axis(0, 40);
      const flag = (k: number): Expr => b.load('bool', 1, b.alu('imod', b.alu('add', i, n$(b, k)), n$(b, 40)));
      let e: Expr = b.alu('lt', b.load(type, 0, i), b.const(type, 1));
      // Each step uses the one before twice: 2^60 paths, 120 expressions.
      for (let k = 0; k < 60; k++) e = b.alu('ne', e, b.alu(k % 2 === 0 ? 'and' : 'or', e, flag(k)));
      const start = performance.now();
      expectSame({
        space: [40],
        outputs: [e],
        inputs: [data(type, samples(type, 40, 5)), data('bool', samples('bool', 40, 6))],
      });
      expect(performance.now() - start).toBeLessThan(within(2000));
    }
  });

  it('show what they became, and say which kernel could not be rendered', () => {
    const b = new Exprs();
    const spec: Spec = {
      space: [8],
      outputs: [b.load('f32', 0, b.axis(0, 8))],
      inputs: [data('f32', [1, 2, 3, 4, 5, 6, 7, 8])],
    };
    expect(new Run(spec).wasm.text).toContain('v128.load');
    const bad = kernelOf({ ...spec, outputs: [b.alu('exp', b.load('f32', 0, b.axis(0, 8)))] });
    expect(() => new Run({ ...spec, outputs: bad.outputs })).toThrow('kernel test could not be rendered');
  });
});
