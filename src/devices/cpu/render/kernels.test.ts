import { describe, expect, it } from 'vitest';
import { count, expectSame, indexOf, n$ } from '../../../../test/support/cpu-index.ts';
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
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Value } from '../../../kernel/semantics.ts';
import { renderKernel } from './render.ts';

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
