// Stacks of rows over types and the lengths that choose each layout, for ptxas and for the GPU.

import type { DType } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import type { Capabilities } from '../../src/devices/device.ts';
import { decompose } from '../../src/kernel/decompose/index.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import type { Kernel, Rows } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from './build.ts';
import type { RoutineCase } from './routines.ts';

interface Size {
  readonly space: readonly number[];
  readonly reduced: readonly number[];
}

/** exp(x - max) / sum of them: three stages, of which the first two are not stored. */
function softmax(type: DType, { space, reduced }: Size): RoutineCase {
  const all = [...space, ...reduced];
  const acc: DType = type === 'f64' ? 'f64' : 'f32';
  const most = new KernelBuilder(space, reduced);
  most.output(most.reduce('max', most.whole(type)));
  const shifted = (k: KernelBuilder): Expr => {
    const x = k.whole(type);
    const m = k.at(k.input(type, sizeOf(space)), k.flat(space));
    return k.op('exp', k.op('sub', k.b.cast(acc, x), k.b.cast(acc, m)));
  };
  const sum = new KernelBuilder(space, reduced);
  sum.output(sum.reduce('sum', shifted(sum)));
  const divide = new KernelBuilder(all);
  const e = shifted(divide);
  divide.output(
    divide.b.cast(type, divide.op('div', e, divide.at(divide.input(acc, sizeOf(space)), divide.flat(space)))),
  );
  return stack(
    `softmax_${type}_${all.join('x')}`,
    [
      { kernel: most.done('most'), sources: [{ buffer: 0 }], stored: [-1] },
      { kernel: sum.done('sum'), sources: [{ buffer: 0 }, { result: 0 }], stored: [-1] },
      { kernel: divide.done('divide'), sources: [{ buffer: 0 }, { result: 0 }, { result: 1 }], stored: [1] },
    ],
    type === 'f64' ? 1e-12 : type === 'f32' ? 1e-5 : 2e-2,
  );
}

/** (x - mean) · scale by column + a scalar, with the mean stored and two sums at once. */
function centred(type: DType, { space, reduced }: Size): RoutineCase {
  const all = [...space, ...reduced];
  const [rows, columns] = [sizeOf(space), sizeOf(reduced)];
  const mean = new KernelBuilder(space, reduced);
  const x = mean.whole(type);
  mean.output(mean.op('div', mean.reduce('sum', x), mean.b.const(type, columns)));
  mean.output(mean.reduce('argmax', x));
  const last = new KernelBuilder(all);
  const [own, m] = [last.whole(type), last.at(last.input(type, rows), last.flat(space))];
  const at = last.input('i32', rows);
  const here = last.b.cast(type, last.at(at, last.flat(space)));
  const column = reduced.length === 1 ? last.axis(all.length - 1) : last.index(0);
  const scale = last.at(last.input(type, columns), column);
  last.output(last.op('add', last.op('mul', last.op('sub', own, m), scale), last.op('add', here, last.scalar(type))));
  return {
    ...stack(
      `centred_${type}_${all.join('x')}`,
      [
        { kernel: mean.done('mean'), sources: [{ buffer: 0 }], stored: [2, -1] },
        {
          kernel: last.done('last'),
          sources: [{ buffer: 0 }, { result: 0 }, { result: 1 }, { buffer: 1 }],
          stored: [3],
        },
      ],
      type === 'f64' ? 1e-11 : 1e-4,
    ),
    scalars: [1.5],
  };
}

/** A stack that ends with a reduction: the sum of squares around the mean, and whether any is above it. */
function spread(type: DType, { space, reduced }: Size, own: Operand = (k) => k.whole(type)): RoutineCase {
  const mean = new KernelBuilder(space, reduced);
  mean.output(mean.op('div', mean.reduce('sum', own(mean)), mean.b.const(type, sizeOf(reduced))));
  const squares = new KernelBuilder(space, reduced);
  const d = squares.op('sub', own(squares), squares.at(squares.input(type, sizeOf(space)), squares.flat(space)));
  squares.output(squares.reduce('sum', squares.op('mul', d, d)));
  squares.output(squares.reduce('any', squares.op('lt', squares.b.const(type, 0), d)));
  return stack(
    `spread_${type}_${[...space, ...reduced].join('x')}`,
    [
      { kernel: mean.done('mean'), sources: [{ buffer: 0 }], stored: [-1] },
      { kernel: squares.done('squares'), sources: [{ buffer: 0 }, { result: 0 }], stored: [1, 2] },
    ],
    type === 'f64' ? 1e-11 : 1e-4,
  );
}

