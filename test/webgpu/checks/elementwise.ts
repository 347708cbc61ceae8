// Every native op on every dtype, with special values, in the shapes that take different paths through the renderer.

import type { DType } from '../../../src/base/dtype.ts';
import { nativeOps } from '../../../src/devices/webgpu/wgsl/ops.ts';
import type { Expr } from '../../../src/kernel/expr.ts';
import { type AluOp, aluOps } from '../../../src/kernel/ops.ts';
import { meaning } from '../../../src/kernel/semantics.ts';
import {
  agree,
  assert,
  bytesOf,
  type Check,
  check,
  compare,
  Exprs,
  kernelOf,
  mixed,
  position,
  runOn,
  specialsOf,
  type Tolerance,
  valuesOf,
} from '../support.ts';

/** All pairs of special values, so that every meeting of specials is seen. */
function pairs(type: DType): [number[], number[]] {
  const s = specialsOf(type);
  const a: number[] = [];
  const b: number[] = [];
  for (const x of s) {
    for (const y of s) {
      a.push(x);
      b.push(y);
    }
  }
  return [a, b];
}

const tolerances: Partial<Record<AluOp, Tolerance>> = {
  div: { ulp: 0, flush: true },
  sqrt: { ulp: 0 },
  mul: { ulp: 0, flush: true },
};

const shapes: readonly (readonly number[])[] = [[1], [3], [4], [1023], [64, 4], [7, 33]];

export const elementwise: Check[] = [];

const types = ['f32', 'f16', 'i32', 'u32', 'u8', 'bool'] as const;
const native = nativeOps(new Set(types));

for (const type of types) {
  for (const op of native[type]!) {
    elementwise.push(
      check(
        `${op} of ${type}`,
        async (device) => {
          const { arity } = aluOps[op];
          const [x, y] = pairs(type);
          const n = x.length;
          for (const shape of [[n], ...shapes]) {
            const total = shape.reduce((p, d) => p * d, 1);
            const data = shape[0] === n && shape.length === 1 ? [x, y] : [mixed(type, total, 1), mixed(type, total, 2)];
            const condition = mixed('bool', total, 3);
            const b = new Exprs();
            const at = position(b, shape);
            const [p, q] = [b.load(type, 0, at), b.load(type, 1, at)];
            const src: Expr[] = op === 'where' ? [b.load('bool', 2, at), p, q] : arity === 1 ? [p] : [p, q];
            const value = b.raw(op, src);
            const kernel = kernelOf({
              name: `${op}_${type}_${shape.join('x')}`,
              space: shape,
              inputs: [type, type, 'bool' as const].map((t) => ({ type: t, elements: total })),
              outputs: [{ type: aluOps[op].compares ? 'bool' : type, value }],
            });
            const inputs = [bytesOf(type, data[0]!), bytesOf(type, data[1]!), bytesOf('bool', condition)];
            await agree(device, kernel, inputs, tolerances[op] ?? {});
          }
        },
        type,
      ),
    );
  }
}

for (const from of types) {
  elementwise.push(
    check(
      `casts from ${from}`,
      async (device) => {
        for (const to of device.caps.dtypes) {
          for (const n of [257, 5]) {
            const b = new Exprs();
            const kernel = kernelOf({
              name: `cast_${from}_${to}`,
              space: [n],
              inputs: [{ type: from, elements: n }],
              outputs: [{ type: to, value: b.cast(to, b.load(from, 0, b.axis(0, n))) }],
            });
            const list = specialsOf(from);
            const values = Array.from({ length: n }, (_, i) => list[i] ?? mixed(from, 1, i)[0]!);
            await agree(device, kernel, [bytesOf(from, values)]);
          }
        }
      },
      from,
    ),
  );
}

