// The backend as a user of TF.js meets it: registration, laziness, lifetimes, exchange, routing, errors.

import { createRequire } from 'node:module';
import type { KernelBackend } from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { createRuntime, ForgeError, turn, withFaults } from '../../src/index.ts';
import { registerBackend, type TfjsBackend } from '../../src/tfjs/index.ts';
import { within } from '../support/time.ts';
import { batchOf, lstm } from './models.ts';
import { cpu, difference, forge, tf } from './support.ts';

const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (e) {
    return e instanceof ForgeError ? e.code : `not ours: ${String(e)}`;
  }
  return 'no error';
};

describe('registration', () => {
  it('refuses what is not TF.js, other versions, and names that TF.js would split', async () => {
    expect(await codeOf(() => registerBackend({} as typeof tf))).toBe('NOT_TFJS');
    expect(await codeOf(() => registerBackend(null as unknown as typeof tf))).toBe('NOT_TFJS');
    expect(await codeOf(() => registerBackend({ ...tf, version_core: '3.21.0' } as unknown as typeof tf))).toBe(
      'TFJS_VERSION',
    );
    expect(await codeOf(() => registerBackend(tf, { name: 'my_backend' }))).toBe('BAD_NAME');
  });

  it('tells of a CPU backend of another version, to whoever listens then and in the report', async () => {
    const backend = await registerBackend(tf, {
      cpu: { ...cpu, version_cpu: '4.1.0' as typeof cpu.version_cpu },
      name: 'older',
      runtime: { devices: ['cpu'] },
    });
    const told: string[] = [];
    backend.on('warning', ({ message }) => told.push(message));
    await turn();
    expect(told).toEqual([`@tensorflow/tfjs-backend-cpu is 4.1.0, the core is ${tf.version_core}: use one version`]);
    expect(backend.report().warnings).toEqual(told);
    await backend.close();
  });

  it('takes tensors of a second copy of TF.js: both copies share one engine', async () => {
    const load = createRequire(import.meta.url);
    const path = load.resolve('@tensorflow/tfjs-core');
    const { [path]: first } = load.cache;
    delete load.cache[path];
    // It says that the platform was set before.
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const second = load(path) as typeof tf;
    load.cache[path] = first;
    warn.mockRestore();
    expect(second.tensor).not.toBe(tf.tensor);
    const backend = await forge({ name: 'copies' });
    expect(tf.add(second.tensor([1, 2]), 1).dataSync()).toEqual(new Float32Array([2, 3]));
    expect(await backend.toTensor(second.tensor([4])).array()).toEqual([4]);
    expect(await codeOf(() => backend.toTensor({ dataId: {} } as tf.Tensor))).toBe('TWO_CORES');
    await backend.close();
  });

  it('gives the same backend for the same options, and refuses others under the same name', async () => {
    const runtime = await createRuntime({ devices: ['cpu'] });
    const first = await registerBackend(tf, { cpu, runtime, name: 'twice' });
    expect(await registerBackend(tf, { cpu, runtime, name: 'twice' })).toBe(first);
    expect(await codeOf(() => registerBackend(tf, { cpu, runtime, name: 'twice', priority: 3 }))).toBe(
      'ALREADY_REGISTERED',
    );
    await first.close();
    // The runtime is the caller's: it stays open.
    expect(runtime.ones([2]).dataSync()).toEqual(new Float32Array([1, 1]));
    const again = await registerBackend(tf, { cpu, runtime, name: 'twice', priority: 3 });
    await again.close();
    await runtime.close();
  });

  it('is opened once for all who ask at the same time, with options that say the same', async () => {
    const options = () => ({ cpu, runtime: { devices: ['cpu' as const] }, flush: { results: 64 }, name: 'asked' });
    const [a, b] = await Promise.all([registerBackend(tf, options()), registerBackend(tf, options())]);
    expect(b).toBe(a);
    expect(await registerBackend(tf, { ...options(), precision: undefined })).toBe(a);
    const others = [
      { runtime: { devices: ['cpu' as const], routing: { mode: 'off' as const } } },
      { flush: { results: 65 } },
    ];
    for (const other of others)
      expect(await codeOf(() => registerBackend(tf, { ...options(), ...other }))).toBe('ALREADY_REGISTERED');
    await tf.setBackend('asked');
    expect(tf.tensor([1, 2]).add(1).dataSync()).toEqual(new Float32Array([2, 3]));
    expect(a.report().ran).toEqual({ Add: 1 });
    await a.close();
  });

  it('runs everything on the first device, and measures none, unless routing is asked for', async () => {
    const devices = ['reference' as const, 'cpu' as const];
    const places = async (options: object): Promise<string[]> => {
      const backend = await registerBackend(tf, { cpu, name: 'first', runtime: { devices, ...options } });
      const found = new Set<string>();
      backend.runtime.on('launch', ({ device }) => found.add(device));
      await tf.setBackend('first');
      // Far sooner done on the second device.
      const y = tf.tidy(() => tf.matMul(tf.ones([64, 64]).mul(2), tf.ones([64, 64])).sum());
      expect(Array.from(await y.data())).toEqual([2 * 64 ** 3]);
      y.dispose();
      await backend.close();
      return [...found];
    };
    expect(await places({})).toEqual(['reference']);
    expect(await places({ routing: undefined })).toEqual(['reference']);
    expect(await places({ routing: { device: 'cpu' } })).toEqual(['cpu']);
  });

  it('takes no name of another backend, and can be tried again after it was refused', async () => {
    expect(await codeOf(() => registerBackend(tf, { name: 'cpu' }))).toBe('BAD_NAME');
    const wrap = (d: Device): Device =>
      Object.assign(d, { caps: { ...d.caps, dtypes: new Set(['f32', 'i32', 'bool']) } });
    let closed = 0;
    const counted = (d: Device): Device => {
      const close = d.close.bind(d);
      return Object.assign(wrap(d), {
        close: () => {
          closed++;
          return close();
        },
      });
    };
    const options = { cpu, name: 'again', runtime: { devices: ['cpu' as const], wrap: counted } };
    expect(await codeOf(() => registerBackend(tf, { ...options, precision: 'f16' }))).toBe('UNSUPPORTED_DTYPE');
    // The runtime that was opened for it is closed.
    expect(closed).toBe(1);
    const backend = await registerBackend(tf, options);
    await tf.setBackend('again');
    expect(tf.tensor([3]).mul(2).dataSync()).toEqual(new Float32Array([6]));
    await backend.close();
    expect(closed).toBe(2);
  });

  it('comes back after TF.js was told to remove it, and can be closed then', async () => {
    const options = { cpu, name: 'gone', runtime: { devices: ['cpu' as const] } };
    const first = await registerBackend(tf, options);
    tf.removeBackend('gone');
    expect(await registerBackend(tf, options)).toBe(first);
    await tf.setBackend('gone');
    expect(tf.tensor([3]).mul(2).dataSync()).toEqual(new Float32Array([6]));
    tf.removeBackend('gone');
    await first.close();
    expect(String(first.runtime)).toBe('Runtime(closed)');
  });

  it('keeps the runtime when TF.js disposes of the backend object', async () => {
    const backend = await forge({ name: 'removed' });
    tf.tensor([1, 2]).add(1).dispose();
    const start = performance.now();
    tf.engine().reset();
    expect(performance.now() - start).toBeLessThan(within(50));
    await tf.setBackend('removed');
    expect(tf.tensor([1, 2]).add(1).dataSync()).toEqual(new Float32Array([2, 3]));
    await backend.close();
  });
});

