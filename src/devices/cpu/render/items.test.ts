import { describe, expect, it } from 'vitest';
import { count, indexOf, n$, rolled } from '../../../../test/support/cpu-index.ts';
import { data, Run, randomSource, reference, type Spec, samples } from '../../../../test/support/cpu-render.ts';
import type { DType } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Value } from '../../../kernel/semantics.ts';

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

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
