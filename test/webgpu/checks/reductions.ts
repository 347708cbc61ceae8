// Every accumulator on every dtype, over rows, columns, everything and mixtures, short and long.

import { byteSize, type DType, isFloat } from '../../../src/base/dtype.ts';
import { sizeOf } from '../../../src/base/shape.ts';
import type { Expr } from '../../../src/kernel/expr.ts';
import type { ReduceOp } from '../../../src/kernel/ops.ts';
import {
  agree,
  assert,
  bytesOf,
  type Check,
  check,
  Exprs,
  kernelOf,
  mixed,
  plain,
  position,
  runOn,
  type Tolerance,
  valuesOf,
} from '../support.ts';

interface Layout {
  readonly name: string;
  readonly space: readonly number[];
  readonly reduced: readonly number[];
  /** The input's position from the axes, in units of elements. */
  readonly at: (b: Exprs, axes: readonly Expr[]) => Expr;
}

const scaled = (b: Exprs, terms: readonly (readonly [Expr, number])[]): Expr =>
  terms.reduce<Expr>((sum, [e, k]) => b.alu('add', sum, b.alu('mul', e, b.const('index', k))), b.const('index', 0));

const rows = (m: number, n: number): Layout => ({
  name: `rows ${m}×${n}`,
  space: [m],
  reduced: [n],
  at: (b, [i, j]) =>
    scaled(b, [
      [i!, n],
      [j!, 1],
    ]),
});
const columns = (m: number, n: number): Layout => ({
  name: `columns ${m}×${n}`,
  space: [n],
  reduced: [m],
  at: (b, [j, i]) =>
    scaled(b, [
      [i!, n],
      [j!, 1],
    ]),
});
const everything = (n: number): Layout => ({ name: `all of ${n}`, space: [], reduced: [n], at: (_, [i]) => i! });
const middle = (a: number, m: number, c: number): Layout => ({
  name: `middle of ${a}×${m}×${c}`,
  space: [a, c],
  reduced: [m],
  at: (b, [i, k, j]) =>
    scaled(b, [
      [i!, m * c],
      [j!, c],
      [k!, 1],
    ]),
});
const outerAndInner = (a: number, m: number, c: number): Layout => ({
  name: `outer and inner of ${a}×${m}×${c}`,
  space: [m],
  reduced: [a, c],
  at: (b, [j, i, k]) =>
    scaled(b, [
      [i!, m * c],
      [j!, c],
      [k!, 1],
    ]),
});

const layouts: readonly Layout[] = [
  rows(3, 5),
  rows(7, 64),
  rows(2, 1030),
  rows(300, 12),
  columns(5, 3),
  columns(64, 8),
  columns(33, 130),
  everything(1),
  everything(1000),
  everything(40_003),
  middle(3, 9, 8),
  middle(2, 300, 5),
  outerAndInner(4, 5, 12),
];

const ops: Readonly<Record<ReduceOp, readonly DType[]>> = {
  sum: ['f32', 'i32', 'u32', 'u8'],
  prod: ['f32', 'i32', 'u32', 'u8'],
  max: ['f32', 'i32', 'u32', 'u8', 'f16'],
  min: ['f32', 'i32', 'u32', 'u8', 'f16'],
  any: ['bool'],
  all: ['bool'],
  argmax: ['f32', 'i32', 'u32', 'u8', 'f16', 'bool'],
  argmin: ['f32', 'i32', 'u32', 'u8', 'f16', 'bool'],
};

/** Checks of the same code as another one: of whole numbers only the order knows the sign, and the least is found as the largest is. */
const alike: Readonly<Partial<Record<ReduceOp, readonly DType[]>>> = {
  sum: ['u32'],
  prod: ['u32'],
  min: ['i32', 'u8'],
  argmin: ['i32', 'u8', 'bool'],
};

export const reductions: Check[] = [];

const isArg = (op: ReduceOp): boolean => op === 'argmax' || op === 'argmin';

