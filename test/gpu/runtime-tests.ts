// What a device promises beyond the results of single launches: order, memory, transfers, recordings, caches, errors.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { DeviceBuffer, Launch } from '../../src/devices/device.ts';
import { KernelError, OutOfMemory } from '../../src/errors.ts';
import type { Kernel, RawKernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from './build.ts';
import { assert, type Report } from './check.ts';
import { matmul } from './routines.ts';

const f32 = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const bytesOf = (a: Float32Array): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

function addScalar(n: number): Kernel {
  const k = new KernelBuilder([n]);
  k.inPlace.push(0);
  const x = k.whole('f32');
  k.output(k.op('add', x, k.scalar('f32')));
  return k.done(`add_scalar_${n}`);
}

function addTwo(n: number): Kernel {
  const k = new KernelBuilder([n]);
  k.inPlace.push(0);
  const [x, y] = [k.whole('f32'), k.whole('f32')];
  k.output(k.op('add', x, y));
  return k.done(`add_two_${n}`);
}

export async function runtimeTests(device: CudaDevice, report: Report): Promise<void> {
  report.group('transfers');
  for (const n of [1, 100, 65_536, 70_000, 1_000_003, 9_000_001]) {
    await report.test(`${n} floats go up and come back, three ways`, async () => {
      const source = new Float32Array(n).map((_, i) => (i * 7919) % 10007);
      const b = device.allocate(n * 4);
      device.write(b, bytesOf(source));
      const copy = source.slice();
      source.fill(-1);
      for (const got of [f32(device.readSync(b)), f32(await device.read(b))]) {
        for (let i = 0; i < n; i++)
          if (got[i] !== copy[i]) throw new Error(`element ${i}: ${got[i]} is not ${copy[i]}`);
      }
      const pinned = new Float32Array(device.pinned(n * 4));
      pinned.set(copy);
      device.write(b, bytesOf(pinned));
      pinned.fill(-5);
      const got = f32(await device.read(b));
      for (let i = 0; i < n; i++) if (got[i] !== copy[i]) throw new Error(`pinned ${i}: ${got[i]} is not ${copy[i]}`);
      device.release(b);
    });
  }
  await report.test('parts of a buffer can be written and read', async () => {
    const b = device.allocate(4000);
    device.write(b, bytesOf(new Float32Array(1000).fill(1)));
    device.write(b, bytesOf(new Float32Array(10).fill(2)), 400);
    assert(f32(device.readSync(b, 396, 8)).join() === '1,2', 'offset read');
    assert(f32(await device.read(b, 436, 8)).join() === '2,1', 'offset read, asynchronous');
    device.release(b);
  });
  await report.test('an empty buffer is allowed everywhere', async () => {
    const b = device.allocate(0);
    device.write(b, new Uint8Array(0));
    assert((await device.read(b)).length === 0 && device.readSync(b).length === 0, 'empty read');
    device.release(b);
  });

  report.group('order');
  await report.test('a thousand dependent launches run in order, with small uploads between', () => {
    const n = 1000;
    const p = device.prepare(addScalar(n));
    const b = device.allocate(n * 4);
    for (let round = 0; round < 10; round++) {
      device.write(b, bytesOf(new Float32Array(n).fill(round)));
      for (let i = 0; i < 100; i++) device.launch(p, [b, b], [1]);
      const got = f32(device.readSync(b));
      assert(
        got.every((v) => v === round + 100),
        `round ${round}: ${got[0]}`,
      );
    }
    device.release(b);
  });
  await report.test('large uploads and downloads overlap with launches without mixing', async () => {
    const n = 2_000_000;
    const p = device.prepare(addScalar(n));
    const reads: Promise<void>[] = [];
    for (let round = 0; round < 20; round++) {
      const b = device.allocate(n * 4);
      device.write(b, bytesOf(new Float32Array(n).fill(round)));
      device.launch(p, [b, b], [0.5]);
      reads.push(
        device.read(b).then((bytes) => {
          const got = f32(bytes);
          for (let i = 0; i < n; i += 997) if (got[i] !== round + 0.5) throw new Error(`round ${round}: ${got[i]}`);
        }),
      );
      // In place, after the read was asked for: the read must not see it.
      device.launch(p, [b, b], [100]);
      // And the block goes back while the copy may still run.
      device.release(b);
    }
    await Promise.all(reads);
  });
  await report.test('reads do not block the event loop', async () => {
    // A few long products: the queue takes them all at once, and the device is busy for tens of milliseconds.
    const n = 4096;
    const p = device.prepare(matmul('f32', n, n, n).routine);
    const [a, b, c] = [1, 2, 3].map(() => device.allocate(4 * n * n)) as [DeviceBuffer, DeviceBuffer, DeviceBuffer];
    const ones = bytesOf(new Float32Array(n * n).fill(1));
    for (const x of [a, b]) device.write(x, ones);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const start = performance.now();
    for (let i = 0; i < 12; i++) device.launch(p, [a, b, c], []);
    const issued = performance.now() - start;
    const got = f32(await device.read(c, 0, 64));
    clearInterval(timer);
    const ms = performance.now() - start;
    assert(got[5] === n, `value ${got[5]}`);
    assert(turns > 5, `only ${turns} turns of the event loop: issued in ${issued} ms, done after ${ms}`);
    for (const x of [a, b, c]) device.release(x);
  });

  await report.test('four devices on one GPU, interleaved, do not mix', async () => {
    const n = 50_000;
    const opened = await Promise.all(
      Array.from({ length: 4 }, () => openCudaDevices({ cacheDir: false, ordinals: [0] })),
    );
    const devices_ = opened.map((o) => o.devices[0] as CudaDevice);
    const state = devices_.map((d) => ({ d, p: d.prepare(addScalar(n)), b: d.allocate(n * 4) }));
    for (const [i, { d, b }] of state.entries()) d.write(b, bytesOf(new Float32Array(n).fill(i)));
    for (let round = 0; round < 200; round++) for (const { d, p, b } of state) d.launch(p, [b, b], [1]);
    const results = await Promise.all(state.map(({ d, b }) => d.read(b)));
    results.forEach((bytes, i) => {
      assert(
        f32(bytes).every((v) => v === 200 + i),
        `device ${i}: ${f32(bytes)[0]}`,
      );
    });
    for (const d of devices_) await d.close();
  });

  report.group('recordings');
  for (const count of [1, 2, 3, 8, 40]) {
    await report.test(`${count} recorded launches replay with new buffers and scalars`, () => {
      const n = 5000;
      const [p, q] = [device.prepare(addScalar(n)), device.prepare(addTwo(n))];
      const launches: Launch[] = Array.from({ length: count }, (_, i) =>
        i % 2 === 0 ? { program: p, buffers: [0, 1], scalars: [0] } : { program: q, buffers: [1, 0, 1], scalars: [] },
      );
      const recording = device.record(launches);
      for (let round = 0; round < 6; round++) {
        const [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
        device.write(x, bytesOf(new Float32Array(n).fill(round)));
        recording.replay([x, y], [round + 1]);
        let want = 0;
        for (let i = 0; i < count; i++) want = i % 2 === 0 ? round + round + 1 : want + round;
        const got = f32(device.readSync(y));
        assert(
          got.every((v) => v === want),
          `round ${round}: ${got[0]} is not ${want}`,
        );
        device.release(x);
        device.release(y);
      }
      recording.dispose();
    });
  }
  await report.test('a step that swaps two buffers replays in place without growing memory', () => {
    const n = 10_000;
    const p = device.prepare(addScalar(n));
    const recording = device.record(
      Array.from({ length: 6 }, (_, i) => ({ program: p, buffers: i === 0 ? [0, 1] : [1, 1], scalars: [0] })),
    );
    let [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
    device.write(x, bytesOf(new Float32Array(n)));
    const before = device.counters().reserved;
    for (let i = 0; i < 500; i++) {
      recording.replay([x, y], [1]);
      [x, y] = [y, x];
    }
    assert(
      f32(device.readSync(x)).every((v) => v === 3000),
      `value ${f32(device.readSync(x))[0]}`,
    );
    assert(device.counters().reserved === before, 'memory grew');
    recording.dispose();
    device.release(x);
    device.release(y);
  });

  report.group('memory');
  await report.test('ten thousand allocations and releases leave nothing behind', () => {
    device.trim();
    const before = device.counters();
    const live: DeviceBuffer[] = [];
    for (let i = 0; i < 10_000; i++) {
      live.push(device.allocate(1 + ((i * 7919) % 3_000_000)));
      if (live.length > 50) device.release(live.splice((i * 31) % 50, 1)[0]!);
    }
    for (const b of live) device.release(b);
    assert(device.counters().inUse === before.inUse, 'bytes in use differ');
    device.trim();
    assert(device.counters().reserved <= before.reserved, 'bytes reserved grew');
  });
  await report.test('asking for too much is a typed error, and the device goes on', () => {
    const { total } = device.memory();
    let caught: unknown;
    try {
      device.allocate(total * 2);
    } catch (error) {
      caught = error;
    }
    assert(caught instanceof OutOfMemory, `caught ${caught}`);
    const b = device.allocate(1000);
    device.write(b, new Uint8Array(1000).fill(3));
    assert(device.readSync(b)[999] === 3, 'device is broken');
    device.release(b);
  });
  await report.test('marks order and time the work between them', async () => {
    const n = 1 << 22;
    const p = device.prepare(addScalar(n));
    const b = device.allocate(n * 4);
    device.write(b, bytesOf(new Float32Array(n)));
    const first = device.mark();
    for (let i = 0; i < 200; i++) device.launch(p, [b, b], [1]);
    const last = device.mark();
    await last.whenDone();
    assert(first.done() && last.done(), 'not done');
    const ms = last.since(first);
    assert(ms !== null && ms > 0.2 && ms < 500, `${ms} ms`);
    device.release(b);
  });
  await report.test('telemetry is measured', () => {
    const t = device.telemetry?.();
    assert(t !== undefined, 'no telemetry');
    assert((t.memoryTotal ?? 0) > 2 ** 30, `memory ${t.memoryTotal}`);
    assert((t.temperature ?? 0) > 5 && (t.temperature ?? 0) < 120, `temperature ${t.temperature}`);
    console.log(`telemetry ${JSON.stringify(t)}`);
  });

  report.group('compilation');
  await report.test('kernels come from the disk cache in a second device, and give the same results', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cubin-'));
    const results: number[] = [];
    for (let round = 0; round < 2; round++) {
      const { devices } = await openCudaDevices({ cacheDir: folder, ordinals: [0] });
      const d = devices[0] as CudaDevice;
      const p = d.prepare(addScalar(777));
      const b = d.allocate(777 * 4);
      d.write(b, bytesOf(new Float32Array(777).fill(1)));
      d.launch(p, [b, b], [2]);
      results.push(f32(d.readSync(b))[776]!);
      const c = d.counters();
      assert(round === 0 ? c.assembled === 1 : c.fromCache === 1 && c.assembled === 0, `counters ${JSON.stringify(c)}`);
      d.release(b);
      await d.close();
    }
    assert(results.join() === '3,3' && readdirSync(folder).length === 1, results.join());
    rmSync(folder, { recursive: true });
  });
  await report.test("a user's own PTX runs, and a wrong one says which line is wrong", () => {
    const source = (
      line: string,
    ): string => `.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry twice(.param .u64 a, .param .u64 o) {
  .reg .b64 %d<4>; .reg .f32 %f<3>; .reg .b32 %r<2>;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o];
  mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;
  add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
  ld.global.f32 %f0, [%d0];
  ${line}
  st.global.f32 [%d1], %f1;
  ret;
}\n`;
    const raw = (line: string): RawKernel => ({
      kind: 'routine',
      op: 'raw',
      name: 'twice',
      language: 'ptx',
      source: source(line),
      entry: 'twice',
      inputs: [{ type: 'f32', elements: 64 }],
      outputs: [{ type: 'f32', elements: 64 }],
      scalars: [],
      grid: [1, 1, 1],
      block: [64, 1, 1],
      estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
    });
    const [x, y] = [device.allocate(256), device.allocate(256)];
    device.write(x, bytesOf(new Float32Array(64).fill(4)));
    device.launch(device.prepare(raw('add.rn.f32 %f1, %f0, %f0;')), [x, y], []);
    assert(f32(device.readSync(y))[63] === 8, 'result');
    let caught: unknown;
    try {
      device.prepare(raw('frobnicate.f32 %f1, %f0;'));
    } catch (error) {
      caught = error;
    }
    assert(caught instanceof KernelError && caught.message.includes('frobnicate'), `caught ${caught}`);
    device.release(x);
    device.release(y);
  });
}
