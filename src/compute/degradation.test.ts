import { afterEach, describe, expect, it } from 'vitest';
import { facade, fakeGpu, TestClock, values } from '../../test/support/facade.ts';
import { DegradationHandler, type DegradationState } from './degradation.ts';
import type { GPUCompute } from './gpu-compute.ts';

type Told = DegradationState & { readonly at: number };

interface Load {
  /** How slow the first device is at a time, in seconds. */
  readonly factor: (s: number) => number;
  /** How slow the other one is, against the first in normal times; none without it. */
  readonly other?: (s: number) => number;
  /** Bytes of a chunk at a time. */
  readonly bytes?: (s: number, random: number) => number;
}

/** Ten chunks a second. Tells what was told, and where each chunk ran. */
function run(seconds: number, { factor, other, bytes = (_s, r) => 1e6 * (1 + 3 * r) }: Load) {
  const clock = new TestClock();
  const told: Told[] = [];
  const ran: { device: string; purpose: string; at: number }[] = [];
  const handler = new DegradationHandler(clock, (state) => told.push({ ...state, at: clock.time }));
  let seed = 3;
  const random = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let i = 0; i < seconds * 10; i++) {
    const s = i / 10;
    const way = handler.way('gpu', 'op', 1000);
    const size = bytes(s, random()) * way.scale;
    const slowness = way.device === 'gpu' ? factor(s) : other!(s);
    const ms = (0.2 + size / 1e6) * slowness * (1 + 0.1 * (random() - 0.5));
    handler.note(way, size, ms, () => (other ? 'cpu' : undefined));
    ran.push({ device: way.device, purpose: way.purpose, at: clock.time });
    clock.time += 100;
  }
  return { told, ran };
}

describe('a slow-down of a device', () => {
  it('that lasts moves the work to a faster device, is told once, and ends when the first one is well', () => {
    const { told, ran } = run(300, { factor: (s) => (s > 30 && s < 90 ? 4 : 1), other: () => 2 });
    expect(told.map((t) => t.action)).toEqual(['moved', 'ended']);
    expect(told[0]).toMatchObject({ device: 'gpu', operation: 'op', to: 'cpu' });
    expect(told[0]!.slowdown).toBeCloseTo(4, 0);
    expect(told[0]!.at).toBeLessThan(36_000);
    expect(told[1]!.at).toBeGreaterThan(90_000);
    // Tried 10, 30, 70 s after the move: well by the third time.
    expect(told[1]!.at).toBeLessThan(36_000 + 72_000);
    expect(ran.at(-1)).toMatchObject({ device: 'gpu', purpose: 'work' });
  });

  it('costs two chunks per trial, and trials become rare', () => {
    const { told, ran } = run(1800, { factor: (s) => (s > 30 ? 4 : 1), other: () => 2 });
    expect(told.map((t) => t.action)).toEqual(['moved']);
    const trials = ran.filter((r) => r.purpose === 'trial');
    expect(trials.length).toBeGreaterThanOrEqual(12);
    expect(trials.length).toBeLessThanOrEqual(22);
    const away = ran.filter((r) => r.at > told[0]!.at);
    expect(away.filter((r) => r.device === 'gpu')).toHaveLength(trials.length);
  });

  it('makes chunks smaller where no other device is faster, or there is none', () => {
    for (const other of [undefined, () => 20]) {
      const { told, ran } = run(200, { factor: (s) => (s > 30 && s < 90 ? 2.5 : 1), ...(other && { other }) });
      expect(told.map((t) => t.action)).toEqual(['smaller chunks', 'ended']);
      expect(told[0]).toMatchObject({ device: 'gpu', to: 'gpu' });
      // Finding out costs two small chunks.
      expect(ran.filter((r) => r.device === 'cpu')).toHaveLength(other ? 2 : 0);
    }
  });

  it('that is short, small, or only larger work, changes nothing', () => {
    const other = () => 0.5;
    expect(run(120, { factor: (s) => (s % 30 < 1 ? 4 : 1), other }).told).toEqual([]);
    expect(run(120, { factor: (s) => (s > 40 ? 1.2 : 1), other }).told).toEqual([]);
    expect(run(120, { factor: () => 1, other, bytes: (s) => (s > 40 ? 1e8 : 1e3) }).told).toEqual([]);
    // A fixed cost that is most of the time says nothing about work a thousand times as large.
    expect(run(120, { factor: () => 1, other, bytes: (s) => (s > 40 ? 1e6 : 1e3) }).told).toEqual([]);
  });

  it('that comes and goes changes something every ten seconds at most', () => {
    for (const period of [4, 7, 11, 20, 33]) {
      const { told } = run(300, { factor: (s) => (s > 20 && s % period < period / 2 ? 3 : 1), other: () => 2 });
      for (const [i, { at }] of told.slice(1).entries()) expect(at - told[i]!.at).toBeGreaterThanOrEqual(10_000);
    }
  });

  it('that stays for good becomes the normal state, and work comes home if the other device becomes slower still', () => {
    expect(run(1500, { factor: (s) => (s > 30 ? 2 : 1) }).told.map((t) => t.action)).toEqual([
      'smaller chunks',
      'ended',
    ]);
    const both = run(600, { factor: (s) => (s > 30 ? 4 : 1), other: (s) => (s > 100 ? 9 : 2) });
    expect(both.told.map((t) => t.action)).toEqual(['moved', 'ended']);
    expect(both.ran.at(-1)!.device).toBe('gpu');
  });
});