type Operand = (k: KernelBuilder) => Expr;

/** Rows that lie side by side: [outer, row, inner], reduced along the middle. */
function sideBySide(type: DType, outer: number, length: number, inner: number): RoutineCase {
  const size: Size = { space: [outer, inner], reduced: [length] };
  const made = spread(type, size, (k) => {
    const at = (axis: number, stride: number): Expr => k.op('mul', k.axis(axis), k.index(stride));
    const index = k.op('add', k.op('add', at(0, length * inner), at(2, inner)), k.axis(1));
    return k.at(k.input(type, outer * length * inner), index);
  });
  return { ...made, routine: { ...made.routine, name: `${made.routine.name}_beside` } };
}

type Stages = readonly Pick<Rows['stages'][number], 'kernel' | 'sources' | 'stored'>[];

function stack(name: string, stages: Stages, tolerance: number): RoutineCase {
  const params = new Map<number, { type: DType; elements: number }>();
  let scalars = 0;
  const made = stages.map(({ kernel, sources, stored }) => {
    sources.forEach((s, k) => {
      if ('buffer' in s) params.set(s.buffer, kernel.inputs[k]!);
    });
    stored.forEach((b, k) => {
      if (b >= 0) params.set(b, { type: kernel.outputs[k]!.type, elements: sizeOf(kernel.space) });
    });
    const first = scalars;
    scalars += kernel.scalars.length;
    return { kernel, sources, stored, scalars: kernel.scalars.map((_, k) => first + k) };
  });
  const buffers = [...params].sort(([a], [b]) => a - b).map(([, p]) => p);
  const outputs = stages.reduce((n, s) => n + s.stored.filter((b) => b >= 0).length, 0);
  const [first] = stages;
  const routine: Rows = {
    kind: 'routine',
    op: 'rows',
    name,
    rows: sizeOf(first!.kernel.space),
    columns: sizeOf(first!.kernel.reduced),
    stages: made,
    inputs: buffers.slice(0, buffers.length - outputs),
    outputs: buffers.slice(buffers.length - outputs),
    scalars: stages.flatMap((s) => s.kernel.scalars),
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  return { routine, buffers, outputs, tolerance, mild: true };
}

/** What the device is given: functions it lacks are written out. */
export function decomposed(routine: Rows, native: Capabilities['native']): Rows {
  const lower = (kernel: Kernel): Kernel => decompose(kernel, native);
  return { ...routine, stages: routine.stages.map((s) => ({ ...s, kernel: lower(s.kernel) })) };
}

export function rowsCases(): RoutineCase[] {
  const sizes: Size[] = [
    { space: [130], reduced: [64] },
    { space: [131], reduced: [100] },
    // So many that parts of a warp take them where there is one multiprocessor.
    { space: [601], reduced: [64] },
    { space: [600], reduced: [200] },
    { space: [303], reduced: [37] },
    { space: [5, 29], reduced: [512] },
    { space: [128], reduced: [1000] },
    { space: [140], reduced: [1024] },
    { space: [128], reduced: [37, 31] },
    { space: [128], reduced: [4096] },
    { space: [129], reduced: [4099] },
    { space: [128], reduced: [12_000] },
  ];
  const beside = [
    [3, 64, 100],
    [2, 1000, 65],
    [5, 2048, 32],
    [130, 70, 1],
  ] as const;
  const turned = beside.flatMap(([o, l, n]) => (['f32', 'f64', 'bf16'] as const).map((t) => sideBySide(t, o, l, n)));
  const plain = sizes.flatMap((size) => [
    softmax('f32', size),
    softmax('bf16', size),
    softmax('f16', size),
    centred('f32', size),
    spread('f32', size),
    ...(sizeOf(size.reduced) <= 8000 ? [softmax('f64', size), spread('f64', size)] : []),
  ]);
  // So long that each thread holds a hundred elements.
  const long: RoutineCase[] = [
    softmax('f32', { space: [129], reduced: [50_257] }),
    softmax('bf16', { space: [128], reduced: [32_000] }),
    spread('f32', { space: [128], reduced: [20_003] }),
    softmax('f64', { space: [128], reduced: [16_000] }),
  ];
  return [...plain, ...turned, ...long];
}
