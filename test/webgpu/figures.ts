// Raw figures of the device, without the runtime above it: what issue and wait cost, what kernels reach.

import type { Device, DeviceBuffer, Program } from '../../src/devices/device.ts';
import { decompose } from '../../src/kernel/decompose/index.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { matmulOf } from './checks/products.ts';
import { addKernel } from './checks/runtime.ts';
import { Exprs, kernelOf, upload } from './support.ts';

export interface Figure {
  readonly name: string;
  readonly unit: 'µs' | 'ms';
  readonly median: number;
  readonly best: number;
}

async function measure(
  name: string,
  unit: 'µs' | 'ms',
  rounds: number,
  per: number,
  work: () => Promise<void>,
): Promise<Figure> {
  await work();
  await work();
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    await work();
    times.push(((performance.now() - start) / per) * (unit === 'µs' ? 1000 : 1));
  }
  times.sort((a, b) => a - b);
  return { name, unit, median: times[times.length >> 1]!, best: times[0]! };
}

/** One step of a 32³ × 64 field: decay, diffusion over six neighbours, hash noise, tanh. */
export function fieldKernel(): Kernel {
  const [d, channels] = [32, 64];
  const shape = [d, d, d, channels];
  const b = new Exprs();
  const axes = shape.map((n, i) => b.axis(i, n));
  const at = (index: readonly Expr[]): Expr =>
    index.reduce<Expr>((s, e, i) => b.alu('add', b.alu('mul', s, b.const('index', shape[i]!)), e), b.const('index', 0));
  const roll = (axis: number, s: number): Expr => {
    const moved = [...axes];
    const wrap = b.alu(
      'where',
      b.alu('lt', axes[axis]!, b.const('index', d - s)),
      b.const('index', s),
      b.const('index', s - d),
    );
    moved[axis] = b.alu('add', axes[axis]!, wrap);
    return b.load('f32', 0, at(moved));
  };
  const f = b.load('f32', 0, at(axes));
  const c = (v: number): Expr => b.const('f32', v);
  const u = (v: number): Expr => b.const('u32', v);
  let sum = b.alu('mul', f, c(-6));
  for (const axis of [0, 1, 2]) for (const s of [1, d - 1]) sum = b.alu('add', sum, roll(axis, s));
  // A hash of the position and the step makes noise in -0.5 … 0.5.
  let h = b.alu('add', b.cast('u32', at(axes)), b.scalar('u32', 0));
  for (const [shift, factor] of [
    [16, 0x7feb352d],
    [15, 0x846ca68b],
  ] as const) {
    h = b.alu('mul', b.alu('xor', h, b.alu('shr', h, u(shift))), u(factor));
  }
  const noise = b.alu('sub', b.alu('mul', b.cast('f32', b.alu('shr', h, u(8))), c(2 ** -24)), c(0.5));
  const value = b.alu(
    'add',
    b.alu('add', b.alu('mul', f, c(0.99)), b.alu('mul', sum, c(0.1))),
    b.alu('mul', noise, c(0.01)),
  );
  const n = d * d * d * channels;
  return kernelOf({
    name: 'field_step_32x32x32x64',
    space: shape,
    inputs: [{ type: 'f32', elements: n }],
    scalars: ['u32'],
    outputs: [{ type: 'f32', value: b.alu('tanh', value) }],
  });
}

export function chainKernel(n: number): Kernel {
  const b = new Exprs();
  const x = b.load('f32', 0, b.axis(0, n));
  const c = (v: number): Expr => b.const('f32', v);
  const inner = b.alu('sub', b.alu('mul', b.alu('add', b.alu('mul', x, c(0.99)), c(0.5)), x), c(0.1));
  return kernelOf({
    name: `chain_tanh_${n}`,
    space: [n],
    inputs: [{ type: 'f32', elements: n }],
    outputs: [{ type: 'f32', value: b.alu('tanh', inner) }],
  });
}

function sumKernel(n: number): Kernel {
  const b = new Exprs();
  return kernelOf({
    name: `sum_${n}`,
    space: [],
    reduced: [n],
    inputs: [{ type: 'f32', elements: n }],
    accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(0, n)) }],
    outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
  });
}

const noise = (n: number): Uint8Array => {
  const f = new Float32Array(n);
  for (let i = 0; i < n; i++) f[i] = Math.sin(i * 12.9898) * 0.5;
  return new Uint8Array(f.buffer);
};