describe('a backend', () => {
  let backend: TfjsBackend;
  beforeEach(async () => {
    backend = await forge({ name: 'forge' });
  });
  afterEach(() => backend.close());

  it('computes nothing before a read', () => {
    const before = backend.report().runtime.launches;
    const y = tf.tensor([1, 2, 3, 4]).mul(2).add(1).sqrt();
    expect(backend.report().runtime.launches).toBe(before);
    expect(backend.report().pendingOps).toBe(3);
    expect(y.dataSync()[0]).toBeCloseTo(Math.sqrt(3), 6);
  });

  it('computes in a microtask what a turn left behind', async () => {
    const y = tf.tensor([1, 2, 3, 4]).add(1);
    expect(backend.report().pendingOps).toBe(1);
    await null;
    await null;
    expect(backend.report().pendingOps).toBe(0);
    expect(backend.toTensor(y).computed).toBe(true);
  });

  it('cuts a loop of layers at the same point every time, so that it is planned once', () => {
    const model = lstm(tf, 8, 40, 4);
    const x = batchOf(tf, model, 1);
    const before = backend.report().runtime.programs;
    tf.tidy(() => void model.predict(x).dataSync());
    // Some forty cells of seventeen ops each, for each of two layers: the beginning, the loop, the end, and the read.
    expect(backend.report().runtime.programs - before).toBeLessThanOrEqual(6);
    tf.dispose([x, ...model.weights]);
  });

  it('begins with layers of convolutions while the rest is put together, where the device works beside the host', async () => {
    const asGpu = (d: Device): Device =>
      Object.assign(withFaults(d, { faults: [], strict: true }), { caps: { ...d.caps, host: false } });
    const beside = await forge({ name: 'beside', runtime: { devices: ['cpu'], wrap: asGpu } });
    const kernel = tf.ones([3, 3, 2, 1]) as tf.Tensor4D;
    const layers = (count: number) => () => {
      let x = tf.ones([1, 5, 5, 2]) as tf.Tensor4D;
      for (let i = 0; i < count; i++) x = tf.relu(tf.depthwiseConv2d(x, kernel, 1, 'same').div(9)) as tf.Tensor4D;
      return x;
    };
    const launches = () => beside.report().runtime.launches;
    const start = launches();
    const few = tf.tidy(layers(2));
    expect(launches()).toBe(start);
    const many = tf.tidy(layers(6));
    expect(launches()).toBeGreaterThan(start);
    const got = await many.data();
    await tf.setBackend('forge');
    expect(difference(got, await tf.tidy(layers(6)).data())).toBeLessThan(1e-6);
    tf.dispose([few, many, kernel]);
    await beside.close();
  });

  it('keeps values right when an input is disposed of while lazy work needs it', () => {
    const x = tf.tensor([1, 2, 3]);
    const y = tf.tidy(() => x.mul(10).add(x));
    x.dispose();
    expect(Array.from(y.dataSync())).toEqual([11, 22, 33]);
    expect(() => x.dataSync()).toThrow('Tensor is disposed');
  });

  it('counts data ids exactly', () => {
    const before = { ids: backend.report().numDataIds, tensors: tf.memory().numTensors };
    tf.tidy(() => {
      const x = tf.tensor2d([
        [1, 2],
        [3, 4],
      ]);
      const view = x.reshape([4]);
      expect(backend.report().numDataIds).toBe(before.ids + 1);
      const z = tf.complex(view, view);
      // Three ids: the value and its halves.
      expect(backend.report().numDataIds).toBe(before.ids + 4);
      tf.spectral.fft(z);
      tf.variable(x).assign(x.add(1));
    });
    tf.disposeVariables();
    expect(tf.memory().numTensors).toBe(before.tensors);
    expect(backend.report().numDataIds).toBe(before.ids);
  });

  it('exchanges tensors without a copy, each disposed of by itself', async () => {
    const rt = backend.runtime;
    const t = tf.tensor2d([
      [1, 2],
      [3, 4],
    ]);
    const ours = backend.toTensor(t);
    t.dispose();
    const doubled = ours.mul(2);
    const theirs = backend.fromTensor(doubled);
    doubled.dispose();
    ours.dispose();
    expect(theirs.shape).toEqual([2, 2]);
    expect(Array.from(await theirs.add(1).data())).toEqual([3, 5, 7, 9]);
    theirs.dispose();
    expect(await codeOf(() => backend.fromTensor(rt.ones([2], { dtype: 'f64' })))).toBe('UNSUPPORTED_DTYPE');
    expect(
      await codeOf(() => backend.toTensor({ dataId: {}, shape: [1], dtype: 'float32' } as unknown as tf.Tensor)),
    ).toBe('TWO_CORES');
    const other = await createRuntime({ devices: ['cpu'] });
    expect(await codeOf(() => backend.fromTensor(other.ones([2])))).toBe('FOREIGN_TENSOR');
    await other.close();
  });

  it('moves data to another backend and back, ten times', async () => {
    const x = tf.tensor([1, 2, 3]).square();
    await tf.setBackend('cpu');
    const z = tf.complex([1, 2], [3, 4]);
    await tf.setBackend('forge');
    // To here alone: TF.js's CPU backend cannot take over a complex value.
    expect(Array.from(tf.mul(z, z).dataSync())).toEqual([-8, 6, -12, 16]);
    for (let i = 0; i < 10; i++) {
      await tf.setBackend(i % 2 === 0 ? 'cpu' : 'forge');
      expect(Array.from(x.add(i).dataSync())).toEqual([1 + i, 4 + i, 9 + i]);
    }
  });

  it("runs kernels that have no implementation on TF.js's CPU backend, counts them and tells", async () => {
    const told: string[] = [];
    backend.on('routed', ({ kernel }) => told.push(kernel));
    for (let i = 0; i < 2; i++) {
      const { values, indices } = tf.unique(tf.tensor1d([1, 1, 2]).mul(3));
      expect([Array.from(values.dataSync()), Array.from(indices.dataSync())]).toEqual([
        [3, 6],
        [0, 0, 1],
      ]);
    }
    expect(backend.report().routed).toEqual({ Unique: 2 });
    expect(told).toEqual(['Unique']);
  });

  it('says which kernel is missing where there is no CPU backend', async () => {
    const alone = await registerBackend(tf, { runtime: backend.runtime, name: 'alone' });
    await tf.setBackend('alone');
    expect(await codeOf(() => tf.unique([1, 1]))).toBe('KERNEL_NOT_AVAILABLE');
    expect(alone.report().missing).toEqual(['Unique']);
    await alone.close();
  });

  it('tells times, profiles and memory', async () => {
    const x = tf.ones([64, 64]);
    const time = await tf.time(() => tf.matMul(x, x).dispose());
    expect(time.wallMs).toBeGreaterThan(0);
    const profile = await tf.profile(() => tf.matMul(x, x).relu());
    expect(profile.kernelNames.sort()).toEqual(['BatchMatMul', 'Relu']);
    const memory = tf.memory() as unknown as Record<string, number>;
    expect(memory.numBytesInGPU).toBeGreaterThan(0);
    expect(memory.numBytesInGPUAllocated).toBeGreaterThanOrEqual(memory.numBytesInGPU!);
    expect(tf.backend().floatPrecision()).toBe(32);
    expect(tf.backend().epsilon()).toBe(1e-7);
  });

  it('tells that a time is not known where the runtime is closed meanwhile: debug mode waits for no time', async () => {
    const before = tf.getBackend();
    const own = await registerBackend(tf, { cpu, name: 'timed', runtime: { devices: ['cpu'] } });
    await tf.setBackend('timed');
    const timed = [1, 2].map(() => (tf.backend() as KernelBackend).time(() => tf.add(1, 2).dispose()));
    await own.close();
    for (const { kernelMs } of await Promise.all(timed))
      expect(typeof kernelMs === 'number' || /the runtime is closed/.test(kernelMs.error)).toBe(true);
    await tf.setBackend(before);
  });

  it('keeps what was written as TF.js does: strings, bools, numbers beyond 2^31', () => {
    expect(tf.tensor(['a', 'b']).reshape([2, 1]).dataSync()).toEqual(['a', 'b']);
    expect(tf.tensor([true, false]).logicalNot().dataSync()).toEqual(new Uint8Array([0, 1]));
    expect(Array.from(tf.tensor([3e9, -3e9, Number.NaN, 1.9, -1.9]).cast('int32').dataSync())).toEqual([
      -1294967296, 1294967296, 0, 1, -1,
    ]);
  });
});
