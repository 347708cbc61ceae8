// Work in which something is empty, on every device that runs here: nothing may be launched for it, or read past a buffer.

import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { MockCuda } from '../../test/support/cuda-mock.ts';
import type { DType } from '../base/dtype.ts';
import { ArgumentError } from '../errors.ts';
import { bindingsOf } from '../kernel/bindings.ts';
import { Exprs } from '../kernel/expr.ts';
import type { Kernel, Matmul, Routine, Scan, Scatter, Sort } from '../kernel/kernel.ts';
import { createCpuDevice } from './cpu/device.ts';
import { openCudaDevices } from './cuda/discover.ts';
import type { Device } from './device.ts';
import { needsOf } from './fit.ts';
import { createReferenceDevice } from './reference/device.ts';

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
const matmul = (m: number, k: number, n: number, extra: Partial<Matmul> = {}): Matmul => ({
  kind: 'routine',
  op: 'matmul',
  name: `matmul_${m}x${k}x${n}`,
  type: 'f32',
  batch: 1,
  // As the graph divides sizes: an operand without elements has no batch count.
  batchA: m * k === 0 ? Number.NaN : 1,
  batchB: k * n === 0 ? Number.NaN : 1,
  m,
  n,
  k,
  transposeA: false,
  transposeB: false,
  precision: 'exact',
  epilogue: null,
  estimate,
  ...extra,
});
const sort = (rows: number, columns: number): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: `sort_${rows}x${columns}`,
  type: 'f32',
  rows,
  columns,
  descending: false,
  estimate,
});
const scan = (outer: number, length: number, inner: number): Scan => ({
  kind: 'routine',
  op: 'scan',
  name: `scan_${outer}x${length}x${inner}`,
  type: 'f32',
  combine: 'sum',
  outer,
  length,
  inner,
  reverse: false,
  estimate,
});
const scatter = (outer: number, length: number, inner: number, count: number): Scatter => ({
  kind: 'routine',
  op: 'scatter',
  name: `scatter_${outer}x${length}x${inner}_${count}`,
  type: 'f32',
  combine: 'sum',
  outer,
  length,
  inner,
  count,
  perElement: false,
  clips: false,
  uniform: false,
  estimate,
});

function reduction(space: number[], reduced: number[], op: 'sum' | 'prod' | 'max' | 'any', type: DType): Kernel {
  const b = new Exprs();
  const elements = [...space, ...reduced].reduce((n, d) => n * d, 1);
  const position = [...space, ...reduced].reduce(
    (at, size, i) => b.alu('add', b.alu('mul', at, b.const('index', size)), b.axis(i, size)),
    b.const('index', 0) as ReturnType<Exprs['alu']>,
  );
  return {
    kind: 'kernel',
    name: `${op}_${type}_${space.join('x')}_${reduced.join('x')}`,
    space,
    reduced,
    accumulators: [{ op, type, value: b.load(type, 0, position) }],
    outputs: [{ type, value: b.acc(type, 0) }],
    inputs: [{ type, elements }],
    scalars: [],
    inPlace: [],
    estimate,
  };
}

function copy(n: number): Kernel {
  const k = new KernelBuilder([n]);
  k.output(k.op('neg', k.whole('f32')));
  return k.done(`neg_${n}`);
}

const afterwards: Matmul['epilogue'] = (() => {
  const x = new Exprs();
  const value = x.alu('add', x.acc('f32', 0), x.load('f32', 0, x.axis(2, 3)));
  return { inputs: [{ type: 'f32', elements: 3 }], scalars: [], output: { type: 'f32', value } };
})();

/** Work that writes nothing. */
const silent: readonly (Kernel | Routine)[] = [
  copy(0),
  reduction([0], [5], 'sum', 'f32'),
  reduction([0, 3], [4], 'max', 'i64'),
  matmul(0, 3, 4),
  matmul(2, 3, 0),
  matmul(2, 3, 4, { batch: 0, batchA: 0, batchB: 0 }),
  matmul(0, 0, 0),
  sort(0, 5),
  sort(5, 0),
  sort(Number.NaN, 0),
  scan(0, 4, 2),
  scan(3, 0, 2),
  scan(Number.NaN, 4, 0),
  scatter(2, 0, 3, 0),
  scatter(0, 3, 2, 4),
];

/** Work with an empty operand and a result all the same: the first element of the result, the inputs all being 7. */
const filled: readonly (readonly [Kernel | Routine, number])[] = [
  [reduction([4], [0], 'sum', 'f32'), 0],
  [reduction([4], [3, 0], 'prod', 'f32'), 1],
  [reduction([4], [0, 2], 'max', 'f32'), Number.NEGATIVE_INFINITY],
  [matmul(2, 0, 3), 0],
  [matmul(2, 0, 3, { batch: 70_000 }), 0],
  [matmul(20, 0, 300, { type: 'f32', transposeB: true }), 0],
  [scatter(2, 3, 2, 0), 7],
];

