// cuBLASLt, NVML and captured recordings, over a driver and libraries that record what they are asked.

import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { matmul, type RoutineCase, withEpilogue } from '../../../test/gpu/routines.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import type { DType } from '../../base/dtype.ts';
import { dtypes } from '../../base/dtype.ts';
import { ForgeError } from '../../errors.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

async function open(
  libraries: readonly string[],
  change: (ffi: MockCuda) => void = () => {},
  cublas: boolean | 'always' = 'always',
) {
  const ffi = new MockCuda();
  ffi.libraries.push(...libraries);
  change(ffi);
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices, refused } = await openCudaDevices({ ffi, host, cacheDir: false, cublas });
  expect(refused).toEqual([]);
  return { ffi, device: devices[0] as CudaDevice };
}

function withCublas(ffi: MockCuda): void {
  let handle = 5000;
  for (const name of [
    'cublasLtCreate',
    'cublasLtMatmulDescCreate',
    'cublasLtMatrixLayoutCreate',
    'cublasLtMatmulPreferenceCreate',
  ]) {
    ffi.handlers.set(name, (out) => {
      ffi.writeU64(out!, handle++);
      return 0;
    });
  }
  ffi.handlers.set('cublasLtGetVersion', () => 130100);
  ffi.handlers.set('cublasLtMatmulAlgoGetHeuristic', (...args) => {
    ffi.writeU64(args[8]! + 64, 1024);
    ffi.writeU64(args[9]!, 1);
    return 0;
  });
}

