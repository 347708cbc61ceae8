// PT1 to PT5: the targets of the facade, with absolute figures and the ratio to what the device itself can do.

import type { GPUCompute } from '../../src/compute/index.ts';
import type { Tensor } from '../../src/index.ts';
import { ceilingVerdict, median, type Row, verdict } from './report.ts';
import { type Setup, values } from './setup.ts';

const mb = 2 ** 20;
const ms = (t: number): string => `${t < 10 ? t.toFixed(2) : t.toFixed(0)} ms`;
const rate = (bytes: number, t: number): string => `${(bytes / t / 1e6).toFixed(2)} GB/s`;

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const value = await work();
  return [value, performance.now() - start];
}

/** Rounds of a transfer after which the engine has compiled it: before, its interpreter is measured. */
const warmUp = 200;

/** 10 MB up and down, cold and warm, beside the device's own copies. */
export async function transfers({ make }: Setup): Promise<Row[]> {
  const gpu = make();
  const data = values(2_621_440);
  await gpu.devices.ready();
  const [cold, coldUp] = await timed(() => gpu.transferToGPU(data));
  const [first, coldDown] = await timed(() => gpu.transferFromGPU(cold));
  const equal = first.every((v, i) => v === data[i]);
  const { device } = await gpu.devices.ready();
  const bytes = new Uint8Array(data.buffer);
  const facade = { up: [] as number[], down: [] as number[] };
  const own = { up: [] as number[], down: [] as number[] };
  const byFacade = async (): Promise<void> => {
    const [t, up] = await timed(() => gpu.transferToGPU(data));
    facade.up.push(up);
    facade.down.push((await timed(() => gpu.transferFromGPU(t)))[1]);
    t.dispose();
  };
  const byDevice = async (): Promise<void> => {
    // Both have to find room: a copy alone would be measured against a copy into memory that was just used.
    const [buffer, up] = await timed(async () => {
      const made = device.allocate(bytes.byteLength);
      device.write(made, bytes);
      await device.mark(false).whenDone();
      return made;
    });
    own.up.push(up);
    own.down.push((await timed(() => device.read(buffer)))[1]);
    device.release(buffer);
  };
  for (let i = 0; i < warmUp + 60; i++) {
    // Each follows the other as often as itself: whoever comes after a read finds the caches full of what was read.
    for (const work of i % 2 === 0 ? [byFacade, byDevice] : [byDevice, byFacade]) {
      if (i >= warmUp) global.gc?.();
      await work();
    }
  }
  const warm = (times: readonly number[]): number => median(times.slice(warmUp));
  const [up, down, write, read] = [warm(facade.up), warm(facade.down), warm(own.up), warm(own.down)];
  await gpu.dispose();
  const worst = Math.max(coldUp, coldDown, ...facade.up, ...facade.down);
  return [
    {
      id: 'PT1',
      what: '10 MB to the device and back, each way',
      figures: `cold ${ms(coldUp)} / ${ms(coldDown)}, warm ${ms(up)} / ${ms(down)} (${rate(10 * mb, up)} / ${rate(10 * mb, down)})`,
      limit: 'below 1 s, bytes equal',
      verdict: verdict(equal && worst < 1000),
      data: { coldUp, coldDown, up, down, equal },
    },
    {
      id: 'PT1 ratio',
      what: "the device's own copy time / the facade's",
      figures: `up ${(write / up).toFixed(2)}, down ${(read / down).toFixed(2)}`,
      limit: 'at least 0.8',
      verdict: verdict(write / up >= 0.8 && read / down >= 0.8),
      data: { write, read, up: write / up, down: read / down },
    },
  ];
}

