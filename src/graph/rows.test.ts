// Which kernels pass over the same rows as one launch, on a device that keeps rows on the chip.

import { beforeAll, describe, expect, it } from 'vitest';
import { MockCuda } from '../../test/support/cuda-mock.ts';
import { openCudaDevices } from '../devices/cuda/discover.ts';
import type { Capabilities } from '../devices/device.ts';
import { createRuntime, type Runtime, type Tensor } from '../index.ts';
import type { Node } from './node.ts';
import { patterns } from './patterns.ts';
import { makePlan } from './plan.ts';
import { trace } from './trace.ts';

describe('rows that one launch passes over', () => {
  let rt: Runtime;
  let caps: Capabilities;
  beforeAll(async () => {
    rt = await createRuntime({ devices: ['reference'], seed: 1 });
    const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
    const { devices } = await openCudaDevices({ ffi: new MockCuda(), host, cacheDir: false });
    caps = devices[0]!.caps;
  });

  const launches = (t: Tensor, on = caps): string[] => {
    const { node } = t as unknown as { node: Node };
    const { steps } = makePlan(trace([node]), [node], on, patterns);
    return steps.map(({ work }) => (work.kind === 'kernel' ? 'kernel' : work.op));
  };
  const some = (...shape: number[]): Tensor => rt.zeros(shape).compute();

  it('are those of a softmax and a layer norm', () => {
    expect(launches(some(200, 128).softmax(1))).toEqual(['rows']);
    expect(launches(some(200, 128).layerNorm(1).mul(some(128)).add(some(128)))).toEqual(['rows']);
  });

  it('are those of a group norm, whose last step has other axes', () => {
    const x = some(8, 64, 4, 8);
    const norm = x.reshape([8, 32, 64]).layerNorm(-1).reshape([8, 64, 4, 8]);
    expect(launches(norm.mul(some(64, 1, 1)).add(some(64, 1, 1)))).toEqual(['rows']);
  });

  it('are no longer than the chip has room for', () => {
    const rows = (t: Tensor, bytes: number): string[] => launches(t, { ...caps, rows: { bytes, columnBytes: 1024 } });
    expect(rows(some(200, 4096).softmax(1), 16384)).toEqual(['rows']);
    expect(rows(some(200, 4096).softmax(1), 16383)).not.toContain('rows');
    expect(rows(some(2, 256, 128).variance({ axis: 1 }), 0)).toEqual(['rows']);
    expect(rows(some(2, 257, 128).variance({ axis: 1 }), 0)).toEqual(['kernel', 'kernel']);
  });

  it('bind no more buffers than a launch can', () => {
    const [x, ...others] = Array.from({ length: 7 }, () => some(200, 128)) as [Tensor, ...Tensor[]];
    const sum = (list: readonly Tensor[]): Tensor => list.reduce((a, b) => a.add(b), x);
    const mean = sum(others.slice(0, 3)).mean({ axis: 1, keepdims: true });
    const scaled = sum(others.slice(3)).mul(mean);
    // Seven operands, the mean, which a tensor holds, and the result; each of the two kernels alone binds less.
    expect(launches(scaled, { ...caps, maxBuffers: 9 })).toEqual(['rows']);
    expect(launches(scaled, { ...caps, maxBuffers: 8 })).toEqual(['kernel', 'kernel']);
  });

  it('are not those of shapes that have no sizes in common', () => {
    const x = some(200, 126);
    expect(launches(x.softmax(1).reshape([126, 200]).mul(some(126, 1)))).toEqual(['rows', 'kernel']);
  });
});