describe('cuBLASLt', () => {
  it('multiplies row-major matrices by swapping its operands', async () => {
    const { ffi, device } = await open(['libcublasLt'], withCublas);
    const p = device.prepare(matmul('f32', 20, 30, 40).routine);
    expect(p.source).toContain('cuBLASLt 130100');
    const [a, b, c] = [device.allocate(2400), device.allocate(4800), device.allocate(3200)];
    const layouts = ffi.calls.filter((x) => x.name === 'cublasLtMatrixLayoutCreate').map((x) => x.args.slice(2, 5));
    expect(layouts).toEqual([
      [40, 30, 40],
      [30, 20, 30],
      [40, 20, 40],
    ]);
    ffi.calls.length = 0;
    device.launch(p, [a, b, c], []);
    const { args } = ffi.calls.find((x) => x.name === 'cublasLtMatmul')!;
    const at = (x: unknown): number => (x as { address: number }).address;
    expect([args[3], args[5], args[8]]).toEqual([at(b), at(a), at(c)]);
    expect(args[14]).toBe(1024);
  });

  it('is told of batches and of transposed operands', async () => {
    const { ffi, device } = await open(['libcublasLt'], withCublas);
    device.prepare(matmul('f16', 8, 8, 8, { batch: 3, batchA: 1, batchB: 3, transposeA: true }).routine);
    expect(ffi.calls.filter((x) => x.name === 'cublasLtMatrixLayoutSetAttribute')).toHaveLength(6);
    expect(ffi.calls.filter((x) => x.name === 'cublasLtMatmulDescSetAttribute').map((x) => x.args[1])).toEqual([3, 4]);
  });

  it('adds a bias itself, and leaves other epilogues to a kernel behind it that works in place', async () => {
    const { ffi, device } = await open(['libcublasLt'], withCublas);
    const at = (x: unknown): number => (x as { address: number }).address;
    const run = (name: string, type: DType = 'f32') => {
      const c = withEpilogue(matmul(type, 20, 30, 40), name);
      ffi.calls.length = 0;
      const p = device.prepare(c.routine);
      const buffers = c.buffers.map((b) => device.allocate(b.elements * 8));
      device.launch(p, buffers, c.scalars ?? []);
      const product = ffi.calls.find((x) => x.name === 'cublasLtMatmul')!.args;
      const kernel = ffi.calls.find((x) => x.name === 'cuLaunchKernel');
      const extra = kernel && new BigUint64Array(ffi.bytesAt(kernel.args[10]!, 40).slice().buffer);
      const words =
        extra && new BigUint64Array(ffi.bytesAt(Number(extra[1]), 8 * (c.buffers.length - 1)).slice().buffer);
      const attributes = ffi.calls.filter((x) => x.name === 'cublasLtMatmulDescSetAttribute').map((x) => x.args[1]);
      return { addresses: buffers.map(at), target: product[8]!, words: words && [...words].map(Number), attributes };
    };
    const bias = run('bias');
    expect(bias.words).toBeUndefined();
    expect(bias.attributes).toEqual([3, 4, 7, 8]);
    expect(bias.target).toBe(bias.addresses[3]);
    // In f16 the library would round once where two ops round twice.
    expect(run('bias', 'f16').words).toBeDefined();
    const residual = run('residual');
    expect(residual.target).toBe(residual.addresses[4]);
    const [, , row, other, out] = residual.addresses;
    expect(residual.words!.slice(0, 4)).toEqual([out, row, other, out]);
    const wide = run('wide');
    expect(wide.addresses).not.toContain(wide.target);
    expect(wide.words!.slice(0, 2)).toEqual([wide.target, wide.addresses[2]]);
  });

  it('writes behind a workspace of any size, where every type may be written', async () => {
    const { ffi, device } = await open(['libcublasLt'], (mock) => {
      withCublas(mock);
      const asked = mock.handlers.get('cublasLtMatmulAlgoGetHeuristic')!;
      mock.handlers.set('cublasLtMatmulAlgoGetHeuristic', (...args) => {
        const code = asked(...args);
        mock.writeU64(args[8]! + 64, 3);
        return code;
      });
    });
    const c = withEpilogue(matmul('f32', 20, 30, 40), 'wide');
    const buffers = c.buffers.map((b) => device.allocate(b.elements * 8));
    device.launch(device.prepare(c.routine), buffers, c.scalars ?? []);
    const { args } = ffi.calls.find((x) => x.name === 'cublasLtMatmul')!;
    const [target, workspace] = [args[8]!, args[13]!];
    expect(args[14]).toBe(3);
    expect(target - workspace).toBeGreaterThanOrEqual(3);
    expect(target % 256).toBe(0);
  });

  it('leaves integers, and what it knows no algorithm for, to our own kernels', async () => {
    const { device } = await open(['libcublasLt'], (ffi) => {
      withCublas(ffi);
      ffi.handlers.set('cublasLtMatmulAlgoGetHeuristic', () => 15);
    });
    for (const type of ['i32', 'f32'] as const) {
      expect(device.prepare(matmul(type, 8, 8, 8).routine).source).toContain('.visible .entry');
    }
  });

  it('leaves small and shallow products to our own kernels unless it is wanted always', async () => {
    const { device } = await open(['libcublasLt'], withCublas, true);
    const ours = (c: RoutineCase): boolean => device.prepare(c.routine).source.includes('.visible .entry');
    const ten = { batch: 10, batchA: 10, batchB: 10 };
    expect(ours(matmul('f32', 256, 256, 256, ten))).toBe(true);
    expect(ours(withEpilogue(matmul('f32', 256, 256, 256), 'bias'))).toBe(true);
    expect(ours(matmul('f32', 512, 1024, 512))).toBe(true);
    // On an H200 the library is sooner done with 1000², and we are where there is little depth.
    expect(ours(matmul('f32', 1000, 1000, 1000))).toBe(false);
    expect(ours(matmul('f32', 512, 512, 512, ten))).toBe(false);
    expect(ours(matmul('f32', 512, 64, 512, { batch: 128, batchA: 128, batchB: 128 }))).toBe(true);
    expect(ours(matmul('f32', 2048, 1024, 2048))).toBe(false);
    expect(ours(matmul('f32', 32, 4096, 32))).toBe(false);
    expect(ours(matmul('f32', 256, 256, 256, { precision: 'tf32' }))).toBe(false);
    expect(ours(matmul('bf16', 256, 256, 256))).toBe(true);
    expect(ours(matmul('f16', 128, 128, 128, { batch: 256, batchA: 256, batchB: 256, transposeA: true }))).toBe(true);
    // Deep ones, large ones, and what would be repacked.
    expect(ours(matmul('bf16', 32, 4096, 4096))).toBe(false);
    expect(ours(matmul('bf16', 2048, 1024, 2048))).toBe(false);
    expect(ours(matmul('bf16', 8192, 16, 4096))).toBe(false);
    expect(ours(matmul('bf16', 256, 250, 256))).toBe(false);
    expect(ours(matmul('bf16', 256, 256, 250))).toBe(false);
    expect(ours(matmul('bf16', 8, 256, 256))).toBe(false);
    const always = await open(['libcublasLt'], withCublas, 'always');
    expect(always.device.prepare(matmul('bf16', 256, 256, 256).routine).source).toContain('cublasLtMatmul');
  });

  it('is not used when it is switched off, missing or incomplete', async () => {
    const off = await open(['libcublasLt'], withCublas, false);
    const missing = await open([]);
    const partial = await open(['libcublasLt'], (ffi) => {
      withCublas(ffi);
      ffi.missing.add('cublasLtMatmul');
    });
    for (const { device } of [off, missing, partial]) {
      expect(device.prepare(matmul('f32', 8, 8, 8).routine).source).toContain('.visible .entry');
    }
    expect(off.ffi.names()).not.toContain('cublasLtCreate');
  });

  it('turns a refusal at run time into an error that names the way out', async () => {
    const { ffi, device } = await open(['libcublasLt'], withCublas);
    const p = device.prepare(matmul('f32', 8, 8, 8).routine);
    const list = [256, 256, 256].map((n) => device.allocate(n));
    ffi.handlers.set('cublasLtMatmul', () => 13);
    expect(() => device.launch(p, list, [])).toThrow(ForgeError);
    expect(() => device.launch(p, list, [])).toThrow(/cublas: false/);
  });

  it('is captured once a set of buffers comes back, and replayed with one call', async () => {
    const { ffi, device } = await open(['libcublasLt'], withCublas);
    const p = device.prepare(matmul('f32', 8, 8, 8).routine);
    const list = [256, 256, 256].map((n) => device.allocate(n));
    const recording = device.record([{ program: p, buffers: [0, 1, 2], scalars: [] }]);
    ffi.calls.length = 0;
    recording.replay(list, []);
    expect(ffi.names()).toEqual(['cublasLtMatmul']);
    recording.replay(list, []);
    expect(ffi.names()).toContain('cuStreamEndCapture');
    ffi.calls.length = 0;
    recording.replay(list, []);
    expect(ffi.names()).toEqual(['cuGraphLaunch']);
    recording.dispose();
    expect(ffi.names().at(-1)).toBe('cuGraphDestroy');
  });
});

