// PT1 to PT5: the targets of the facade, with absolute figures and the ratio to what the device itself can do.

import type { GPUCompute } from '../../src/compute/index.ts';
import type { Tensor } from '../../src/tensor/tensor.ts';
import { median, type Row, verdict } from './report.ts';
import { type Setup, values } from './setup.ts';

const mb = 2 ** 20;
const ms = (t: number): string => `${t < 10 ? t.toFixed(2) : t.toFixed(0)} ms`;
const rate = (bytes: number, t: number): string => `${(bytes / t / 1e6).toFixed(2)} GB/s`;

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const value = await work();
  return [value, performance.now() - start];
}

/** 10 MB up and down, cold and warm, beside the device's own copies. */
export async function transfers({ make }: Setup): Promise<Row[]> {
  const gpu = make();
  const data = values(2_621_440);
  await gpu.devices.ready();
  const [cold, coldUp] = await timed(() => gpu.transferToGPU(data));
  const [first, coldDown] = await timed(() => gpu.transferFromGPU(cold));
  const equal = first.every((v, i) => v === data[i]);
  const ups: number[] = [];
  const downs: number[] = [];
  const writes: number[] = [];
  const reads: number[] = [];
  const { device } = gpu.devices.current!;
  const bytes = new Uint8Array(data.buffer);
  for (let i = 0; i < 12; i++) {
    const [t, up] = await timed(() => gpu.transferToGPU(data));
    const [, down] = await timed(() => gpu.transferFromGPU(t));
    t.dispose();
    const buffer = device.allocate(bytes.byteLength);
    const [, write] = await timed(async () => {
      device.write(buffer, bytes);
      await device.mark().whenDone();
    });
    const [, read] = await timed(() => device.read(buffer));
    device.release(buffer);
    if (i < 2) continue;
    ups.push(up);
    downs.push(down);
    writes.push(write);
    reads.push(read);
  }
  const [up, down, write, read] = [median(ups), median(downs), median(writes), median(reads)];
  await gpu.dispose();
  const worst = Math.max(coldUp, coldDown, ...ups, ...downs);
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

/** What is held from the driver beyond the live tensors, at the peak of a thousand random sizes. */
export async function overhead({ make }: Setup): Promise<Row[]> {
  const gpu = make();
  const station = await gpu.devices.ready();
  const { runtime } = station;
  const limit = Math.min(768 * mb, station.device.memory().free * 0.4);
  let s = 11;
  const next = (): number => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
  const live: Tensor[] = [];
  const data = new Float32Array(16 * mb);
  let [bytes, peakLive, peakReserved] = [0, 0, 0];
  const drop = (): void => {
    const t = live.splice(Math.floor(next() * live.length), 1)[0]!;
    bytes -= t.size * 4;
    t.dispose();
  };
  for (let i = 0; i < 1000; i++) {
    // Log-uniform between 64 KB and 64 MB.
    const size = Math.floor(2 ** (14 + 10 * next()));
    while (live.length > 0 && bytes + 4 * size > limit) drop();
    live.push(runtime.tensor(data.subarray(0, size), [size]));
    bytes += 4 * size;
    if (i < 100) continue;
    peakLive = Math.max(peakLive, bytes);
    peakReserved = Math.max(peakReserved, runtime.memory.snapshot(station.id).reservedMb * mb);
  }
  await gpu.dispose();
  const share = (peakReserved - peakLive) / peakLive;
  return [
    {
      id: 'PT3',
      what: 'memory held beyond live tensors, 1,000 random sizes of 64 KB to 64 MB',
      figures: `${(100 * share).toFixed(1)} % of ${(peakLive / mb).toFixed(0)} MB`,
      limit: 'below 10 %',
      verdict: verdict(share < 0.1),
      data: { peakLive, peakReserved, share },
    },
  ];
}

/** The busy share over 5 s windows with a ceiling. */
export async function ceiling({ make }: Setup): Promise<Row[]> {
  const gpu = make({ utilizationCeiling: 0.8 });
  const tensors: Tensor[] = [];
  for (let i = 0; i < 20; i++) tensors.push(await gpu.transferToGPU(values(262_144, i + 1)));
  const { timeline } = gpu.monitor;
  const shares: number[] = [];
  const readings: number[] = [];
  const start = performance.now();
  while (performance.now() - start < 9000) {
    for (const r of await gpu.computeBatch(tensors, (x) => x.sin().exp().tanh())) r.dispose();
    const busy = timeline.busy(gpu.devices.getActiveDevice()!, 5000);
    if (performance.now() - start > 5000 && busy !== null) shares.push(busy);
    const reading = await gpu.monitor.getGPUUtilization();
    if (reading !== null) readings.push(reading);
  }
  await gpu.dispose();
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  return [
    {
      id: 'PT4',
      what: 'share of the time the device is busy with a ceiling of 80 %, any 5 s',
      figures: `${(100 * least).toFixed(0)} to ${(100 * most).toFixed(0)} %${readings.length > 0 ? `, utilisation read ${median(readings).toFixed(0)} %` : ''}`,
      limit: '80 % ± 5 at most',
      verdict: shares.length === 0 ? 'not measured' : verdict(most <= 0.85),
      data: { least, most, readings: readings.length },
    },
  ];
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
