// A program for the studio to watch: it routes, runs short of memory and spills, loses its device and recovers, and leaks.

import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, type FaultyDevice, type Runtime, type Tensor, withFaults } from '../../src/index.ts';

export interface Story {
  readonly rt: Runtime;
  /** Works on both devices, so that the router has something to choose. */
  work(rounds?: number): Promise<number[]>;
  /** Keeps more than the budget allows. */
  spill(): Promise<void>;
  /** Loses the device that does the work; resolves when the runtime knows. */
  lose(): Promise<void>;
  /** Makes a tensor and never gives it back. It is small: the budget must last for as long as anybody waits. */
  leak(): void;
  release(): void;
  close(): Promise<void>;
}

const MiB = 2 ** 20;

export interface StoryOptions {
  readonly budget?: number;
  readonly reborn?: boolean;
}

export async function startStory({ budget = 64 * MiB, reborn = true }: StoryOptions = {}): Promise<Story> {
  let faulty: FaultyDevice | null = null;
  const kept: Tensor[] = [];
  const rt = await createRuntime({
    devices: ['cpu', 'reference'],
    cpu: { threads: 1 },
    development: true,
    routing: { mode: 'measured', cache: false },
    memory: { budget: { cpu: budget }, sampleMs: 100, leaks: { windowMs: 4000, spanMs: 1500, leastBytes: MiB } },
    recovery: { resets: 10 },
    wrap: (device) => {
      if (device.id !== 'cpu') return device;
      faulty = withFaults(device, {
        faults: [],
        strict: false,
        ...(reborn ? { rebirth: { faults: [], strict: false } } : {}),
      });
      return faulty;
    },
  });
  const newest = (): FaultyDevice => {
    while (faulty!.successor) faulty = faulty!.successor;
    return faulty!;
  };
  return {
    rt,
    work: async (rounds = 20) => {
      const results: number[] = [];
      for (let i = 0; i < rounds; i++) {
        const value = await rt.scope(async () => {
          const a = rt.random.normal([64, 64], { seed: i });
          const b = a.matmul(a.transpose()).add(1).tanh();
          const [sum] = await b.sum().data();
          return Number(sum);
        });
        results.push(value);
      }
      return results;
    },
    spill: async () => {
      for (let i = 0; i < 20; i++) {
        kept.push(rt.scope({ device: 'cpu' }, () => rt.full([MiB], i).add(1).compute()));
        await sleep(20);
      }
    },
    lose: async () => {
      const known = new Promise<void>((resolve) => {
        const end = rt.on('lost', () => {
          end();
          resolve();
        });
      });
      newest().lose('the driver was reset');
      await known;
    },
    leak: () => {
      const make = (): Tensor =>
        rt
          .full([MiB / 64], 1)
          .add(kept.length)
          .compute();
      kept.push(rt.scope({ device: 'cpu' }, make));
    },
    release: () => {
      for (const t of kept.splice(0)) t.dispose();
    },
    close: () => rt.close(),
  };
}
