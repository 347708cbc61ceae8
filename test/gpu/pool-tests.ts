// The device's memory pool on a real GPU: what it holds, what it gives back, and that data survive both.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import type { DeviceBuffer } from '../../src/devices/device.ts';
import { dataframe, play, training } from '../support/traces.ts';
import { assert, type Report } from './check.ts';

const MiB = 2 ** 20;

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

/** The device's pool for a trace, which ends with blocks still in use: `end` gives them back. */
function lender(device: CudaDevice) {
  const live = new Set<DeviceBuffer>();
  return {
    allocate: (bytes: number): DeviceBuffer => {
      const b = device.allocate(bytes);
      live.add(b);
      return b;
    },
    release: (b: DeviceBuffer): void => {
      live.delete(b);
      device.release(b);
    },
    end: (): void => {
      for (const b of live) device.release(b);
    },
  };
}

export async function poolTests(device: CudaDevice, report: Report): Promise<void> {
  report.group('pool');
  const { free, total } = device.memory();
  const atFirst = device.pool().inUse;
  // Other processes may share the GPU: a trace of half of what is free, 73 GiB at most.
  const peak = Math.min(73.2 * 2 ** 30, free / 2);
  await report.test('a trace of mixed sizes takes at most 1.08 times its live peak from the driver', () => {
    device.trim();
    const base = device.pool();
    const pool = lender(device);
    const t = performance.now();
    const reservedNow = (): number => device.pool().reserved - base.reserved;
    const { peak: live, reserved } = play(dataframe(3, 2100, peak), { ...pool, reserved: reservedNow }, () => 0);
    const ms = performance.now() - t;
    pool.end();
    const ratio = reserved / live;
    console.log(
      `  live peak ${(live / 2 ** 30).toFixed(1)} GiB of ${(total / 2 ** 30).toFixed(0)}, reserved ${ratio.toFixed(3)} times that, ${ms.toFixed(0)} ms`,
    );
    assert(ratio <= 1.08, `reserved ${ratio} times the live peak`);
  });
  await report.test('blocks keep their data while idle memory moves to where it is needed', () => {
    device.trim();
    const size = 24 * MiB;
    const pattern = (i: number): Uint8Array => {
      const words = new Uint32Array(size / 4);
      for (let k = 0; k < words.length; k++) words[k] = Math.imul(k, 2654435761) + i;
      return new Uint8Array(words.buffer);
    };
    const blocks = Array.from({ length: 40 }, (_, i) => {
      const b = device.allocate(size);
      device.write(b, pattern(i));
      return b;
    });
    for (let i = 0; i < 40; i += 2) device.release(blocks[i]!);
    const before = device.pool().reserved;
    const large = device.allocate(20 * size);
    const after = device.pool().reserved;
    // So little of the device may be held beyond that; the large block is more.
    const spare = Math.max(0.08 * before + 4 * MiB, total / 512);
    assert(spare < 20 * size && after <= before + spare, `reserved went from ${before} to ${after}`);
    device.write(large, new Uint8Array(20 * size).fill(9));
    for (let i = 1; i < 40; i += 2) {
      const got = device.readSync(blocks[i]!);
      assert(Buffer.from(got.buffer, got.byteOffset, got.length).equals(pattern(i)), `block ${i} changed`);
    }
    for (let i = 1; i < 40; i += 2) device.release(blocks[i]!);
    device.release(large);
  });
  await report.test('trim gives idle memory back to the driver', () => {
    device.trim();
    const before = device.pool().reserved;
    const b = device.allocate(512 * MiB);
    const held = device.memory().free;
    device.release(b);
    device.trim();
    assert(device.pool().reserved === before, `reserved ${device.pool().reserved}, before ${before}`);
    assert(device.memory().free >= held + 500 * MiB, 'the driver has not got it back');
  });
  await report.test('a steady loop and one with jittered sizes are served without the driver', () => {
    for (const [jitter, least] of [
      [0, 0.995],
      [0.2, 0.95],
    ] as const) {
      device.trim();
      const times: number[] = [];
      const { trace, perRound } = training(100, jitter, 5);
      const pool = lender(device);
      const timed = {
        ...pool,
        allocate: (n: number): DeviceBuffer => {
          const t = performance.now();
          const b = pool.allocate(n);
          times.push(1000 * (performance.now() - t));
          return b;
        },
        reserved: () => 0,
      };
      const { hits } = play(trace, timed, () => device.pool().reserved, 2 * perRound);
      pool.end();
      const sorted = [...times.slice(times.length >> 1)].sort((a, b) => a - b);
      const p99 = sorted[Math.floor(0.99 * sorted.length)]!;
      console.log(
        `  jitter ${jitter}: ${(100 * hits).toFixed(2)} % without the driver; p50 ${median(sorted).toFixed(2)} µs, p99 ${p99.toFixed(2)} µs`,
      );
      assert(hits >= least, `${hits}`);
    }
  });
  await report.test('nothing more is in use at the end than at first', () => {
    device.trim();
    const { inUse, reserved } = device.pool();
    assert(inUse === atFirst, `in use ${inUse}, at first ${atFirst}`);
    console.log(`  ${(reserved / MiB).toFixed(0)} MiB reserved at the end`);
  });
}
