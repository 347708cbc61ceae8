// Loops that await: the event loop turns, and what nobody disposes of stays within bounds.

import { describe, expect, it, vi } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { within } from '../support/time.ts';

const MiB = 2 ** 20;

async function using<T>(
  devices: readonly ('cpu' | 'reference' | 'webgpu')[],
  body: (rt: Runtime) => Promise<T>,
): Promise<T> {
  const rt = await createRuntime({ devices, cpu: { threads: 1 }, routing: { mode: 'off' } });
  try {
    return await body(rt);
  } finally {
    await rt.close();
  }
}

/** Awaits something often, for a while at least; how often a timer fired meanwhile, and the ms of processor time. */
async function during(
  ms: number,
  leastRounds: number,
  work: () => Promise<unknown>,
): Promise<{ timers: number; busy: number }> {
  const from = process.cpuUsage();
  let timers = 0;
  let rounds = 0;
  const timer = setInterval(() => timers++, 1);
  const end = performance.now() + ms;
  while (performance.now() < end || rounds < leastRounds) {
    await work();
    rounds++;
  }
  clearInterval(timer);
  const { user, system } = process.cpuUsage(from);
  return { timers, busy: (user + system) / 1000 };
}

describe('a loop of awaits on the CPU', () => {
  const loops: Readonly<Record<string, (rt: Runtime, x: Tensor) => Promise<unknown>>> = {
    'data that is there': (_, x) => x.data(),
    'data to be computed': async (_, x) => {
      const y = x.add(1);
      await y.data();
      y.dispose();
    },
    bytes: (_, x) => x.bytes(),
    flush: (rt) => rt.flush(),
    'flush of a tensor': async (rt, x) => {
      const y = x.add(1);
      await rt.flush(y);
      y.dispose();
    },
    to: (_, x) => x.to('cpu'),
  };
  it.each(Object.keys(loops))('lets timers fire every 10 ms: %s', async (name) => {
    await using(['cpu'], async (rt) => {
      const x = rt.tensor([1, 2, 3]).compute();
      const { timers, busy } = await during(300, 100, () => loops[name]!(rt, x));
      // By processor time of all threads, and with a margin: other work on the machine may take the processor away.
      expect(timers).toBeGreaterThanOrEqual(Math.max(2, busy / 30));
    });
  });

  it('turns with every read as soon as reads are far apart, however short they were before', async () => {
    await using(['cpu'], async (rt) => {
      const x = rt.tensor([1, 2, 3]).compute();
      let now = performance.now();
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
      let turns = 0;
      let counting = setImmediate(function count() {
        turns++;
        counting = setImmediate(count);
      });
      const read = async (times: number, apartMs: number): Promise<number> => {
        const before = turns;
        for (let i = 0; i < times; i++) {
          now += apartMs;
          await x.data();
        }
        return turns - before;
      };
      try {
        await read(1000, 0.001);
        expect(await read(100, 10)).toBeGreaterThan(90);
        // Half a second of reads that are not worth a look at the clock each.
        expect(await read(50_000, 0.01)).toBeGreaterThan(80);
      } finally {
        clearImmediate(counting);
        clock.mockRestore();
      }
    });
  });

  it('is ended by a signal that times out', async () => {
    await using(['cpu'], async (rt) => {
      const x = rt.tensor([1, 2, 3]);
      const signal = AbortSignal.timeout(30);
      const started = performance.now();
      const loop = async (): Promise<void> => {
        while (performance.now() - started < within(5000)) await x.data({ signal });
      };
      await expect(loop()).rejects.toMatchObject({ code: 'ABORTED' });
    });
  });
});

describe('a loop that disposes of nothing', () => {
  const elements = 1 << 18;
  const loops: Readonly<Record<string, (rt: Runtime, x: Tensor, i: number) => Promise<unknown>>> = {
    'new data': (rt, _, i) => rt.tensor(new Float32Array(elements)).add(i).data(),
    results: (_, x, i) => x.add(i).data(),
    'results that are not read': (rt, x, i) => rt.flush(x.add(i)),
  };
  it.each(Object.keys(loops))('stays within twice its working set and 256 MiB: %s', async (name) => {
    await using(['cpu'], async (rt) => {
      const x = rt.tensor(new Float32Array(elements)).compute();
      await x.data();
      const before = process.memoryUsage().rss;
      let most = 0;
      for (let i = 0; i < 400; i++) {
        await loops[name]!(rt, x, i);
        most = Math.max(most, process.memoryUsage().rss);
      }
      const workingSet = 3 * MiB;
      expect(rt.stats().peakBytes).toBeLessThan(2 * workingSet + 192 * MiB);
      expect(most - before).toBeLessThan(2 * workingSet + 256 * MiB);
    });
  });

  it('stays within bounds on WebGPU too', async () => {
    await using(['webgpu'], async (rt) => {
      const x = rt.tensor(new Float32Array(elements)).compute();
      for (let i = 0; i < 300; i++) await rt.flush(x.add(i));
      expect(rt.stats().peakBytes).toBeLessThan(200 * MiB);
    });
  });

  it('leaves what is held alone, however much it is', async () => {
    await using(['cpu'], async (rt) => {
      const held: Tensor[] = [];
      for (let i = 0; i < 300; i++) {
        const t = rt.full([elements], i).compute();
        await rt.flush();
        held.push(t);
      }
      for (const [i, t] of held.entries()) expect((await t.data())[7]).toBe(i);
      expect(rt.stats().bytes).toBe(300 * MiB);
    });
  });
});
