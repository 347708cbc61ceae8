// What the facade costs over the layer below: the same work with it and without it, in turns, medians.

import type { Tensor } from '../../src/index.ts';
import { median, type Row, verdict } from './report.ts';
import { type Setup, values } from './setup.ts';

/** Rounds, and how many of them warm up: by then everything is compiled, on both sides. */
const rounds: Readonly<Record<number, readonly [all: number, warm: number]>> = {
  256: [6000, 3000],
  262144: [1200, 600],
};

export async function facadeCost({ make }: Setup): Promise<Row[]> {
  const gpu = make();
  const station = await gpu.devices.ready();
  const { runtime, device } = station;
  const rows: Row[] = [];
  const compare = async (
    length: number,
    what: string,
    facade: () => Promise<void>,
    below: () => Promise<void>,
  ): Promise<void> => {
    const [ours, theirs]: [number[], number[]] = [[], []];
    const [all, warm] = rounds[length]!;
    const timed = async (work: () => Promise<void>, into: number[]): Promise<void> => {
      const start = performance.now();
      await work();
      into.push(performance.now() - start);
    };
    for (let i = 0; i < all; i++) {
      // In turns, and each of them first as often as the other: whoever is second finds warm caches.
      if (i % 2 === 0) await timed(facade, ours);
      await timed(below, theirs);
      if (i % 2 === 1) await timed(facade, ours);
    }
    const [a, b] = [1000 * median(ours.slice(warm)), 1000 * median(theirs.slice(warm))];
    rows.push({
      id: 'cost',
      what,
      figures: `${a.toFixed(1)} µs against ${b.toFixed(1)} µs: ${(a - b).toFixed(1)} µs, ${((100 * (a - b)) / b).toFixed(1)} %`,
      limit: 'at most 5 % or 20 µs',
      verdict: verdict(a - b <= 20 || a - b <= 0.05 * b),
      data: { facade: a, below: b },
    });
  };
  for (const length of [256, 262_144]) {
    const data = values(length);
    const size = `${(4 * length) / 1024} KB`;
    await compare(
      length,
      `transfer of ${size} to the device`,
      async () => (await gpu.transferToGPU(data)).dispose(),
      async () => {
        const t = runtime.tensor(data, [length]);
        await device.mark(false).whenDone();
        t.dispose();
      },
    );
    const t = await gpu.transferToGPU(data);
    await compare(
      length,
      `transfer of ${size} back`,
      async () => void (await gpu.transferFromGPU(t)),
      async () => void (await t.data()),
    );
    const list = Array.from({ length: 10 }, () => runtime.tensor(data, [length]));
    const square = (x: Tensor): Tensor => x.mul(x);
    await compare(
      length,
      `batch of 10 × ${size}, a function`,
      async () => {
        for (const r of await gpu.processBatch(list, square)) r.dispose();
      },
      async () => {
        const results = list.map((x) => runtime.scope(() => square(x).compute()));
        await device.mark().whenDone();
        for (const r of results) r.dispose();
      },
    );
    for (const x of [...list, t]) x.dispose();
  }
  await gpu.dispose();
  return rows;
}