elementwise.push(
  check('bit casts between f32, i32 and u32 keep every bit', async (device) => {
    const types = ['f32', 'i32', 'u32'] as const;
    for (const from of types) {
      for (const to of types) {
        if (from === to) continue;
        const n = 64;
        const b = new Exprs();
        const kernel = kernelOf({
          name: `bits_${from}_${to}`,
          space: [n],
          inputs: [{ type: from, elements: n }],
          outputs: [{ type: to, value: b.bitcast(to, b.load(from, 0, b.axis(0, n))) }],
        });
        await agree(device, kernel, [bytesOf(from, mixed(from, n, 4))]);
      }
    }
  }),
  check('constants of every kind arrive exactly', async (device) => {
    const values: [DType, number][] = [
      ...[
        Number.NaN,
        Infinity,
        -Infinity,
        -0,
        0,
        1e-40,
        -1e-45,
        3.4028234663852886e38,
        1 / 3,
        -2.5,
        1e20,
        16777217,
      ].map((v): [DType, number] => ['f32', v]),
      ...[-2147483648, 2147483647, 0, -1].map((v): [DType, number] => ['i32', v]),
      ...[4294967295, 0, 2147483648].map((v): [DType, number] => ['u32', v]),
      ['u8', 255],
      ['bool', 1],
      ['bool', 0],
    ];
    for (const [type, v] of values) {
      const b = new Exprs();
      const kernel = kernelOf({
        name: `const_${type}`,
        space: [5],
        inputs: [],
        outputs: [{ type, value: b.const(type, v) }],
      });
      await agree(device, kernel, [], {}, [], `constant ${v}`);
    }
  }),
  check('scalars of every type reach the kernel and may change between launches', async (device) => {
    const types = [...device.caps.dtypes];
    const b = new Exprs();
    const kernel = kernelOf({
      name: 'scalars',
      space: [6],
      inputs: [],
      scalars: types,
      outputs: types.map((type, slot) => ({ type, value: b.scalar(type, slot) })),
    });
    for (const v of [0, 1, 2.75, -3.5, 300, 1e10, Number.NaN, Infinity]) {
      await agree(
        device,
        kernel,
        [],
        {},
        types.map((_, i) => (i % 2 ? v : v + 1)),
        `scalar ${v}`,
      );
    }
  }),
  check('arithmetic that optimisers like to rewrite rounds step by step', async (device) => {
    const n = 600;
    const b = new Exprs();
    const [x, y] = [b.load('f32', 0, b.axis(0, n)), b.load('f32', 1, b.axis(0, n))];
    const c = (v: number): Expr => b.const('f32', v);
    const steps: Readonly<Record<string, Expr>> = {
      '(x + c) - c': b.raw('sub', [b.raw('add', [x, c(12582912)]), c(12582912)]),
      '(x * c) * d': b.raw('mul', [b.raw('mul', [x, c(1 / 3)]), c(3)]),
      '(x - y) + y': b.raw('add', [b.raw('sub', [x, y]), y]),
      '(x / y) * y': b.raw('mul', [b.raw('div', [x, y]), y]),
      'x * 0': b.raw('mul', [x, c(0)]),
      'x + 0': b.raw('add', [x, c(0)]),
      '0 - x': b.raw('sub', [c(0), x]),
      'x - x': b.raw('sub', [x, x]),
      'x / x': b.raw('div', [x, x]),
      'x / 3': b.raw('div', [x, c(3)]),
    };
    const values = (seed: number): number[] =>
      valuesOf(
        'f32',
        bytesOf(
          'f32',
          mixed('f32', n, seed).map((v) =>
            Math.abs(v) < 1e-20 ? v * 0 : Math.abs(v) > 1e15 && Number.isFinite(v) ? Math.sign(v) * 7 : v,
          ),
        ),
      );
    const [p, q] = [values(21), values(22)];
    for (const [name, value] of Object.entries(steps)) {
      const kernel = kernelOf({
        name: 'steps',
        space: [n],
        inputs: [
          { type: 'f32', elements: n },
          { type: 'f32', elements: n },
        ],
        outputs: [{ type: 'f32', value }],
      });
      const [got] = await runOn(device, kernel, [bytesOf('f32', p), bytesOf('f32', q)]);
      const want = p.map((v, i) => rounded(value, v, q[i]!));
      compare('f32', got!, bytesOf('f32', want), { flush: true }, name);
    }
  }),
);

/** The value with every step rounded to f32. */
function rounded(e: Expr, x: number, y: number): number {
  if (e.kind === 'const') return Number(e.value);
  if (e.kind === 'load') return e.slot === 0 ? x : y;
  assert(e.kind === 'alu', e.kind);
  const [a, b] = e.src.map((s) => rounded(s, x, y)) as [number, number];
  return Math.fround(meaning(e.op, 'f32')!(a, b, 0) as number);
}