/** 10 × 1 MB: transfer, mean of squares, read back, with the start of everything. */
export async function batch({ make }: Setup): Promise<Row[]> {
  const inputs = Array.from({ length: 10 }, (_, i) => values(262_144, i + 1));
  const run = async (gpu: GPUCompute): Promise<number[]> => {
    const tensors = await Promise.all(inputs.map((d) => gpu.transferToGPU(d)));
    const results = await gpu.computeBatch(tensors);
    const out = await Promise.all(results.map(async (r) => Number((await gpu.transferFromGPU(r))[0])));
    for (const t of [...tensors, ...results]) t.dispose();
    return out;
  };
  const gpu = make();
  const [got, cold] = await timed(() => run(gpu));
  const warm: number[] = [];
  for (let i = 0; i < 10; i++) warm.push((await timed(() => run(gpu)))[1]);
  await gpu.dispose();
  const right = inputs.every((d, i) => {
    let sum = 0;
    for (const v of d) sum += v * v;
    return Math.abs(got[i]! - sum / d.length) <= 1e-6 * (sum / d.length);
  });
  return [
    {
      id: 'PT2',
      what: 'batch of 10 × 1 MB, opening the device included',
      figures: `cold ${ms(cold)}, warm ${ms(median(warm))}`,
      limit: 'below 2 s, right to 1e-6',
      verdict: verdict(right && cold < 2000),
      data: { cold, warm: median(warm), right },
    },
  ];
}

/** The busy share over 5 s windows, with a ceiling and without. */
export async function ceiling({ make }: Setup): Promise<Row[]> {
  const most = 0.8;
  const without = (await busyShares(make(), 6000)).shares;
  const { shares, readings } = await busyShares(make({ utilizationCeiling: most }), 9000);
  const free = without.length === 0 ? null : median(without);
  const percent = (v: number): string => (100 * v).toFixed(0);
  const range = shares.length === 0 ? 'none' : `${percent(Math.min(...shares))} to ${percent(Math.max(...shares))} %`;
  const read = readings.length > 0 ? `, utilisation read ${median(readings).toFixed(0)} %` : '';
  return [
    {
      id: 'PT4',
      what: 'share of the time the device is busy with a ceiling of 80 %, any 5 s',
      figures: `${range}${read} (without a ceiling ${free === null ? 'unknown' : `${percent(free)} %`})`,
      limit: '80 % ± 5, both sides',
      verdict: ceilingVerdict(shares, most, free),
      data: { least: Math.min(...shares), most: Math.max(...shares), without: free, readings: readings.length },
    },
  ];
}

/** Batches one after the other for a while: the shares of 5 s windows in which the device was busy, and its own readings. */
async function busyShares(gpu: GPUCompute, forMs: number): Promise<{ shares: number[]; readings: number[] }> {
  const tensors: Tensor[] = [];
  for (let i = 0; i < 20; i++) tensors.push(await gpu.transferToGPU(values(262_144, i + 1)));
  const { timeline } = gpu.monitor;
  const [shares, readings]: [number[], number[]] = [[], []];
  const start = performance.now();
  while (performance.now() - start < forMs) {
    for (const r of await gpu.computeBatch(tensors, (x) => x.sin().exp().tanh())) r.dispose();
    const busy = timeline.busy(gpu.devices.getActiveDevice()!, 5000);
    if (performance.now() - start > 5000 && busy !== null) shares.push(busy);
    const reading = await gpu.monitor.getGPUUtilization();
    if (reading !== null) readings.push(reading);
  }
  await gpu.dispose();
  return { shares, readings };
}

/** 16 batches of 10 × 64 KB at once. */
export async function concurrent({ make }: Setup): Promise<Row[]> {
  const gpu = make();
  const sets: Tensor[][] = [];
  for (let k = 0; k < 16; k++) {
    const set: Tensor[] = [];
    for (let i = 0; i < 10; i++) set.push(await gpu.transferToGPU(values(16_384, 10 * k + i)));
    sets.push(set);
  }
  const run = async (set: Tensor[]): Promise<number[]> => {
    const results = await gpu.computeBatch(set);
    return Promise.all(results.map(async (r) => Number((await gpu.transferFromGPU(r))[0])));
  };
  const [together, cold] = await timed(() => Promise.all(sets.map(run)));
  const [sequential, one] = await timed(async () => {
    const out: number[][] = [];
    for (const set of sets) out.push(await run(set));
    return out;
  });
  const [, warm] = await timed(() => Promise.all(sets.map(run)));
  await gpu.dispose();
  const equal = together.every((list, k) => list.every((v, i) => v === sequential[k]![i]));
  return [
    {
      id: 'PT5',
      what: '16 batches of 10 × 64 KB at once',
      figures: `cold ${ms(cold)}, warm ${ms(warm)}, one after the other ${ms(one)}`,
      limit: 'below 1 s, equal to the sequence',
      verdict: verdict(equal && cold < 1000),
      data: { cold, warm, sequential: one, equal },
    },
  ];
}
