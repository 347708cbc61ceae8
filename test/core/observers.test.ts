// What a watcher of a runtime gets beyond the events of work: a logger from the start, the router's measurements, figures per device.

import { describe, expect, it } from 'vitest';
import { ArgumentError, createRuntime, type EventName, type Events } from '../../src/index.ts';

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;

describe('a logger', () => {
  it('gets the events that it names, from the first', async () => {
    const told: string[] = [];
    const logger = Object.assign((kind: EventName) => told.push(kind), { kinds: ['launch', 'wait'] as const });
    await using rt = await createRuntime({ ...cpu, logger });
    await rt.tensor([1, 2, 3]).add(1).data();
    expect(told).toEqual(['launch', 'wait']);
  });

  it('gets everything if it names nothing', async () => {
    const told = new Set<string>();
    await using rt = await createRuntime({ ...cpu, logger: (kind) => told.add(kind) });
    await rt.tensor([1, 2, 3]).add(1).data();
    expect([...told]).toEqual(expect.arrayContaining(['compile', 'launch', 'upload', 'download', 'wait']));
  });

  it('that is no function is refused before a device is opened', async () => {
    await expect(createRuntime({ ...cpu, logger: 'stderr' as never })).rejects.toThrow(ArgumentError);
  });
});

describe('what the router measures', () => {
  it('is told with what it had expected', async () => {
    await using rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'measured', cache: false },
    });
    const told: Events['measured'][] = [];
    rt.on('measured', (e) => told.push(e));
    const x = rt.ones([4096]);
    for (let i = 0; i < 8; i++) await x.mul(2).add(i).data();
    expect(told.length).toBeGreaterThan(0);
    for (const e of told) {
      expect(e.ms).toBeGreaterThan(0);
      expect(e.predictedMs).toBeGreaterThan(0);
      expect(['cpu', 'reference']).toContain(e.device);
    }
  });
});

describe('figures per device', () => {
  it('count launches and waits where they happened', async () => {
    await using rt = await createRuntime({ devices: ['cpu', 'reference'], routing: { mode: 'off' } });
    await rt.tensor([1, 2]).add(1).data();
    await rt.scope({ device: 'reference' }, () => rt.tensor([1, 2]).add(2).data());
    const { devices, counters } = rt.snapshot();
    const of = (id: string) => devices.find((d) => d.id === id)!;
    expect(of('cpu').launches).toBe(1);
    expect(of('reference').launches).toBe(1);
    expect(of('cpu').waits + of('reference').waits).toBe(counters.waits);
  });

  it('show the pool of a device only if there is one', async () => {
    await using rt = await createRuntime(cpu);
    expect(rt.snapshot().memory.places[0]!.pool).toBe(null);
    const pool = rt.memory.pool('cpu', { maxBytes: 2 ** 20 });
    pool.release(pool.take(1000));
    pool.release(pool.take(1000));
    expect(rt.snapshot().memory.places[0]!.pool).toMatchObject({ hits: 1, misses: 1, requestedBytes: 2000 });
  });

  it('name the largest holders of memory, largest first', async () => {
    await using rt = await createRuntime({ ...cpu, development: true });
    const small = rt.zeros([10_000]).add(1).compute();
    const large = rt.zeros([50_000]).add(1).compute();
    const [first, second] = rt.memory.holders(2);
    expect(first).toMatchObject({ shape: [50_000], bytes: 200_000, device: 'cpu', dtype: 'f32' });
    expect(first!.site).toMatch(/observers\.test\.ts/);
    expect(second!.shape).toEqual([10_000]);
    expect(rt.memory.holders(5, 'webgpu:0')).toEqual([]);
    small.dispose();
    large.dispose();
  });
});
