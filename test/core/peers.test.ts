// Bytes between devices: straight from one to the other where there is a way, else through the host without blocking it.

import { describe, expect, it } from 'vitest';
import { createCpuDevice, type Device } from '../../src/devices.ts';
import { createRuntime, type Events, type Runtime, withFaults } from '../../src/index.ts';

const elements = 1 << 26;

/** A device under another name that counts its reads; without `peers` it knows no way from other devices, and is no host. */
async function place(id: string, peers: boolean): Promise<{ device: Device; counts: Record<string, number> }> {
  const inner = await createCpuDevice({ id, threads: 1 });
  const counts: Record<string, number> = { readSync: 0, read: 0, copyFrom: 0 };
  const hidden = new Set(peers ? [] : ['copyFrom', 'reaches', 'readTyped']);
  const device = new Proxy(inner, {
    get: (target, key) => {
      if (hidden.has(key as string)) return undefined;
      if (key === 'caps' && !peers) return { ...target.caps, host: false };
      if (key === 'inner') return target;
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (key in counts) counts[key as string]!++;
        const given = args.map((a) => (a as { inner?: unknown } | null)?.inner ?? a);
        return (value as (...args: unknown[]) => unknown).apply(target, given);
      };
    },
  });
  return { device, counts };
}

async function open(peers: boolean): Promise<{ rt: Runtime; counts: readonly Record<string, number>[] }> {
  const places = [await place('cpu:0', peers), await place('cpu:1', peers)];
  const rt = await createRuntime({ devices: places.map((p) => p.device), routing: { mode: 'off' } });
  // What opening took is not counted.
  for (const { counts } of places) for (const key of Object.keys(counts)) counts[key] = 0;
  return { rt, counts: places.map((p) => p.counts) };
}

describe.each([
  ['devices that reach each other', true],
  ['devices that do not', false],
])('256 MB between %s', (_, peers) => {
  it('go over without a wait of the host, and are right', async () => {
    const { rt, counts } = await open(peers);
    await using _closed = rt;
    const moves: Events['move'][] = [];
    const waits: Events['wait'][] = [];
    rt.on('move', (e) => moves.push(e));
    rt.on('wait', (e) => waits.push(e));
    const x = rt.scope({ device: 'cpu:0' }, () => rt.arange(elements).cast('f32').compute());
    expect(x.device).toBe('cpu:0');
    const before = rt.stats().waits;
    await x.to('cpu:1');
    expect(x.device).toBe('cpu:1');
    expect(rt.stats().waits).toBe(before);
    expect(waits).toEqual([]);
    expect(counts[0]!.readSync).toBe(0);
    expect(counts[0]!.read).toBe(peers ? 0 : 1);
    expect(counts[1]!.copyFrom).toBe(peers ? 1 : 0);
    expect(moves).toMatchObject([{ from: 'cpu:0', to: 'cpu:1', bytes: 4 * elements }]);
    const ends = await x.slice([[elements - 3, elements]]).data();
    expect([...ends]).toEqual([elements - 3, elements - 2, elements - 1].map(Math.fround));
    const places = rt.snapshot().memory.places;
    expect(places.map((p) => p.live >= 4 * elements)).toEqual([false, true]);
  }, 60_000);
});

describe('a program whose inputs are elsewhere', () => {
  it('gets them straight from the other device', async () => {
    const { rt, counts } = await open(true);
    await using _closed = rt;
    const x = rt.scope({ device: 'cpu:0' }, () => rt.ones([100_000]).mul(3).compute());
    const y = rt.scope({ device: 'cpu:1' }, () => x.add(1).compute());
    expect(y.device).toBe('cpu:1');
    expect(counts[0]).toMatchObject({ readSync: 0, read: 0 });
    expect(counts[1]!.copyFrom).toBe(1);
    expect(y.sum().item()).toBe(400_000);
  });
});

describe('a copy that fails', () => {
  it.each([
    ['read', 'transient'],
    ['read', 'lost'],
    ['write', 'transient'],
    ['write', 'out-of-memory'],
  ] as const)('at the %s with %s ends in the right bytes, and nothing is lost', async (at, as) => {
    const inner = [
      await createCpuDevice({ id: 'cpu:0', threads: 1 }),
      await createCpuDevice({ id: 'cpu:1', threads: 1 }),
    ];
    const faulty = inner.map((d) => withFaults(d, { faults: [], rebirth: { faults: [] } }));
    await using rt = await createRuntime({ devices: faulty, routing: { mode: 'off' } });
    const x = rt.scope({ device: 'cpu:0' }, () => rt.ones([10_000]).mul(2).compute());
    const counted = faulty[at === 'read' ? 0 : 1]!;
    counted.plan({ faults: [{ at, nth: counted.counters().calls[at] + 1, as }] });
    await x.to('cpu:1').catch(() => x);
    expect((await x.sum().data())[0]).toBe(20_000);
    expect(counted.counters().injected.length).toBeLessThanOrEqual(1);
    expect(faulty.flatMap((f) => f.counters().injected).length + (faulty[0]!.successor ? 1 : 0)).toBeGreaterThan(0);
  });
});