function bind(device: Device, work: Kernel | Routine) {
  const { inputs, outputs } = bindingsOf(work);
  const buffers = needsOf(work).map((bytes, i) => {
    const b = device.allocate(bytes);
    const type = [...inputs, ...outputs][i]!.type;
    const fill = i >= inputs.length || type === 'i32' ? 0 : 7;
    device.write(b, new Uint8Array(new Float32Array(Math.ceil(bytes / 4)).fill(fill).buffer, 0, bytes));
    return b;
  });
  return { buffers, output: buffers[inputs.length]! };
}

const devices = { reference: async () => createReferenceDevice(), cpu: () => createCpuDevice() };

describe.each(Object.entries(devices))('empty work on %s', (_, open) => {
  it.each(silent.map((w) => [w.name, w] as const))('%s does nothing', async (_name, work) => {
    const device = await open();
    const { buffers, output } = bind(device, work);
    device.launch(device.prepare(work), buffers, []);
    expect((await device.read(output)).length).toBe(0);
    await device.close();
  });

  it.each(filled.map(([w, first]) => [w.name, w, first] as const))(
    '%s fills its result',
    async (_name, work, first) => {
      const device = await open();
      const { buffers, output } = bind(device, work);
      device.launch(device.prepare(work), buffers, []);
      const bytes = await device.read(output);
      const got = new Float32Array(bytes.slice().buffer);
      expect(got.length).toBeGreaterThan(0);
      expect([...new Set(got)]).toEqual([first]);
      await device.close();
    },
  );

  it('refuses a buffer that is too small, before anything runs', async () => {
    const device = await open();
    const work = matmul(2, 1, 3);
    const buffers = needsOf(work).map((bytes, i) => device.allocate(i === 0 ? 0 : bytes));
    expect(() => device.launch(device.prepare(work), buffers, [])).toThrow(ArgumentError);
    await device.close();
  });
});

describe('empty work on CUDA, over a recording driver', () => {
  async function open(): Promise<{ ffi: MockCuda; device: Device }> {
    const ffi = new MockCuda();
    ffi.libraries.push('libcublasLt');
    const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
    const { devices: found } = await openCudaDevices({ ffi, host, cacheDir: false });
    return { ffi, device: found[0]! };
  }
  const launches = ['cuLaunchKernel', 'cuGraphLaunch', 'cublasLtMatmul'];

  it.each(silent.map((w) => [w.name, w] as const))('%s launches nothing', async (_name, work) => {
    const { ffi, device } = await open();
    const { buffers } = bind(device, work);
    const program = device.prepare(work);
    device.launch(program, buffers, []);
    const steps = [{ program, buffers: buffers.map((_, i) => i), scalars: [] }];
    device.record!(steps).replay(buffers, []);
    expect(ffi.names().filter((n) => launches.includes(n))).toEqual([]);
  });

  it.each([
    ...filled.map(([w]) => [w.name, w] as const),
    ['an epilogue', matmul(2, 0, 3, { epilogue: afterwards })] as const,
  ])('%s launches one kernel that reads no empty operand', async (_name, work) => {
    const { ffi, device } = await open();
    const { buffers } = bind(device, work);
    const program = device.prepare(work);
    device.launch(program, buffers, []);
    const made = ffi.calls.filter((c) => launches.includes(c.name));
    expect(made.map((c) => c.name)).toEqual(['cuLaunchKernel']);
    for (const extent of made[0]!.args.slice(1, 7)) expect(extent).toBeGreaterThan(0);
    const reads = bindingsOf(work).inputs.filter((p) => p.elements > 0).length;
    expect(/ld\.global/.test(program.source)).toBe(reads > 0);
  });

  it('refuses a buffer that is too small before the driver hears of it, in recordings too', async () => {
    const { ffi, device } = await open();
    const work = matmul(2, 1, 3);
    const buffers = needsOf(work).map((bytes, i) => device.allocate(i === 0 ? 0 : bytes));
    const program = device.prepare(work);
    ffi.calls.length = 0;
    expect(() => device.launch(program, buffers, [])).toThrow(/buffer 0 has 0 bytes, needs 8/);
    const recording = device.record!([{ program, buffers: [0, 1, 2], scalars: [] }]);
    expect(() => recording.replay(buffers, [])).toThrow(ArgumentError);
    expect(ffi.names().filter((n) => launches.includes(n))).toEqual([]);
  });
});