describe('the facade on a device that becomes slow', () => {
  const open: GPUCompute[] = [];
  afterEach(async () => {
    for (const gpu of open.splice(0)) await gpu.dispose();
  });

  /** A fake GPU whose launches take as long as told, beside a device that takes 3 ms. */
  function slowing(options: { readonly syncRead?: boolean; readonly handle?: boolean } = {}) {
    const clock = new TestClock();
    const pace = { gpu: 1 };
    const fake = fakeGpu({
      ...(options.syncRead === undefined ? {} : { syncRead: options.syncRead }),
      launched: (device) => {
        clock.time += device === 'cuda:0' ? pace.gpu : 3;
      },
    });
    const { gpu } = facade(fake, { manager: { clock }, handleDegradation: options.handle ?? true });
    open.push(gpu);
    const told: DegradationState[] = [];
    gpu.on('degradation', (e) => told.push(e));
    return { gpu, clock, pace, told };
  }

  for (const [what, op] of [
    ['a function', (x: { mul(y: number): unknown }) => x.mul(3)],
    ['a named operation', 'square'],
  ] as const) {
    for (const syncRead of [true, false]) {
      it(`moves ${what} elsewhere and back, with the right results (${syncRead ? 'read at once' : 'read with a wait'})`, async () => {
        const { gpu, clock, pace, told } = slowing({ syncRead });
        const inputs = [await gpu.transferToGPU(values(300)), await gpu.transferToGPU(values(300, 2))];
        const want = (v: number): number => Math.fround(typeof op === 'string' ? v * v : v * 3);
        const devices = new Set<string | null>();
        const rounds = async (count: number): Promise<void> => {
          for (let i = 0; i < count; i++) {
            const results = await gpu.processBatch(inputs, op as never);
            for (const [k, r] of results.entries()) {
              devices.add(gpu.deviceOf(r));
              if (i === count - 1) {
                expect(await gpu.transferFromGPU(r)).toEqual(values(300, k + 1).map(want));
              }
              r.dispose();
            }
            clock.time += 200;
          }
        };
        await rounds(40);
        expect(told).toEqual([]);
        expect([...devices]).toEqual(['cuda:0']);
        pace.gpu = 10;
        await rounds(40);
        expect(told).toMatchObject([{ action: 'moved', device: 'cuda:0', to: 'reference' }]);
        devices.clear();
        await rounds(5);
        expect([...devices]).toEqual(['reference']);
        pace.gpu = 1;
        await rounds(200);
        expect(told.map((t) => t.action)).toEqual(['moved', 'ended']);
        devices.clear();
        await rounds(5);
        expect([...devices]).toEqual(['cuda:0']);
        for (const t of inputs) t.dispose();
        expect(gpu.monitor.getMemoryUsage().numTensors).toBe(0);
      });
    }
  }

  for (const [what, op] of [
    ['a function', (x: { mul(y: number): unknown }) => x.mul(3)],
    ['rows of a block', 'square'],
  ] as const) {
    it(`moves a dataset elsewhere and back, with the right results (${what})`, async () => {
      const { gpu, clock, pace, told } = slowing({ syncRead: false });
      const records = [values(300), values(300, 2), values(300, 3)];
      const want = (v: number): number => Math.fround(typeof op === 'string' ? v * v : v * 3);
      const rounds = async (count: number): Promise<Set<string>> => {
        const devices = new Set<string>();
        for (let i = 0; i < count; i++) {
          const { results, device } = await gpu.processDataset(records, { op: op as never });
          expect(results).toEqual(records.map((r) => r.map(want)));
          devices.add(device);
          clock.time += 600;
        }
        return devices;
      };
      expect([await rounds(20), told]).toEqual([new Set(['cuda:0']), []]);
      pace.gpu = 10;
      await rounds(20);
      expect(told).toMatchObject([{ action: 'moved', device: 'cuda:0', to: 'reference' }]);
      expect(await rounds(3)).toEqual(new Set(['reference']));
      pace.gpu = 1;
      await rounds(60);
      expect(told.map((t) => t.action)).toEqual(['moved', 'ended']);
      expect(await rounds(5)).toEqual(new Set(['cuda:0']));
      expect(gpu.monitor.getMemoryUsage().numTensors).toBe(0);
    });
  }

  it('stays where it is if it is told to', async () => {
    const { gpu, clock, pace, told } = slowing({ handle: false });
    const input = await gpu.transferToGPU(values(300));
    for (let i = 0; i < 100; i++) {
      if (i === 40) pace.gpu = 10;
      for (const r of await gpu.processBatch([input], 'square')) {
        expect(gpu.deviceOf(r)).toBe('cuda:0');
        r.dispose();
      }
      clock.time += 200;
    }
    expect(told).toEqual([]);
  });
});
