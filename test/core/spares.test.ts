// Values that a program computes on the way: kept while somebody may use them, not once it is known that nobody does.

import { describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type Tensor } from '../../src/index.ts';

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;
const side = 512;

describe('a step that a tensor holds although nobody asked for it', () => {
  it('is kept at first, and no longer when several runs have shown that nobody uses it', async () => {
    await using rt = await createRuntime(cpu);
    const [a, b] = [rt.full([side, side], 0.5).compute(), rt.full([side, side], 2).compute()];
    const held: Tensor[] = [];
    for (let i = 0; i < 6; i++) {
      const product = a.matmul(b);
      product.add(1).compute().dispose();
      held.push(product);
    }
    expect(held.map((t) => t.computed)).toEqual([true, true, true, false, false, false]);
    // Asked for after all, it is computed.
    expect((await held[5]!.data())[7]).toBe(side);
    expect((await held[0]!.data())[7]).toBe(side);
  });

  it('takes no more memory than a few runs, though it would fit into a cache', async () => {
    await using rt = await createRuntime(cpu);
    const x = rt.full([64, 512], 0.5).compute();
    const held: Tensor[] = [];
    for (let i = 0; i < 6; i++) {
      const centred = x.sub(x.mean({ axis: 1, keepdims: true }));
      centred.matmul(centred.transpose()).compute().dispose();
      held.push(centred);
    }
    expect(held.map((t) => t.computed)).toEqual([true, true, true, false, false, false]);
    expect((await held[5]!.data())[7]).toBe(0);
  });

  it.each([
    ['read', async (t: Tensor) => void (await t.data())],
    ['read at once', async (t: Tensor) => void t.dataSync()],
    ['used by another op', async (t: Tensor) => t.mul(2).compute().dispose()],
    ['used by another program', async (t: Tensor) => t.mul(2).add(t.sum()).compute().dispose()],
  ])('is kept for good where it is %s', async (_, use) => {
    await using rt = await createRuntime(cpu);
    const [a, b] = [rt.full([side, side], 0.5).compute(), rt.full([side, side], 2).compute()];
    for (let i = 0; i < 6; i++) {
      const product = a.matmul(b);
      product.add(1).compute().dispose();
      expect(product.computed).toBe(true);
      if (i === 1) await use(product);
      product.dispose();
    }
  });

  it('is kept where it is small on a device that is not the host, and else treated as large ones are', async () => {
    const computed = async (wrap?: (device: Device) => Device): Promise<boolean[]> => {
      await using rt = await createRuntime({ ...cpu, ...(wrap ? { wrap } : {}) });
      const a = rt.full([8, 8], 0.5).compute();
      return Array.from({ length: 6 }, () => {
        const product = a.matmul(a);
        product.add(1).compute().dispose();
        return product.computed;
      });
    };
    expect(await computed()).toEqual([true, true, true, false, false, false]);
    const away = (device: Device): Device => {
      const other = withFaults(device, { faults: [] });
      return Object.defineProperty(other, 'caps', { value: { ...other.caps, host: false } });
    };
    expect(await computed(away)).toEqual(Array(6).fill(true));
  });
});