/** GPUs idle at a fraction of their clocks: figures of the first tenths of a second are of another machine. */
async function leaveIdleClocks(device: Device): Promise<void> {
  const n = 2048;
  const [a, b, c] = [0, 1, 2].map(() => upload(device, noise(n * n))) as [DeviceBuffer, DeviceBuffer, DeviceBuffer];
  const program = device.prepare(matmulOf('f32', n, n, n));
  const start = performance.now();
  while (performance.now() - start < 1000) {
    for (let i = 0; i < 10; i++) device.launch(program, [a, b, c], []);
    await device.read(c, 0, 4);
  }
  for (const x of [a, b, c]) device.release(x);
}

export async function figures(device: Device, scale: 'full' | 'small', report: (f: Figure) => void): Promise<void> {
  const rounds = scale === 'full' ? 20 : 5;
  const native = device.caps.native;
  const steps = scale === 'full' ? 100 : 4;
  const out = { push: (...list: readonly Figure[]): void => list.forEach(report) };
  const sync = async (b: DeviceBuffer): Promise<void> => {
    await device.read(b, 0, 4);
  };
  const pair = (n: number): [DeviceBuffer, DeviceBuffer] => [upload(device, noise(n)), upload(device, noise(n))];
  const repeat =
    (program: Program, [x, y]: [DeviceBuffer, DeviceBuffer], times: number, scalars: readonly number[]) =>
    async () => {
      for (let i = 0; i < times; i++) device.launch(program, i % 2 ? [y, x] : [x, y], scalars);
      await sync(x);
    };

  if (scale === 'full') await leaveIdleClocks(device);
  const tiny = pair(64);
  out.push(
    await measure(
      'tiny op in a chain of 200, issued and done',
      'µs',
      rounds,
      200,
      repeat(device.prepare(addKernel(64)), tiny, 200, [1]),
    ),
  );

  const field = pair(32 ** 3 * 64);
  const recording = device.record!([
    { program: device.prepare(decompose(fieldKernel(), native)), buffers: [0, 1], scalars: [0] },
  ]);
  out.push(
    await measure(`field step 32³×64, recorded, ${steps} steps`, 'µs', scale === 'full' ? 10 : 2, steps, async () => {
      for (let i = 0; i < steps; i++) recording.replay(i % 2 ? [field[1], field[0]] : field, [i]);
      await sync(field[0]);
    }),
  );

  for (const n of scale === 'full' ? [256, 1024, 2048, 4096] : [256, 512]) {
    const [a, b] = pair(n * n);
    const c = device.allocate(n * n * 4);
    const program = device.prepare(matmulOf('f32', n, n, n));
    const times = scale === 'full' ? 20 : 2;
    out.push(
      await measure(`matmul ${n}² f32, mean of ${times}`, 'µs', scale === 'full' ? 7 : 3, times, async () => {
        for (let i = 0; i < times; i++) device.launch(program, [a, b, c], []);
        await sync(c);
      }),
    );
    for (const x of [a, b, c]) device.release(x);
  }

  const m4 = pair(4 << 20);
  out.push(
    await measure(
      `tanh((x*.99+.5)*x-.1), 4M, mean of ${steps}`,
      'µs',
      rounds,
      steps,
      repeat(device.prepare(decompose(chainKernel(4 << 20), native)), m4, steps, []),
    ),
  );
  out.push(
    await measure(
      'the same, launched and awaited once',
      'µs',
      rounds,
      1,
      repeat(device.prepare(decompose(chainKernel(4 << 20), native)), m4, 1, []),
    ),
  );
  const one = device.allocate(4);
  const sum = device.prepare(sumKernel(4 << 20));
  out.push(
    await measure('sum of 4M, mean of 20', 'µs', rounds, 20, async () => {
      for (let i = 0; i < 20; i++) device.launch(sum, [m4[0], one], []);
      await sync(one);
    }),
  );

  for (const mb of [10, 64]) {
    const n = (mb * 2 ** 20) / 4;
    const host = noise(n);
    const [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
    const plus = device.prepare(addKernel(n));
    out.push(
      await measure(`${mb} MB up, +0, down`, 'ms', scale === 'full' ? 15 : 4, 1, async () => {
        device.write(x, host);
        device.launch(plus, [x, y], [0]);
        await device.read(y);
      }),
      await measure(`${mb} MB up`, 'ms', scale === 'full' ? 15 : 4, 1, async () => {
        device.write(x, host);
        await sync(x);
      }),
      await measure(`${mb} MB down`, 'ms', scale === 'full' ? 15 : 4, 1, async () => {
        await device.read(y);
      }),
    );
    device.release(x);
    device.release(y);
  }
  out.push(await measure('read of 4 bytes', 'µs', rounds, 1, () => sync(one)));
}
