// What the runtime says of its memory, and what it does by it: lost devices, pools, clean-ups, the 80 % rule, waits.

import { describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type RuntimeOptions } from '../../src/index.ts';
import { within } from '../support/time.ts';

const MiB = 2 ** 20;
const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));

describe('a lost device', () => {
  it('has no room for anything', async () => {
    let gpu: FaultyDevice | undefined;
    const rt = await createRuntime({
      devices: ['reference', 'cpu'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
      wrap: (d) => {
        if (d.id !== 'reference') return d;
        gpu = withFaults(d, { faults: [] });
        return Object.assign(gpu, { caps: { ...d.caps, immortal: false } });
      },
    });
    expect(rt.memory.canAllocate(1, 0.1, 'reference')).toBe(true);
    gpu!.lose('unplugged');
    await turns();
    expect(rt.memory.canAllocate(1, 0.1, 'reference')).toBe(false);
    expect(rt.memory.snapshot('reference').availableMb).toBe(0);
    expect(rt.memory.canAllocate(1, 0.1, 'cpu')).toBe(true);
    await rt.close();
  });
});

describe('rt.memory.pool', () => {
  it('is of the device that is named, with the limits that are given first', async () => {
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    expect(() => rt.memory.pool('cuda:7')).toThrow(/'cuda:7' is not open/);
    const pool = rt.memory.pool('cpu', { maxBytes: 4 * MiB });
    expect(pool.stats().maxSizeMb).toBe(4);
    expect(rt.memory.pool('cpu')).toBe(pool);
    expect(rt.memory.pool()).toBe(pool);
    expect(() => rt.memory.pool('cpu', { maxBytes: MiB })).toThrow(/was made before/);
    await rt.close();
  });
});

describe('a clean-up', () => {
  it('gives back what forgotten tensors held, once they are found', async () => {
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    await (async () => {
      for (let i = 0; i < 8; i++) rt.full([1 << 18], i).compute();
      await rt.flush();
    })();
    expect(rt.device('cpu').pool!().reserved).toBeGreaterThanOrEqual(8 * MiB);
    rt.memory.cleanupMemory();
    for (
      const end = performance.now() + within(1000);
      rt.device('cpu').pool!().reserved > 0 && performance.now() < end;
    )
      await turns();
    expect(rt.stats().bytes).toBe(0);
    expect(rt.device('cpu').pool!().reserved).toBe(0);
    await rt.close();
  });
});

describe('a program that needs more than 80 % of what is free on a GPU', () => {
  /** The reference device as a GPU of 64 MiB that always looks faster. */
  const options = (mode: 'rules' | 'measured'): RuntimeOptions => ({
    devices: ['reference', 'cpu'],
    cpu: { threads: 1 },
    routing: { mode, cache: false },
    wrap: (d): Device => {
      if (d.id !== 'reference') return d;
      const memory = (): { total: number; free: number } => ({ total: 64 * MiB, free: 64 * MiB });
      const { host, ...caps } = d.caps;
      return Object.assign(d, { caps, memory });
    },
  });
  it.each(['rules', 'measured'] as const)('goes to the CPU (%s)', async (mode) => {
    const rt = await createRuntime(options(mode));
    const large = rt.ones([16 * MiB]).add(1);
    expect(rt.explain(large).device).toBe('cpu');
    await rt.close();
  });

  it('goes there by the rule, not by chance', async () => {
    const rt = await createRuntime(options('rules'));
    expect(rt.explain(rt.ones([16 * MiB]).add(1)).reason).toMatch(/more than 80 % of the/);
    expect(rt.explain(rt.ones([MiB]).add(1)).reason).not.toMatch(/80 %/);
    await rt.close();
  });
});

describe('synchronous waits', () => {
  it('count the time they take', async () => {
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = rt.full([1 << 22], 1).compute();
    x.dataSync();
    expect(rt.stats()).toMatchObject({ waits: 1 });
    expect(rt.stats().waitMs).toBeGreaterThan(0);
    await rt.close();
  });
});

describe('data that cannot be read at once', () => {
  it('is named with the device it is on and the one it is needed on', async () => {
    const deaf = (d: Device): Device =>
      d.id === 'reference' ? Object.assign(d, { caps: { ...d.caps, syncRead: false }, readSync: undefined }) : d;
    const rt = await createRuntime({
      devices: ['reference', 'cpu'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
      wrap: deaf,
    });
    const there = rt.tensor([1, 2], undefined, { device: 'reference' });
    expect(() => rt.scope({ device: 'cpu' }, () => there.add(1).dataSync())).toThrow(
      /data on reference is needed on cpu, and reference cannot be read synchronously/,
    );
    expect(() => rt.scope({ device: 'reference' }, () => rt.ones([2]).add(1).dataSync())).toThrow(
      /reference.*cannot be read synchronously/,
    );
    await rt.close();
  });
});
