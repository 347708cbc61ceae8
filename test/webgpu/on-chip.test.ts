// Softmax, norms, transposes, attention, scans, sorts and selections through the runtime, with the plans for GPUs: which are one launch, and that awkward
// shapes and values come out as on the CPU. Adapters with the least that WebGPU promises are tried, too.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDawn } from '../../src/devices/webgpu/node.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { needsWebGpu, noWebGpu } from '../support/webgpu.ts';

needsWebGpu();

/** An implementation whose adapters have the limits that every one has. */
async function smallGpu(): Promise<{ requestAdapter(options?: object): Promise<unknown> }> {
  const found = await openDawn(process, 'high-performance');
  if (found.kind !== 'gpu') throw new Error(found.reason);
  const least: Readonly<Record<string, number>> = {
    maxComputeWorkgroupStorageSize: 16384,
    maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupSizeX: 256,
    maxStorageBuffersPerShaderStage: 8,
  };
  return {
    requestAdapter: async (options) => {
      const adapter = await found.gpu.requestAdapter(options);
      if (!adapter) return null;
      const limits = new Proxy(adapter.limits, {
        get: (target, name) => least[name as string] ?? Reflect.get(target, name, target),
      });
      return new Proxy(adapter, {
        get: (target, name) => {
          if (name === 'limits') return limits;
          const value = Reflect.get(target, name, target) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
}

let rt: Runtime;
let cpu: Runtime;
beforeAll(async () => {
  if (noWebGpu) return;
  [rt, cpu] = await Promise.all([
    createRuntime({ devices: ['webgpu'], webgpu: { plans: 'gpu', gpu: await smallGpu() } }),
    createRuntime({ devices: ['cpu'], cpu: { threads: 1 } }),
  ]);
});
afterAll(() => Promise.all([rt?.close(), cpu?.close()]));

const numbers = (n: number, seed = 1): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(i * 0.37 + seed) * 3);

/** The same program on both; NaN where the other has NaN, and else no further away than said, relative to the largest value. */
async function agree(
  program: (on: Runtime, x: Tensor) => Tensor,
  data: Float32Array,
  shape: readonly number[],
  tolerance: number,
): Promise<void> {
  const [got, want] = await Promise.all(
    [rt, cpu].map(async (on) => (await program(on, on.tensor(data, shape)).data()) as Float32Array),
  );
  expect(got!.length).toBe(want!.length);
  const scale = want!.reduce((m, v) => (Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m), 0);
  got!.forEach((v, i) => {
    const other = want![i]!;
    if (Object.is(v, other)) return;
    expect(Math.abs(v - other), `element ${i}: ${v} instead of ${other}`).toBeLessThanOrEqual(tolerance * scale);
  });
}

const launches = (t: Tensor): string[] => rt.explain(t).kernels.map((k) => k.body);
const some = (...shape: number[]): Tensor => rt.zeros(shape).compute();

describe('rows', { timeout: within(20_000) }, () => {
  const norm = (x: Tensor): Tensor => x.layerNorm(-1).mul(2).add(1);

  it('are kept on the chip by softmax, layer norm, RMS norm and variance: one launch each', () => {
    const x = some(200, 128);
    const rms = x.mul(x.mul(x).mean({ axis: 1, keepdims: true }).add(1e-6).rsqrt());
    for (const y of [x.softmax(1), norm(x), rms, some(4, 100, 64).variance({ axis: 1 })]) {
      const [only, another] = launches(y);
      expect(only).toContain('kept on the chip');
      expect(another).toBeUndefined();
    }
  });

  it('that the adapter has no room for are folded as before', async () => {
    const long = 40_000;
    expect(rt.device('webgpu:0').caps.rows!.bytes).toBeLessThan(4 * long);
    expect(launches(some(130, long).softmax(1)).some((body) => body.includes('kept on the chip'))).toBe(false);
  });

  it.each([
    { shape: [131, 67], what: 'odd lengths' },
    { shape: [128, 1, 65], what: 'an axis of 1' },
    { shape: [150, 1000], what: 'several places a thread, and some beyond the end' },
    { shape: [129, 96], what: 'more rows than whole workgroups' },
  ])('come out as on the CPU: $shape, $what', async ({ shape }) => {
    const data = numbers(shape.reduce((a, b) => a * b, 1));
    await agree((_, x) => x.softmax(-1), data, shape, 2e-6);
    await agree((_, x) => norm(x), data, shape, 2e-6);
  });

  it('of one element, of none, and none at all', async () => {
    await agree((_, x) => x.softmax(-1), numbers(200), [200, 1], 0);
    await agree((_, x) => x.softmax(-1), numbers(0), [0, 64], 0);
    await agree((_, x) => x.sum({ axis: 1 }), numbers(0), [200, 0], 0);
  });

  it('with NaN and infinities, from a transposed operand, with bytes as results', async () => {
    const data = numbers(140 * 72);
    data[5] = Number.NaN;
    data[72 + 3] = Number.POSITIVE_INFINITY;
    data[144 + 3] = Number.NEGATIVE_INFINITY;
    data.fill(Number.NEGATIVE_INFINITY, 216, 288);
    await agree((_, x) => x.softmax(-1), data, [140, 72], 2e-6);
    await agree((_, x) => x.transpose().softmax(-1), data, [72, 140], 2e-6);
    const above = (_: Runtime, x: Tensor): Tensor => x.greater(x.mean({ axis: 1, keepdims: true })).cast('f32');
    await agree(above, numbers(140 * 71), [140, 71], 0);
    const any = (_: Runtime, x: Tensor): Tensor =>
      x
        .sub(x.mean({ axis: 1, keepdims: true }))
        .greater(2.5)
        .any({ axis: 1 })
        .cast('f32');
    await agree(any, numbers(140 * 71), [140, 71], 0);
  });
});

describe('transposes', { timeout: within(20_000) }, () => {
  it('of any axes go through squares, with what is computed beside them', async () => {
    const data = numbers(40 * 44 * 48);
    for (const order of [
      [2, 1, 0],
      [0, 2, 1],
      [1, 2, 0],
    ])
      await agree((_, x) => x.permute(order).mul(2).add(1), data, [40, 44, 48], 0);
    await agree((_, x) => x.transpose().add(x.reshape([301, 257])), numbers(257 * 301), [257, 301], 0);
  });
});

describe('attention', { timeout: within(30_000) }, () => {
  const seen = (on: Runtime, n: number): Tensor => on.arange(n).reshape([n, 1]).greaterEqual(on.arange(n));
  const causal = (on: Runtime, x: Tensor): Tensor => {
    const n = x.shape[1]!;
    const scores = x.matmul(x.mul(0.5).swapaxes(-1, -2)).mul(0.125);
    return on.where(seen(on, n), scores, Number.NEGATIVE_INFINITY).softmax(-1).matmul(x.add(1));
  };

  it('is one launch that stores no scores, and comes out as on the CPU', async () => {
    const x = some(2, 45, 24);
    const bodies = launches(causal(rt, x));
    expect(bodies.filter((b) => b.includes('scores stay on the chip'))).toHaveLength(1);
    expect(bodies.some((b) => b.includes('matmul'))).toBe(false);
    await agree(causal, numbers(2 * 45 * 24), [2, 45, 24], 2e-5);
  });

  it('gives NaN for a value that is not finite, seen or not, as 0 · ∞ is', async () => {
    const data = numbers(2 * 45 * 24);
    data[40 * 24 + 2] = Number.POSITIVE_INFINITY;
    await agree((on, x) => causal(on, x), data, [2, 45, 24], 2e-5);
  });
});

describe('scans', { timeout: within(20_000) }, () => {
  it('of one line and of many, forwards and backwards, of any length', async () => {
    await agree((_, x) => x.cumsum(-1), numbers(9001), [9001], 1e-5);
    await agree((_, x) => x.cumsum(-1, { reverse: true }), numbers(3 * 4100), [3, 4100], 1e-5);
    await agree((_, x) => x.cumsum(0), numbers(300 * 20), [300, 20], 1e-5);
  });

  it('keep -0 and NaN', async () => {
    const data = numbers(9001).fill(-0, 0, 10);
    data[8500] = Number.NaN;
    await agree((_, x) => x.cumsum(0), data, [9001], 1e-5);
  });
});

describe('sorts and selections', { timeout: within(40_000) }, () => {
  /** Few different values, NaN, both zeros and infinities: ties everywhere. */
  const repeated = (n: number): Float32Array =>
    Float32Array.from({ length: n }, (_, i) => {
      const hash = Math.imul(i + 1, 2654435761) >>> 0;
      const special = [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][hash % 11];
      return special ?? (hash % 13) - 6;
    });
  const positions = (_: Runtime, x: Tensor): Tensor => x.topk(7).indices.cast('f32');

  /** The two in the middle. */
  const middle = (x: Tensor, axis: number): Tensor => {
    const half = x.shape[axis]! / 2;
    return x
      .sort(axis)
      .slice(x.shape.map((_, i) => (i === axis ? [half - 1, half + 1] : null)))
      .mean({ axis });
  };

  it('take no sort where some of each row are wanted', () => {
    for (const y of [some(20, 1000).topk(7).values, middle(some(20, 1000), 1)]) {
      expect(launches(y).some((b) => b.includes('sort'))).toBe(false);
    }
  });

  it.each([
    { shape: [5, 40], what: 'short rows' },
    { shape: [3, 700], what: 'rows that a workgroup selects from' },
    { shape: [2, 20_001], what: 'rows in parts' },
  ])('select as a stable sort would: $shape, $what', async ({ shape }) => {
    const data = repeated(shape[0]! * shape[1]!);
    await agree((_, x) => x.topk(7).values, data, shape, 0);
    await agree(positions, data, shape, 0);
  });

  it('find medians along any axis', async () => {
    const data = numbers(3 * 700);
    await agree((_, x) => middle(x, 1), data, [3, 700], 0);
    await agree((_, x) => middle(x, 0), data, [700, 3], 0);
  });

  it.each([
    { shape: [9, 33], what: 'several rows a workgroup' },
    // Takes long to compile; the checks of the device sort long rows too.
    ...(all ? [{ shape: [2, 5003], what: 'by digits, with a tile that is not full' }] : []),
  ])('sort stably, NaN last: $shape, $what', async ({ shape }) => {
    const data = repeated(shape[0]! * shape[1]!);
    await agree((_, x) => x.sort(1), data, shape, 0);
    await agree((_, x) => x.argsort(1).cast('f32'), data, shape, 0);
  });
});