function dataFor(op: ReduceOp, type: DType, n: number, specials: boolean): number[] {
  // Powers of two that cancel: the product is exact in any order.
  if (op === 'prod' && isFloat(type)) return plain(type, n, 7).map((v, i) => Math.sign(v) * [2, 0.5, 1][i % 3]!);
  if (op === 'sum' && isFloat(type)) return plain(type, n, 8);
  if (op === 'all') return plain('bool', n, 9).map((v, i) => (i % 37 === 5 ? v : 1));
  if (op === 'any') return plain('bool', n, 9).map((v, i) => (i % 37 === 5 ? v : 0));
  return specials ? mixed(type, n, 10, 0.1) : plain(type, n, 11);
}

for (const [op, types] of Object.entries(ops) as [ReduceOp, readonly DType[]][]) {
  for (const type of types) {
    reductions.push(
      check(
        `${op} of ${type}`,
        async (device) => {
          for (const layout of layouts) {
            for (const specials of isFloat(type) && op !== 'sum' && op !== 'prod' ? [false, true] : [false]) {
              const { space, reduced } = layout;
              const n = sizeOf([...space, ...reduced]);
              const b = new Exprs();
              const axes = [...space, ...reduced].map((size, i) => b.axis(i, size));
              const out = isArg(op) ? 'i32' : type;
              const kernel = kernelOf({
                name: `${op}_${type}`,
                space,
                reduced,
                inputs: [{ type, elements: n }],
                accumulators: [{ op, type, value: b.load(type, 0, layout.at(b, axes)) }],
                outputs: [{ type: out, value: b.acc(out, 0) }],
              });
              const tolerance: Tolerance = isFloat(type) && op === 'sum' ? { relative: 3e-6 } : {};
              await agree(
                device,
                kernel,
                [bytesOf(type, dataFor(op, type, n, specials))],
                tolerance,
                [],
                `${op} of ${type}, ${layout.name}`,
              );
            }
          }
        },
        type,
        alike[op]?.includes(type),
      ),
    );
  }
}

