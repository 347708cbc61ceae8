import { afterEach, describe, expect, it } from 'vitest';
import { facade, fakeGpu, TestClock, values } from '../../test/support/facade.ts';
import type { DegradationState } from '../batch/degradation.ts';
import type { GPUCompute } from './gpu-compute.ts';

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
        expect(told).toMatchObject([{ action: 'moved', device: 'cuda:0', to: 'cpu' }]);
        devices.clear();
        await rounds(5);
        expect([...devices]).toEqual(['cpu']);
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
      expect(told).toMatchObject([{ action: 'moved', device: 'cuda:0', to: 'cpu' }]);
      expect(await rounds(3)).toEqual(new Set(['cpu']));
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
