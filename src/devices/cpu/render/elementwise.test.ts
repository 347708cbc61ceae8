import { describe, expect, it } from 'vitest';
import { data, Run, reference, type Spec, samples } from '../../../../test/support/cpu-render.ts';
import { type DType, dtypes, isFloat } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import { aluOps } from '../../../kernel/ops.ts';
import { cpuNative } from './native.ts';

/** Same values; NaN equals NaN, -0 differs from 0. */
function expectSame(spec: Spec, label = ''): void {
  const expected = reference(spec);
  const run = new Run(spec).run();
  expected.forEach((values, k) => {
    expect(run.values(k), label).toEqual(values);
  });
}

const sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 31, 33, 40, 77, 130];

describe('elementwise ops', () => {
  for (const type of dtypes) {
    it(`compute every native op of ${type} as the reference does`, () => {
      for (const op of cpuNative[type]) {
        for (const n of sizes) {
          const b = new Exprs();
          const i = b.axis(0, n);
          const { arity } = aluOps[op];
          const inputs = Array.from({ length: arity }, (_, k) => {
            const t: DType = op === 'where' && k === 0 ? 'bool' : type;
            return data(t, samples(t, n, 7 * n + k + 1));
          });
          const e = b.raw(
            op,
            inputs.map((d, k) => b.load(d.type, k, i)),
          );
          expectSame({ space: [n], outputs: [e], inputs }, `${op} ${type} ${n}`);
        }
      }
    });

    it(`compute every native op of ${type} with a value that is the same for all elements`, () => {
      const n = 21;
      for (const op of cpuNative[type]) {
        const { arity } = aluOps[op];
        if (arity !== 2) continue;
        for (const value of samples(type, 12, 5)) {
          const b = new Exprs();
          const x = b.load(type, 0, b.axis(0, n));
          const inputs = [data(type, samples(type, n, 3)), data(type, [value])];
          const uniform = b.load(type, 1, b.const('index', 0));
          const constant = b.const(type, value);
          const outputs = [b.raw(op, [x, uniform]), b.raw(op, [x, constant]), b.raw(op, [uniform, x])];
          expectSame({ space: [n], outputs, inputs }, `${op} ${type} ${value}`);
        }
      }
    });
  }

  it.each(['f32', 'f64'] as const)(
    'choose the smaller and the larger of two %s with one instruction, NaN and zeros too',
    (type) => {
      const values = [0, -0, 1, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2.5];
      const pairs = values.flatMap((x) => values.map((y) => [x, y] as const));
      const b = new Exprs();
      const [x, y] = [0, 1].map((slot) => b.load(type, slot, b.axis(0, pairs.length)));
      const inputs = [0, 1].map((k) =>
        data(
          type,
          pairs.map((pair) => pair[k]!),
        ),
      );
      const smaller = b.alu('where', b.alu('lt', y!, x!), y!, x!);
      const larger = b.alu('where', b.alu('lt', x!, y!), y!, x!);
      const spec = { space: [pairs.length], outputs: [smaller, larger], inputs };
      expectSame(spec);
      const { text } = new Run(spec).wasm;
      expect(text).toMatch(/pmin/);
      expect(text).toMatch(/pmax/);
      expect(text).not.toMatch(/bitselect/);
    },
  );

  for (const from of dtypes) {
    it(`cast ${from} to every type as the reference does`, () => {
      for (const to of dtypes) {
        for (const n of [1, 3, 4, 5, 17, 40, 131]) {
          const b = new Exprs();
          const e = b.cast(to, b.load(from, 0, b.axis(0, n)));
          const extra = isFloat(from)
            ? [254.5, 255.5, -0.9, 4294967295, 2 ** 31, -(2 ** 31), 1e10, 1.5e19, 1e-8, 6e-8]
            : [];
          const values = [...extra, ...samples(from, n, n + 3, 1000)].slice(0, n);
          expectSame({ space: [n], outputs: [e], inputs: [data(from, values)] }, `${from} → ${to} ${n}`);
          const uniform = b.cast(to, b.load(from, 0, b.const('index', n - 1)));
          expectSame({ space: [n], outputs: [uniform], inputs: [data(from, values)] }, `uniform ${from} → ${to} ${n}`);
        }
      }
    });
  }
});