reductions.push(
  check(
    'several accumulators and outputs share one reduction, with an epilogue that reads other inputs',
    async (device) => {
      for (const [m, n] of [
        [5, 12],
        [3, 2000],
        [64, 7],
      ] as const) {
        const b = new Exprs();
        const [i, j] = [b.axis(0, m), b.axis(1, n)];
        const x = b.load(
          'f32',
          0,
          scaled(b, [
            [i, n],
            [j, 1],
          ]),
        );
        const kernel = kernelOf({
          name: 'stats',
          space: [m],
          reduced: [n],
          inputs: [
            { type: 'f32', elements: m * n },
            { type: 'f32', elements: m },
          ],
          scalars: ['f32'],
          accumulators: [
            { op: 'sum', type: 'f32', value: x },
            { op: 'max', type: 'f32', value: b.alu('mul', x, b.load('f32', 1, i)) },
            { op: 'argmin', type: 'f32', value: x },
            { op: 'any', type: 'bool', value: b.alu('lt', x, b.scalar('f32', 0)) },
          ],
          outputs: [
            {
              type: 'f32',
              value: b.alu('add', b.alu('mul', b.acc('f32', 0), b.const('f32', 0.5)), b.load('f32', 1, i)),
            },
            { type: 'f32', value: b.alu('add', b.acc('f32', 1), b.cast('f32', b.acc('i32', 2))) },
            { type: 'bool', value: b.alu('and', b.acc('bool', 3), b.alu('lt', b.acc('f32', 0), b.const('f32', 100))) },
          ],
        });
        const inputs = [bytesOf('f32', plain('f32', m * n, 1)), bytesOf('f32', plain('f32', m, 2))];
        await agree(device, kernel, inputs, { relative: 1e-5 }, [-0.9], `${m}×${n}`);
      }
    },
  ),
  check('boolean outputs of reductions of every length fill their bytes and no others', async (device) => {
    for (const m of [1, 2, 3, 5, 8, 131]) {
      for (const n of [1, 3, 16, 700]) {
        const b = new Exprs();
        const x = b.load(
          'f32',
          0,
          scaled(b, [
            [b.axis(0, m), n],
            [b.axis(1, n), 1],
          ]),
        );
        const kernel = kernelOf({
          name: 'any_above',
          space: [m],
          reduced: [n],
          inputs: [{ type: 'f32', elements: m * n }],
          accumulators: [{ op: 'max', type: 'f32', value: x }],
          outputs: [{ type: 'bool', value: b.alu('lt', b.const('f32', 0.5), b.acc('f32', 0)) }],
        });
        await agree(device, kernel, [bytesOf('f32', plain('f32', m * n, m))], {}, [], `${m}×${n}`);
      }
    }
  }),
  check('reductions whose rows are gathered, gated or computed agree', async (device) => {
    const [m, n] = [6, 20];
    const b = new Exprs();
    const [i, j] = [b.axis(0, m), b.axis(1, n)];
    const row = b.cast('index', b.load('i32', 1, i));
    const looked = b.load(
      'f32',
      0,
      scaled(b, [
        [row, n],
        [j, 1],
      ]),
    );
    const gated = b.load(
      'f32',
      0,
      scaled(b, [
        [i, n],
        [j, 1],
      ]),
      b.alu('lt', j, b.const('index', 13)),
    );
    const kernel = kernelOf({
      name: 'gathered',
      space: [m],
      reduced: [n],
      inputs: [
        { type: 'f32', elements: m * n },
        { type: 'i32', elements: m },
      ],
      accumulators: [
        { op: 'sum', type: 'f32', value: b.alu('add', looked, gated) },
        { op: 'max', type: 'i32', value: b.alu('mul', b.cast('i32', j), b.cast('i32', i)) },
      ],
      outputs: [
        { type: 'f32', value: b.acc('f32', 0) },
        { type: 'i32', value: b.acc('i32', 1) },
      ],
    });
    await agree(device, kernel, [bytesOf('f32', plain('f32', m * n, 1)), bytesOf('i32', [5, 0, 3, 3, 1, 2])], {
      relative: 1e-6,
    });
  }),
  check('long f32 sums keep their accuracy and give the same bits every time', async (device) => {
    const n = 4_000_000;
    const data = new Float32Array(n);
    let want = 0;
    for (let i = 0; i < n; i++) {
      data[i] = Math.fround(0.1 + (i % 7) * 1e-3);
      want += data[i]!;
    }
    const b = new Exprs();
    const kernel = kernelOf({
      name: 'sum_f32_long',
      space: [],
      reduced: [n],
      inputs: [{ type: 'f32', elements: n }],
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(0, n)) }],
      outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
    });
    const bytes = new Uint8Array(data.buffer);
    const [first] = await runOn(device, kernel, [bytes]);
    const [again] = await runOn(device, kernel, [bytes]);
    const got = valuesOf('f32', first!)[0]!;
    assert(Math.abs(got - want) / want < 1e-6, `sum is ${got} instead of ${want}`);
    assert(valuesOf('f32', again!)[0] === got, 'the second sum differs from the first');
    assert(byteSize('f32') === 4 && first!.length === 4, 'one element');
  }),
  check('an epilogue may overwrite an input it reads at its own position', async (device) => {
    const [m, n] = [40, 16];
    const b = new Exprs();
    const [i, j] = [b.axis(0, m), b.axis(1, n)];
    const kernel = kernelOf({
      name: 'sum_into',
      space: [m],
      reduced: [n],
      inputs: [
        { type: 'f32', elements: m * n },
        { type: 'f32', elements: m },
      ],
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, position(b, [m, n])) }],
      outputs: [{ type: 'f32', value: b.alu('add', b.acc('f32', 0), b.load('f32', 1, i)) }],
      inPlace: [1],
    });
    assert(j.kind === 'axis', 'axis');
    const x = device.allocate(m * n * 4);
    const y = device.allocate(m * 4);
    device.write(
      x,
      bytesOf(
        'f32',
        Array.from({ length: m * n }, (_, k) => k % 5),
      ),
    );
    device.write(
      y,
      bytesOf(
        'f32',
        Array.from({ length: m }, (_, k) => k),
      ),
    );
    device.launch(device.prepare(kernel), [x, y, y], []);
    const got = valuesOf('f32', await device.read(y));
    for (let r = 0; r < m; r++) {
      let want = r;
      for (let c = 0; c < n; c++) want += (r * n + c) % 5;
      assert(got[r] === want, `row ${r} is ${got[r]} instead of ${want}`);
    }
    device.release(x);
    device.release(y);
  }),
);
