import { describe, expect, it } from 'vitest';
import { count, expectSame, indexOf, n$, rolled } from '../../../../test/support/cpu-index.ts';
import { data, Run, randomSource, reference, samples } from '../../../../test/support/cpu-render.ts';
import type { DType } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Value } from '../../../kernel/semantics.ts';
import { stagingAddress } from '../memory.ts';
import { reach } from './addresses.ts';

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

  it('transpose tile by tile, whatever is left at the edges, however the tiles are handed out', () => {
    for (const [rows, columns, outer] of [
      [33, 70, 1],
      [100, 65, 1],
      [64, 96, 3],
      [37, 129, 2],
      [3, 70, 1],
      [4, 70, 1],
      [5, 70, 2],
    ] as const) {
      for (const type of ['f32', 'u8', 'f64', 'i64', 'f16', 'bool'] as const) {
        const b = new Exprs();
        const [o, r, c] = [b.axis(0, outer), b.axis(1, rows), b.axis(2, columns)];
        const shape = [outer, columns, rows];
        const back = b.alu('sub', n$(b, columns - 1), c);
        const across = b.load(type, 0, indexOf(b, shape, [o, c, r]));
        const flipped = b.load(type, 0, indexOf(b, shape, [o, back, r]));
        const plain = b.load(type, 0, indexOf(b, [outer, rows, columns], [o, r, c]));
        // The upper triangle as it lies, the lower one mirrored.
        const mixed = b.alu('where', b.alu('lt', r, c), plain, across);
        const inputs = [data(type, samples(type, outer * rows * columns, 7))];
        const spec = { space: [outer, rows, columns], outputs: [across, flipped, mixed], inputs };
        expectSame(spec, `${outer} ${rows} ${columns} ${type}`);
        const cut = new Run(spec);
        cut.run(Math.ceil(cut.wasm.items / 2));
        expect([0, 1, 2].map((k) => cut.values(k))).toEqual(reference(spec));
      }
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