describe('NVML', () => {
  it('reports what can be measured and leaves out the rest', async () => {
    const { ffi, device } = await open(['libnvidia-ml'], (mock) => {
      mock.handlers.set('nvmlDeviceGetHandleByPciBusId_v2', (_text, out) => {
        mock.writeU64(out!, 77);
        return 0;
      });
      mock.handlers.set('nvmlDeviceGetTemperature', (_h, _kind, out) => {
        mock.writeU64(out!, 41);
        return 0;
      });
      mock.handlers.set('nvmlDeviceGetPowerUsage', () => 3);
      mock.handlers.set('nvmlDeviceGetClockInfo', () => 3);
      mock.handlers.set('nvmlDeviceGetUtilizationRates', () => 3);
      mock.handlers.set('nvmlDeviceGetMemoryInfo', (_h, out) => {
        mock.writeU64(out!, 1000);
        mock.writeU64(out! + 16, 250);
        return 0;
      });
      mock.handlers.set('nvmlDeviceGetComputeRunningProcesses_v3', (_h, count, list) => {
        mock.writeU64(count!, 1);
        mock.writeU64(list!, 4242);
        mock.writeU64(list! + 8, 99);
        return 0;
      });
    });
    expect(device.telemetry!()).toEqual({
      temperature: 41,
      memoryTotal: 1000,
      memoryUsed: 250,
      processes: [{ pid: 4242, memory: 99 }],
    });
    expect(ffi.names()).toContain('nvmlInit_v2');
  });

  it('is absent where the library is', async () => {
    const { device } = await open([]);
    expect(device.telemetry).toBeUndefined();
  });
});

describe('scalars', () => {
  const expected: Readonly<Record<DType, (v: DataView) => unknown>> = {
    bool: (v) => v.getUint32(16, true),
    u8: (v) => v.getUint32(16, true),
    i32: (v) => v.getInt32(16, true),
    u32: (v) => v.getUint32(16, true),
    i64: (v) => v.getBigInt64(16, true),
    u64: (v) => v.getBigUint64(16, true),
    f16: (v) => v.getFloat32(16, true),
    bf16: (v) => v.getFloat32(16, true),
    f32: (v) => v.getFloat32(16, true),
    f64: (v) => v.getFloat64(16, true),
  };
  const values: Readonly<Record<DType, unknown>> = {
    bool: 1,
    u8: 255,
    i32: 300,
    u32: 300,
    i64: 300n,
    u64: 300n,
    f16: 300.25,
    bf16: 300,
    f32: Math.fround(300.3),
    f64: 300.3,
  };

  it.each(dtypes)('of type %s travel as the kernel reads them', async (type) => {
    const { ffi, device } = await open([]);
    const k = new KernelBuilder([64]);
    const x = k.whole(type);
    k.output(type === 'bool' ? k.op('xor', x, k.scalar(type)) : k.op('max', x, k.scalar(type)));
    const p = device.prepare(k.done('scalar'));
    const list = [device.allocate(512), device.allocate(512)];
    ffi.calls.length = 0;
    device.launch(p, list, [300.3]);
    const extra = new BigUint64Array(ffi.bytesAt(ffi.calls[0]!.args[10]!, 40).slice().buffer);
    const packed = new DataView(ffi.bytesAt(Number(extra[1]), 24).slice().buffer);
    expect(expected[type](packed)).toEqual(values[type]);
  });
});

describe('several GPUs', () => {
  it('copy between each other after the work of both', async () => {
    const ffi = new MockCuda();
    ffi.devices = 2;
    const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
    const { devices } = await openCudaDevices({ ffi, host, cacheDir: false });
    const [first, second] = devices as unknown as [CudaDevice, CudaDevice];
    const [a, b] = [first.allocate(1000), second.allocate(1000)];
    ffi.calls.length = 0;
    second.copyFrom(first, a, b);
    const order = ffi.names(['cuCtxSetCurrent', 'cuEventCreate']);
    expect(order).toEqual([
      'cuEventRecord',
      'cuStreamWaitEvent',
      'cuMemcpyPeerAsync',
      'cuEventRecord',
      'cuStreamWaitEvent',
    ]);
    expect(ffi.names().filter((n) => n === 'cuCtxSetCurrent').length).toBeGreaterThanOrEqual(2);
  });
});
