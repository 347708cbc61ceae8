// Index forms as the planner leaves them: broadcast, roll, pad, concat, flip, slices, transposes, reshapes and gathers,
// for elements and for packed bytes, with inner sizes that allow groups of four and that do not.

import type { DType } from '../../../src/base/dtype.ts';
import { sizeOf } from '../../../src/base/shape.ts';
import type { Expr } from '../../../src/kernel/expr.ts';
import { agree, bytesOf, type Check, check, Exprs, kernelOf, mixed, position } from '../support.ts';

type Index = (b: Exprs, axes: readonly Expr[], shape: readonly number[]) => { readonly at: Expr; readonly gate?: Expr };

const num = (b: Exprs, n: number): Expr => b.const('index', n);
const plus = (b: Exprs, x: Expr, y: Expr): Expr => b.alu('add', x, y);
const times = (b: Exprs, x: Expr, k: number): Expr => b.alu('mul', x, num(b, k));

const rolled = (b: Exprs, i: Expr, n: number, s: number): Expr =>
  plus(b, i, b.alu('where', b.alu('lt', i, num(b, n - s)), num(b, s), num(b, s - n)));

/** name → the position read for the output's axes [m, n]. */
const forms: Readonly<Record<string, Index>> = {
  identity: (b, [i, j], [, n]) => ({ at: plus(b, times(b, i!, n!), j!) }),
  'broadcast of a row': (_, [, j]) => ({ at: j! }),
  'broadcast of a column': (_, [i]) => ({ at: i! }),
  'broadcast of one element': (b) => ({ at: num(b, 2) }),
  transpose: (b, [i, j], [m]) => ({ at: plus(b, times(b, j!, m!), i!) }),
  'flip of columns': (b, [i, j], [, n]) => ({ at: plus(b, times(b, i!, n!), b.alu('sub', num(b, n! - 1), j!)) }),
  'roll of columns by 1': (b, [i, j], [, n]) => ({ at: plus(b, times(b, i!, n!), rolled(b, j!, n!, 1)) }),
  'roll of columns by 4': (b, [i, j], [, n]) => ({
    at: plus(b, times(b, i!, n!), rolled(b, j!, n!, Math.min(4, n! - 1))),
  }),
  'roll of rows': (b, [i, j], [m, n]) => ({ at: plus(b, times(b, rolled(b, i!, m!, 1), n!), j!) }),
  'pad of columns': (b, [i, j], [, n]) => ({
    at: plus(b, times(b, i!, n!), b.alu('sub', j!, num(b, 1))),
    gate: b.alu('and', b.alu('le', num(b, 1), j!), b.alu('lt', j!, num(b, n! - 1))),
  }),
  'pad of rows': (b, [i, j], [m, n]) => ({
    at: plus(b, times(b, b.alu('sub', i!, num(b, 1)), n!), j!),
    gate: b.alu('and', b.alu('le', num(b, 1), i!), b.alu('lt', i!, num(b, m! - 1))),
  }),
  'every second column': (b, [i, j], [, n]) => ({
    at: b.alu('idiv', plus(b, times(b, i!, n!), times(b, j!, 1)), num(b, 2)),
  }),
  'reshape that leaves div and mod': (b, [i, j], [m, n]) => {
    const linear = plus(b, times(b, i!, n!), j!);
    return { at: plus(b, times(b, b.alu('imod', linear, num(b, m!)), n!), b.alu('idiv', linear, num(b, m!))) };
  },
  'gather of rows': (b, [i, j], [, n]) => ({ at: plus(b, times(b, b.cast('index', b.load('i32', 1, i!)), n!), j!) }),
  'gather of columns': (b, [i, j], [, n]) => ({ at: plus(b, times(b, i!, n!), b.cast('index', b.load('i32', 2, j!))) }),
};

const shapes: readonly (readonly [number, number])[] = [
  [6, 8],
  [5, 7],
  [3, 64],
  [9, 1],
  [1, 9],
  [64, 33],
];

export const movement: Check[] = [];

