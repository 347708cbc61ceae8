// The use cases of batches, each with every side in one run; the table shows all, also where one loses.

import { Worker } from 'node:worker_threads';
import { batchMatmul, createBatch } from '../../src/batch/index.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { Lattice } from '../../src/lattice/index.ts';
import { type Row, verdict } from '../compute/report.ts';
import { values } from '../compute/setup.ts';

const seconds = (ms: number): string => `${ms.toFixed(0)} ms`;

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const value = await work();
  return [value, performance.now() - start];
}

/** Threads that are told once what to do: no thread pool, no items, no batches. What they take nobody can undercut. */
class BareThreads {
  readonly #threads: readonly Worker[];

  constructor(count: number) {
    const file = new URL('../../bench/batch/lattice-bare.mjs', import.meta.url);
    this.#threads = Array.from({ length: count }, () => new Worker(file));
  }

  /** So much on each of the first so many threads; what they made. */
  async run(threads: number, lattices: number, steps: number): Promise<(readonly [number, number])[]> {
    const parts = this.#threads.slice(0, threads).map(
      (thread) =>
        new Promise<(readonly [number, number])[]>((resolve) => {
          thread.once('message', ({ made }) => resolve(made));
          thread.postMessage({ lattices, steps });
        }),
    );
    return (await Promise.all(parts)).flat();
  }

  async end(): Promise<void> {
    await Promise.all(this.#threads.map((t) => t.terminate()));
  }
}

/** A: 100 lattices (4, 10), each built, analysed and searched once. */
export async function lattices(): Promise<Row[]> {
  const rt = await createRuntime({ devices: ['cpu'], routing: { mode: 'off' } });
  const one = async (lattice: Lattice): Promise<readonly [number, number]> => {
    await lattice.build();
    const { edges } = await lattice.analyze();
    const { length } = await lattice.shortestPath(0, lattice.vertices - 1, { method: 'search' });
    await lattice.dispose();
    return [edges, length];
  };
  const make = (): Lattice[] =>
    Array.from({ length: 100 }, () => new Lattice({ dimensions: 4, size: 10, runtime: rt }));
  const inTurn = async () => {
    const out: (readonly [number, number])[] = [];
    for (const lattice of make()) out.push(await one(lattice));
    return out;
  };
  const together = async () => {
    await using batch = createBatch(make(), { maxBatchSize: 16, runtime: rt });
    return batch.executeParallel(one);
  };
  const module = new URL('../../bench/batch/lattice-work.mjs', import.meta.url);
  const threads = createBatch(
    Array.from({ length: 100 }, () => [4, 10] as const),
    { maxBatchSize: 16 },
  );
  const onThreads = () => threads.executeParallel<[number, number]>({ module, export: 'latticeWork' });
  // Cold: the threads start, load the library and open a runtime each.
  const [threaded, coldMs] = await timed(onThreads);
  const bare = new BareThreads(2);
  const bareTwo = () => bare.run(2, 50, 0);
  const made = [threaded, await inTurn(), await together(), await bareTwo()];
  // Threads compile for themselves: warm are all when each has done as much as the loop before it is measured.
  for (let round = 0; round < 80; round++) for (const side of [inTurn, together, onThreads, bareTwo]) await side();
  // What the loop takes of all cores: its kernels run on two threads where that helps.
  const before = process.cpuUsage();
  const [, loopMs] = await timed(inTurn);
  const { user, system } = process.cpuUsage(before);
  const busy = (user + system) / 1000 / loopMs;
  // Warm, in turns: the sides, then what two cores are worth without memory.
  const steps = 50_000_000;
  const sides: readonly (() => Promise<unknown>)[] = [
    inTurn,
    together,
    onThreads,
    bareTwo,
    () => bare.run(1, 100, 0),
    () => bare.run(1, 0, 2 * steps),
    () => bare.run(2, 0, steps),
  ];
  const rounds: number[][] = sides.map(() => []);
  /** Of all cores together: what else the machine does is not in it. */
  const processor: number[][] = sides.map(() => []);
  for (let round = 0; round < 9; round++)
    for (const [k, side] of sides.entries()) {
      const begin = process.cpuUsage();
      rounds[k]!.push((await timed(side))[1]);
      const took = process.cpuUsage(begin);
      processor[k]!.push((took.user + took.system) / 1000);
    }
  const middle = (list: readonly number[]): number => [...list].sort((x, y) => x - y)[4]!;
  const middles = rounds.map(middle);
  const [loopCpuMs, batchCpuMs, threadsCpuMs] = processor.map(middle) as [number, number, number];
  const [sequentialMs, batchMs, threadsMs, bareMs, bareOneMs, oneMs, twoMs] = middles as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  await Promise.all([threads.dispose(), bare.end()]);
  await rt.close();
  const equal = made.every((list) => JSON.stringify(list) === JSON.stringify(made[0]));
  const best = Math.min(batchMs, threadsMs);
  return [
    {
      id: 'A',
      what: '100 lattices (4, 10): build, analyse, one search',
      figures: `in turn ${seconds(sequentialMs)}, batch ${seconds(batchMs)}, worker threads ${seconds(threadsMs)} (with their start ${seconds(coldMs)}), two bare threads ${seconds(bareMs)}, one ${seconds(bareOneMs)}, equal: ${equal}; processor time ${seconds(loopCpuMs)}, ${seconds(batchCpuMs)} and ${seconds(threadsCpuMs)}; the loop keeps ${busy.toFixed(2)} cores busy; arithmetic alone on two threads takes ${(twoMs / oneMs).toFixed(2)} × one`,
      limit: 'batch or threads ≤ 0.6 × in turn on two cores',
      verdict: verdict(equal && best <= 0.6 * sequentialMs),
      data: {
        sequentialMs,
        batchMs,
        threadsMs,
        loopCpuMs,
        batchCpuMs,
        threadsCpuMs,
        coldMs,
        bareMs,
        bareOneMs,
        busy,
        oneMs,
        twoMs,
        equal,
      },
    },
  ];
}

/** C: 64 products whose inputs are three times the budget in all. */
export async function memory(): Promise<Row[]> {
  const n = 256;
  const budget = Math.ceil((2 * 64 * 4 * n * n) / 3);
  const rt: Runtime = await createRuntime({ devices: ['cpu'], memory: { budget } });
  const a = Array.from({ length: 64 }, (_, i) => values(n * n, i + 1));
  const [got, ms] = await timed(() => batchMatmul(a, a, { runtime: rt, shapes: [[n, n, n]] }));
  const peak = rt.stats().peakBytes;
  let worst = 0;
  for (let c = 0; c < n; c += 17) {
    let [sum, size] = [0, 0];
    for (let k = 0; k < n; k++) {
      const p = a[63]![c * n + k]! * a[63]![k * n + c]!;
      sum += p;
      size += Math.abs(p);
    }
    worst = Math.max(worst, Math.abs(got[63]![c * n + c]! - sum) / size);
  }
  await rt.close();
  return [
    {
      id: 'C',
      what: `64 products of ${n}² whose inputs are 3 × the budget`,
      figures: `${seconds(ms)}, peak ${(peak / 2 ** 20).toFixed(1)} of ${(budget / 2 ** 20).toFixed(1)} MiB, error ${worst.toExponential(1)}`,
      limit: 'right, peak ≤ budget',
      verdict: verdict(peak <= budget && worst <= 2e-7 * Math.sqrt(n)),
      data: { ms, peak, budget, worst },
    },
  ];
}
