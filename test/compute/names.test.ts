// Every name and signature of the facade, compiled and run. A change here is a change of the contract.

import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  AbortError,
  type Averages,
  BatchError,
  ComputeError,
  DeviceLostError,
  DeviceManager,
  type DevicePreference,
  type DeviceSelection,
  DeviceUnavailableError,
  DisposedError,
  GPUCompute,
  InvalidArgumentError,
  KernelError,
  type MemoryUsage,
  OutOfMemoryError,
  PerformanceLogger,
  type PerformanceMetrics,
  PerformanceMonitor,
  RecoveryExhaustedError,
  TensorLostError,
  TensorPool,
  TransferError,
} from '../../src/compute/index.ts';
import * as core from '../../src/index.ts';
import { ForgeError, type Tensor } from '../../src/index.ts';

describe('the names of the facade', () => {
  it.each<[string, { readonly prototype: object }, readonly string[], readonly string[]]>([
    [
      'GPUCompute',
      GPUCompute,
      ['getInstance'],
      ['transferToGPU', 'transferFromGPU', 'computeBatch', 'processBatch', 'processDataset', 'resetDevice', 'dispose'],
    ],
    [
      'DeviceManager',
      DeviceManager,
      ['getInstance'],
      ['selectDevice', 'getActiveDevice', 'cleanup', 'onDeviceLost', 'dispose'],
    ],
    [
      'PerformanceMonitor',
      PerformanceMonitor,
      ['getInstance'],
      ['getMemoryUsage', 'trackOperation', 'getGPUUtilization', 'getDetailedMetrics', 'logMetrics', 'dispose'],
    ],
    ['PerformanceLogger', PerformanceLogger, [], ['logMetrics', 'getAverages', 'size', 'clear', 'toJSON', 'dispose']],
    ['TensorPool', TensorPool, [], ['reuseOrCreateTensor', 'releaseTensor', 'stats', 'trim', 'dispose']],
  ])('of %s are all there', (name, Class, statics, members) => {
    expect((Class as unknown as { name: string }).name).toBe(name);
    expect(statics.filter((s) => !(s in Class))).toEqual([]);
    expect(members.filter((m) => !(m in Class.prototype))).toEqual([]);
    expect(Symbol.dispose in Class.prototype || Symbol.asyncDispose in Class.prototype).toBe(true);
  });

  it('have no public constructor', () => {
    // Compile-time checks: the suppressions themselves fail if there is nothing to suppress.
    const tries = [
      // @ts-expect-error private constructor
      () => new GPUCompute(),
      // @ts-expect-error private constructor
      () => new DeviceManager(),
      // @ts-expect-error private constructor
      () => new PerformanceMonitor(),
      // @ts-expect-error private constructor
      () => new PerformanceLogger(),
      // @ts-expect-error private constructor
      () => new TensorPool(),
    ];
    expect(tries).toHaveLength(5);
  });

  it('have the documented signatures', () => {
    expectTypeOf<GPUCompute['transferToGPU']>().returns.resolves.toEqualTypeOf<Tensor>();
    expectTypeOf<GPUCompute['transferFromGPU']>().parameter(0).toExtend<Tensor>();
    expectTypeOf<DeviceManager['selectDevice']>().parameter(0).toEqualTypeOf<DevicePreference | undefined>();
    expectTypeOf<DeviceManager['selectDevice']>().returns.resolves.toEqualTypeOf<DeviceSelection>();
    expectTypeOf<DeviceManager['getActiveDevice']>().returns.toEqualTypeOf<string | null>();
    expectTypeOf<PerformanceMonitor['getMemoryUsage']>().returns.toEqualTypeOf<MemoryUsage>();
    expectTypeOf<PerformanceMonitor['getGPUUtilization']>().returns.resolves.toEqualTypeOf<number | null>();
    expectTypeOf<PerformanceMonitor['getDetailedMetrics']>().returns.resolves.toEqualTypeOf<PerformanceMetrics>();
    expectTypeOf<PerformanceLogger['getAverages']>().returns.toEqualTypeOf<Averages | null>();
    expectTypeOf<PerformanceLogger['size']>().toEqualTypeOf<number>();
  });

  it('run as the guide writes them', async () => {
    const devices = DeviceManager.getInstance({ kinds: ['cpu'] });
    const gpu = GPUCompute.getInstance();
    const monitor = PerformanceMonitor.getInstance();
    const logger = PerformanceLogger.getInstance();
    const pool = TensorPool.getInstance();

    expect(devices.getActiveDevice()).toBeNull();
    await devices.selectDevice({ preferGPU: true, minMemory: 1024, maxLoad: 0.9 });
    expect(devices.getActiveDevice()).toBe('cpu');
    const stop = devices.onDeviceLost(() => {});
    stop();

    const data = new Float32Array(1000).fill(2);
    const empty = monitor.getMemoryUsage().numBytes;
    const large = await gpu.transferToGPU(new Float32Array(1e5));
    expect(monitor.getMemoryUsage().numBytes).toBeGreaterThanOrEqual(empty + 4e5);
    large.dispose();
    expect(monitor.getMemoryUsage().numBytes).toBe(empty);
    const tensor = await gpu.transferToGPU(data);
    expect(await gpu.transferFromGPU(tensor)).toEqual(data);
    const [one] = await gpu.computeBatch([tensor]);
    const [two] = await gpu.processBatch([tensor], 'sum');
    expect(Number((await gpu.transferFromGPU(one!))[0])).toBe(4);
    expect(Number((await gpu.transferFromGPU(two!))[0])).toBe(2000);
    const { results, metrics } = await gpu.processDataset(data, { recordLength: 100, op: 'mean' });
    expect(results.map((r) => r[0])).toEqual(new Array(10).fill(2));
    await gpu.resetDevice();
    expect(await gpu.transferFromGPU(tensor)).toEqual(data);

    expect(await monitor.trackOperation('nothing', () => {})).toBeGreaterThanOrEqual(0);
    expect((await monitor.trackOperation('five', () => 5, { result: true })).result).toBe(5);
    expect(await monitor.getGPUUtilization()).toBeNull();
    monitor.logMetrics(await monitor.getDetailedMetrics());
    monitor.logMetrics({ computeTime: metrics.computeTime });
    logger.logMetrics({ transferTime: 1 });
    expect(logger.size).toBe(3);
    expect(logger.getAverages()!.means.transferTime).toBeGreaterThan(0);
    expect(logger.toJSON()).toHaveLength(3);
    logger.clear();
    expect(logger.size).toBe(0);

    const borrowed = pool.reuseOrCreateTensor([4, 4]);
    expect(await borrowed.data()).toEqual(new Float32Array(16));
    pool.releaseTensor(borrowed);
    expect(pool.stats()).toMatchObject({ misses: 1, bytesHeld: 64 });
    expect(pool.trim()).toBe(64);

    await gpu.dispose();
    expect(() => pool.stats()).not.toThrow();
    expect(pool.disposed && monitor.disposed && devices.disposed).toBe(true);
    await devices.cleanup();
    logger.dispose();
  });

  it('take a second copy of each through create, and end with using', async () => {
    await using devices = DeviceManager.create({ kinds: ['cpu'] });
    await using gpu = GPUCompute.create({ devices });
    using pool = TensorPool.create({ devices });
    using logger = PerformanceLogger.create();
    using monitor = PerformanceMonitor.create({ devices, logger });
    await gpu.transferToGPU(Float32Array.of(1));
    expect([gpu, pool, logger, monitor, devices].map((o) => o.disposed)).toEqual([false, false, false, false, false]);
  });

  it('of errors that the runtime has too are one class each', () => {
    expect([
      ComputeError,
      InvalidArgumentError,
      DisposedError,
      DeviceUnavailableError,
      DeviceLostError,
      OutOfMemoryError,
      KernelError,
      TensorLostError,
      RecoveryExhaustedError,
      AbortError,
    ]).toEqual([
      core.ForgeError,
      core.ArgumentError,
      core.DisposedError,
      core.DeviceUnavailable,
      core.DeviceLost,
      core.OutOfMemory,
      core.KernelError,
      core.TensorLost,
      core.RecoveryExhausted,
      core.Aborted,
    ]);
  });

  it('of errors all carry what a caller needs', () => {
    const info = { message: 'm', where: 'op', fix: 'do this', device: 'cuda:0', attempts: 2 };
    const all = [
      [new InvalidArgumentError(info), 'INVALID_ARGUMENT', false],
      [new DisposedError(info), 'DISPOSED', false],
      [new DeviceUnavailableError(info), 'DEVICE_UNAVAILABLE', false],
      [new DeviceLostError(info), 'DEVICE_LOST', true],
      [new OutOfMemoryError({ ...info, requested: 1, available: 0 }), 'OUT_OF_MEMORY', true],
      [new TransferError(info), 'TRANSFER_FAILED', true],
      [new KernelError(info), 'KERNEL_FAILED', true],
      [new TensorLostError(info), 'TENSOR_LOST', false],
      [new BatchError({ ...info, index: 3, completed: 3 }), 'BATCH_FAILED', false],
      [new RecoveryExhaustedError({ ...info, history: [] }), 'RECOVERY_EXHAUSTED', false],
      [new AbortError(info), 'ABORTED', false],
    ] as const;
    for (const [error, code, retryable] of all) {
      expect(error).toBeInstanceOf(ComputeError);
      expect(error).toBeInstanceOf(ForgeError);
      expect(error).toMatchObject({ code, retryable, operation: 'op', device: 'cuda:0', hint: 'do this', attempts: 2 });
      expect(error.name).toBe(error.constructor.name);
    }
  });
});