for (const type of ['f32', 'i32', 'u8', 'bool', 'f16'] as const) {
  for (const [name, form] of Object.entries(forms)) {
    movement.push(
      check(
        `${name}, ${type}`,
        async (device) => {
          for (const [m, n] of shapes) {
            const b = new Exprs();
            const axes = [b.axis(0, m), b.axis(1, n)];
            const { at, gate } = form(b, axes, [m, n]);
            const elements = Math.max(m * n, 8);
            const moved = b.load(type, 0, at, gate ?? null);
            const own = b.load(type, 0, position(b, [m, n]));
            const kernel = kernelOf({
              name: `${name.replaceAll(' ', '_')}_${type}`,
              space: [m, n],
              inputs: [
                { type, elements },
                { type: 'i32', elements: m },
                { type: 'i32', elements: n },
              ],
              outputs: [
                { type, value: moved },
                { type: 'bool', value: b.alu('le', b.cast('f32', moved), b.cast('f32', own)) },
              ],
            });
            const inputs = [
              bytesOf(type, mixed(type, elements, m * n)),
              bytesOf(
                'i32',
                Array.from({ length: m }, (_, i) => (i * 7 + 3) % m),
              ),
              bytesOf(
                'i32',
                Array.from({ length: n }, (_, i) => (i * 5 + 2) % n),
              ),
            ];
            await agree(device, kernel, inputs, {}, [], `${name} ${m}×${n}`);
          }
        },
        type,
      ),
    );
  }
}

movement.push(
  check(
    'axes collapsed by the planner keep vector loads right: roll by a multiple of four over one long axis',
    async (device) => {
      for (const [n, s] of [
        [2048, 64],
        [2048, 2044],
        [100, 4],
        [100, 3],
        [64, 60],
      ] as const) {
        const b = new Exprs();
        const i = b.axis(0, n);
        const kernel = kernelOf({
          name: 'roll_long',
          space: [n],
          inputs: [{ type: 'f32', elements: n }],
          outputs: [{ type: 'f32', value: b.alu('sub', b.load('f32', 0, rolled(b, i, n, s)), b.load('f32', 0, i)) }],
        });
        await agree(
          device,
          kernel,
          [
            bytesOf(
              'f32',
              Array.from({ length: n }, (_, k) => k * k),
            ),
          ],
          {},
          [],
          `roll ${n} by ${s}`,
        );
      }
    },
  ),
  check('concat of three parts reads each part behind its own gate', async (device) => {
    const [a, c, d] = [5, 8, 4];
    const n = a + c + d;
    for (const type of ['f32', 'u8'] as const satisfies readonly DType[]) {
      const b = new Exprs();
      const i = b.axis(0, n);
      const inFirst = b.alu('lt', i, num(b, a));
      const beforeThird = b.alu('lt', i, num(b, a + c));
      const first = b.load(type, 0, i, inFirst);
      const second = b.load(type, 1, b.alu('sub', i, num(b, a)), b.alu('and', b.alu('not', inFirst), beforeThird));
      const third = b.load(type, 2, b.alu('sub', i, num(b, a + c)), b.alu('not', beforeThird));
      const kernel = kernelOf({
        name: `concat_${type}`,
        space: [n],
        inputs: [a, c, d].map((elements) => ({ type, elements })),
        outputs: [{ type, value: b.alu('where', inFirst, first, b.alu('where', beforeThird, second, third)) }],
      });
      await agree(
        device,
        kernel,
        [a, c, d].map((k) => bytesOf(type, mixed(type, k, k))),
      );
    }
  }),
  check('rank five with odd sizes', async (device) => {
    const shape = [2, 3, 1, 5, 3];
    const b = new Exprs();
    const axes = shape.map((n, i) => b.axis(i, n));
    const swapped = [4, 3, 2, 1, 0].reduce<Expr>((sum, ax) => plus(b, times(b, sum, shape[ax]!), axes[ax]!), num(b, 0));
    const n = sizeOf(shape);
    const kernel = kernelOf({
      name: 'reverse_axes',
      space: shape,
      inputs: [{ type: 'f32', elements: n }],
      outputs: [
        { type: 'f32', value: b.load('f32', 0, swapped) },
        { type: 'u8', value: b.cast('u8', b.load('f32', 0, swapped)) },
      ],
    });
    await agree(device, kernel, [
      bytesOf(
        'f32',
        Array.from({ length: n }, (_, k) => k),
      ),
    ]);
  }),
);
