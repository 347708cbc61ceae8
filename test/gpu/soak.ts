// Mixed work for a while: results stay right, and neither device nor host memory grows.
//
// Every few seconds the pool, the driver's free memory and the process are measured after a collection; the slope of each over
// the last two thirds, by least squares, decides. The pool must not grow at all; the process may move by a MiB a minute,
// which is what its heap and allocator wander.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import type { Program } from '../../src/devices/device.ts';
import { KernelBuilder } from './build.ts';
import { assert, type Report } from './check.ts';
import { Random } from './data.ts';
import { matmul } from './routines.ts';

const MiB = 2 ** 20;

interface Sample {
  readonly minutes: number;
  readonly pool: number;
  readonly used: number;
  readonly host: number;
}

/** MiB per minute. */
export function slope(samples: readonly { readonly minutes: number }[], of: (i: number) => number): number {
  const n = samples.length;
  const mean = (f: (i: number) => number): number => samples.reduce((s, _, i) => s + f(i), 0) / n;
  const [x, y] = [mean((i) => samples[i]!.minutes), mean(of)];
  let [top, bottom] = [0, 0];
  samples.forEach((s, i) => {
    top += (s.minutes - x) * (of(i) - y);
    bottom += (s.minutes - x) ** 2;
  });
  return bottom === 0 ? 0 : top / bottom / MiB;
}

export async function soakTest(device: CudaDevice, report: Report, seconds: number): Promise<void> {
  report.group(`soak, ${seconds} s`);
  await report.test('memory does not grow', async () => {
    const sizes = [1000, 65_536, 300_000, 1_000_000];
    const programs = new Map<number, Program>();
    for (const n of sizes) {
      const k = new KernelBuilder([n]);
      k.output(k.op('add', k.op('mul', k.whole('f32'), k.b.const('f32', 2)), k.scalar('f32')));
      programs.set(n, device.prepare(k.done(`soak_${n}`)));
    }
    const product = device.prepare(matmul('f32', 256, 256, 256).routine);
    const recordings = sizes.map((n) => ({
      n,
      recording: device.record(
        Array.from({ length: 4 }, (_, i) => ({
          program: programs.get(n)!,
          buffers: i % 2 ? [1, 0] : [0, 1],
          scalars: [0],
        })),
      ),
    }));
    const random = new Random(3);
    const source = new Float32Array(1_000_000).fill(2);
    const collect = (globalThis as { gc?: () => void }).gc ?? (() => {});
    const samples: Sample[] = [];
    const started = performance.now();
    const end = started + seconds * 1000;
    let rounds = 0;
    let next = started;
    for (; performance.now() < end; rounds++) {
      const n = sizes[random.below(sizes.length)]!;
      const add = rounds % 7;
      const [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
      device.write(x, new Uint8Array(source.buffer, 0, n * 4));
      device.launch(programs.get(n)!, [x, y], [add]);
      const got = new Float32Array((await device.read(y)).slice(0, 8).buffer);
      assert(got[0] === 4 + add && got[1] === 4 + add, `round ${rounds}: ${got[0]}`);
      const replayed = recordings[rounds % recordings.length]!;
      if (replayed.n <= n) replayed.recording.replay([x, y], [1]);
      if (rounds % 11 === 0 && n >= 65_536) {
        const c = device.allocate(256 * 256 * 4);
        device.launch(product, [x, x, c], []);
        const [p] = new Float32Array(device.readSync(c, 0, 4).slice().buffer);
        assert(Number.isFinite(p), `round ${rounds}: product ${p}`);
        device.release(c);
      }
      // Sizes that were never seen before keep the pool busy.
      const odd = device.allocate(1 + random.below(3_000_000));
      device.release(x);
      device.release(odd);
      device.release(y);
      if (performance.now() < next) continue;
      next += Math.max(1000, (seconds * 1000) / 60);
      collect();
      await new Promise((resolve) => setTimeout(resolve, 0));
      const { free, total } = device.memory();
      const { reserved, idle } = device.pool();
      samples.push({
        minutes: (performance.now() - started) / 60_000,
        pool: reserved,
        used: total - free + idle,
        host: process.memoryUsage().rss,
      });
    }
    for (const r of recordings) r.recording.dispose();
    const late = samples.slice(Math.floor(samples.length / 3));
    assert(late.length >= 3, 'too short to tell');
    const slopes = {
      pool: slope(late, (i) => late[i]!.pool),
      device: slope(late, (i) => late[i]!.used),
      host: slope(late, (i) => late[i]!.host),
    };
    const shown = (v: number): string => `${v >= 0 ? '+' : ''}${v.toFixed(3)} MiB/min`;
    const last = late[late.length - 1]!;
    console.log(
      `soak: ${rounds} rounds in ${seconds} s; pool ${(last.pool / MiB).toFixed(0)} MiB (${shown(slopes.pool)}), device ${(last.used / MiB).toFixed(0)} MiB (${shown(slopes.device)}, all processes), host ${(last.host / MiB).toFixed(0)} MiB (${shown(slopes.host)})`,
    );
    assert(last.pool <= late[0]!.pool, `the pool grew from ${late[0]!.pool} to ${last.pool}`);
    // Half a minute of wandering looks steep: the total drift counts there.
    const drift = slopes.host * (last.minutes - late[0]!.minutes);
    assert(slopes.host <= 1 || drift <= 24, `the host's memory grows by ${shown(slopes.host)}`);
  });
}
