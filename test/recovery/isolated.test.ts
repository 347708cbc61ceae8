// A device in a process of its own: the contract, its failures, and its end.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CpuOptions } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { ArgumentError, DeviceLost, DisposedError, OutOfMemory } from '../../src/errors.ts';
import type { IsolatedDevice } from '../../src/governor/recovery/isolated/device.ts';
import { type IsolatedOptions, openIsolated } from '../../src/governor/recovery/isolated/open.ts';
import { Exprs } from '../../src/kernel/expr.ts';
import type { RawKernel } from '../../src/kernel/kernel.ts';
import { elementwise, makeKernel } from '../support/cpu.ts';
import { within } from '../support/time.ts';
import { needsWebGpu } from '../support/webgpu.ts';
import { type BuiltChild, buildChild } from './child.ts';

let child: BuiltChild;
const open: Device[] = [];

beforeAll(async () => {
  child = await buildChild();
});
afterAll(async () => {
  await shared?.close();
  child.remove();
});
let shared: IsolatedDevice | null = null;
/** One for all tests that leave it as it was. */
const common = async (): Promise<IsolatedDevice> => {
  shared ??= (await openIsolated('cpu', { script: child.script, cpu: { threads: 1, tinyElements: 0 } })).devices[0]!;
  return shared;
};

afterEach(async () => {
  for (const d of open.splice(0)) await d.close();
});

async function isolated(cpu: CpuOptions = { threads: 1 }, options: IsolatedOptions = {}): Promise<IsolatedDevice> {
  const { devices, refused } = await openIsolated('cpu', { script: child.script, cpu, ...options });
  expect(refused).toEqual([]);
  open.push(devices[0]!);
  return devices[0]!;
}

const n = 4096;
const bytes = 4 * n;
const double = elementwise(n, ['f32'], 'f32', (b, [x]) => b.alu('add', x!, x!));
const plus = elementwise(n, ['f32', 'f32'], 'f32', (b, [x, y]) => b.alu('add', x!, y!));
const scaled = (() => {
  const b = new Exprs();
  const value = b.alu('mul', b.load('f32', 0, b.axis(0, n)), b.scalar('f32', 0));
  return makeKernel({
    space: [n],
    inputs: [{ type: 'f32', elements: n }],
    outputs: [{ type: 'f32', value }],
    scalars: ['f32'],
  });
})();
const filled = (v: number): Uint8Array => new Uint8Array(new Float32Array(n).fill(v).buffer);
const floats = (b: Uint8Array): Float32Array => new Float32Array(b.buffer, b.byteOffset, b.byteLength / 4);

describe('an isolated device', () => {
  it('computes, reads at once and later, and passes scalars', async () => {
    const d = await common();
    const [x, y] = [d.allocate(bytes), d.allocate(bytes)];
    d.write(x, filled(1.5));
    d.launch(d.prepare(scaled), [x, y], [-2.5]);
    expect(floats(d.readSync(y))).toEqual(new Float32Array(n).fill(-3.75));
    expect([...floats(await d.read(y, 8, 8))]).toEqual([-3.75, -3.75]);
    expect(d.id).toBe('cpu');
    expect([d.caps.syncRead, d.caps.immortal]).toEqual([true, undefined]);
    expect(d.caps.dtypes.has('f64') && d.caps.native.f32!.has('add') && d.caps.routines.has('matmul')).toBe(true);
    expect(typeof d.caps.details.blas).toBe('string');
  });

  it('keeps the order of writes, launches and reads that nobody waited for', async () => {
    const d = await common();
    const [x, y] = [d.allocate(bytes), d.allocate(bytes)];
    const program = d.prepare(double);
    const reads: Promise<Uint8Array>[] = [];
    for (let i = 0; i < 300; i++) {
      d.write(x, filled(i));
      d.launch(program, [x, y], []);
      reads.push(d.read(y));
    }
    const got = (await Promise.all(reads)).map((b) => floats(b)[n - 1]);
    expect(got).toEqual(Array.from({ length: 300 }, (_, i) => 2 * i));
  });

  it('moves more than the shared file holds, at any offset and length, both ways', async () => {
    const d = await common();
    const size = 11_000_003;
    const data = new Uint8Array(size);
    for (let i = 0; i < size; i++) data[i] = (i * 2654435761) >>> 24;
    const x = d.allocate(size);
    d.write(x, data);
    d.write(x, data.subarray(5, 700_012), 3);
    data.copyWithin(3, 5, 700_012);
    expect(Buffer.compare(d.readSync(x), data)).toBe(0);
    expect(Buffer.compare(await d.read(x), data)).toBe(0);
    const [a, b] = await Promise.all([d.read(x, 7, 5_000_001), d.read(x, 1_000_000, 13)]);
    expect(Buffer.compare(a, data.subarray(7, 5_000_008))).toBe(0);
    expect(Buffer.compare(b, data.subarray(1_000_000, 1_000_013))).toBe(0);
    // A synchronous read in between takes nothing from the asynchronous one.
    const later = d.read(x);
    expect(d.readSync(x, 9, 2)).toEqual(data.slice(9, 11));
    expect(Buffer.compare(await later, data)).toBe(0);
  });

  it('uses empty buffers, and reads nothing from them', async () => {
    const d = await common();
    const x = d.allocate(0);
    d.write(x, new Uint8Array(0));
    expect([d.readSync(x).length, (await d.read(x)).length]).toEqual([0, 0]);
  });

  it('marks points of time', async () => {
    const d = await common();
    const [x, y] = [d.allocate(bytes), d.allocate(bytes)];
    const first = d.mark();
    d.launch(d.prepare(double), [x, y], []);
    const second = d.mark();
    await second.whenDone();
    expect([second.done(), second.since(first)! >= 0]).toEqual([true, true]);
    const third = d.mark();
    // Asked without ever returning to the event loop.
    const start = performance.now();
    while (!third.done() && performance.now() - start < within(5000));
    expect(third.done()).toBe(true);
  });

  it('shows the source of a program, and refuses a bad kernel when it is prepared', async () => {
    const d = await common();
    expect(d.prepare(double).source).not.toBe('');
    const raw: RawKernel = {
      kind: 'routine',
      op: 'raw',
      name: 'mine',
      language: 'ptx',
      source: '',
      entry: 'main',
      inputs: [],
      outputs: [],
      scalars: [],
      grid: [1, 1, 1],
      block: [1, 1, 1],
      estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
    };
    expect(() => d.prepare(raw)).toThrow(/mine|raw/);
  });

  it('refuses buffers that were released, are too short, or belong to another', async () => {
    const [d, other] = [await common(), await isolated()];
    const x = d.allocate(8);
    expect(() => d.write(x, new Uint8Array(9))).toThrow(ArgumentError);
    expect(() => d.readSync(x, 4, 8)).toThrow(ArgumentError);
    expect(() => other.readSync(x)).toThrow(/earlier process/);
    expect(() => d.allocate(-1)).toThrow(ArgumentError);
    d.release(x);
    d.release(x);
    expect(() => d.readSync(x)).toThrow(DisposedError);
    await expect(d.read(x)).rejects.toThrow(DisposedError);
  });

  it('keeps the books of the other memory, and refuses before it is full', async () => {
    const d = await isolated({ threads: 1, memoryBytes: 64 << 20 });
    const before = d.memory();
    expect(before.total).toBeGreaterThan(60 << 20);
    const held = Array.from({ length: 5 }, () => d.allocate(10 << 20));
    expect(before.free - d.memory().free).toBeGreaterThanOrEqual(50 << 20);
    expect(() => d.allocate(30 << 20)).toThrow(OutOfMemory);
    // Nothing was half-done: what fits still fits, and what was there is still there.
    d.write(held[0]!, filled(2));
    expect(floats(d.readSync(held[0]!, 0, 4))[0]).toBe(2);
    for (const b of held) d.release(b);
    d.release(d.allocate(30 << 20));
    d.readSync(d.allocate(8));
    expect(d.memory().free).toBeGreaterThan(before.free - (1 << 20));
  });

  it('throws what went wrong over there at the first read that depends on it, and never gives wrong data', async () => {
    const d = await common();
    const [x, y, z, other] = [0, 1, 2, 3].map(() => d.allocate(bytes));
    const [twice, sum] = [d.prepare(double), d.prepare(plus)];
    expect(() => d.launch(twice, [x!], [])).toThrow(/takes 2 and 0/);
    d.write(x!, filled(1));
    d.launch(twice, [x!, y!], []);
    // An input that is too short: the device refuses, when it gets there.
    const short = d.allocate(16);
    d.launch(sum, [x!, short, y!], []);
    d.launch(sum, [y!, x!, z!], []);
    d.launch(twice, [x!, other!], []);
    expect(floats(d.readSync(other!))[0]).toBe(2);
    await expect(d.read(y!)).rejects.toThrow(/buffer 1 has 16 bytes, needs 16384/);
    expect(() => d.readSync(z!)).toThrow(ArgumentError);
    // Written whole, it is good again, and so is what is computed from it.
    d.write(y!, filled(5));
    d.launch(sum, [y!, x!, z!], []);
    expect(floats(d.readSync(z!))[0]).toBe(6);
  });

  it('goes on after close with nothing but an error, and leaves no file and no process', async () => {
    const d = await isolated();
    const { pid } = d;
    await Promise.all([d.close(), d.close()]);
    expect(() => d.allocate(1)).toThrow();
    expect(() => process.kill(pid, 0)).toThrow();
    const shared = readdirSync('/dev/shm').filter((f) => f.startsWith(`gpuforge-${process.pid}-`));
    expect(shared).toEqual([]);
  });

  it('says why a device cannot be opened', async () => {
    const { devices, refused } = await openIsolated('cpu', { script: child.script, cpu: { threads: -1 } });
    expect(devices).toEqual([]);
    expect(refused[0]!.reason).toMatch(/threads is -1|status 1/);
    const cuda = await openIsolated('cuda', { script: child.script, cuda: { cacheDir: false } });
    expect(cuda.devices.length + cuda.refused.length).toBeGreaterThan(0);
    for (const c of cuda.devices) await c.close();
    await expect(openIsolated('webgpu', { webgpu: { gpu: {} as GPU } })).rejects.toThrow(/webgpu.gpu/);
    const missing = await openIsolated('cpu', { script: '/nowhere/child.mjs' });
    expect(missing.refused[0]!.reason).toContain('lost');
  });
});

describe('an isolated WebGPU device', () => {
  needsWebGpu();

  it('computes, records, and can be read synchronously, which it cannot be in this process', async () => {
    const { devices, refused } = await openIsolated('webgpu', { script: child.script });
    expect(refused).toEqual([]);
    const d = devices[0]!;
    open.push(d);
    const [x, y, z] = [0, 1, 2].map(() => d.allocate(bytes));
    d.write(x!, filled(3));
    const [twice, sum] = [d.prepare(double), d.prepare(plus)];
    const recording = d.record!([
      { program: twice, buffers: [0, 1], scalars: [] },
      { program: sum, buffers: [0, 1, 2], scalars: [] },
    ]);
    recording.replay([x!, y!, z!], []);
    expect([d.caps.syncRead, floats(d.readSync(z!))[n - 1]]).toEqual([true, 9]);
    d.write(x!, filled(-1));
    recording.replay([x!, y!, z!], []);
    expect(floats(await d.read(z!))[0]).toBe(-3);
    recording.dispose();
    expect(() => recording.replay([x!, y!, z!], [])).toThrow(DisposedError);
    d.kill();
    await expect(d.read(z!)).rejects.toThrow(DeviceLost);
  });
});

describe('the end of an isolated device', () => {
  it('rejects what was waited for, and a new process answers within two seconds', async () => {
    const d = await isolated();
    const [x, y] = [d.allocate(bytes), d.allocate(bytes)];
    d.write(x, filled(4));
    expect(floats(await d.read(x))[0]).toBe(4);
    const start = performance.now();
    d.kill();
    const waits = [d.read(x), d.read(y), d.mark().whenDone()];
    for (const w of waits) await expect(w).rejects.toThrow(DeviceLost);
    expect((await d.lost).reason).toContain('SIGKILL');
    for (const call of [
      () => d.allocate(1),
      () => d.readSync(x),
      () => d.mark(),
      () => d.memory(),
      () => d.prepare(double),
    ])
      expect(call).toThrow(DeviceLost);
    d.release(x);
    const e = await d.respawn();
    open.push(e);
    const z = e.allocate(bytes);
    e.write(z, filled(7));
    const w = e.allocate(bytes);
    e.launch(e.prepare(double), [z, w], []);
    expect(floats(e.readSync(w))[9]).toBe(14);
    expect(performance.now() - start).toBeLessThan(within(2000));
    expect(() => e.readSync(y)).toThrow(/earlier process/);
    expect(e.pid).not.toBe(d.pid);
  });

  it('is noticed in the middle of a synchronous read', async () => {
    const d = await isolated();
    const x = d.allocate(bytes);
    d.readSync(x);
    process.kill(d.pid, 'SIGSTOP');
    // Ends it from outside while this thread is blocked.
    spawn('sh', ['-c', `sleep 0.2; kill -9 ${d.pid}`], { stdio: 'ignore', detached: true }).unref();
    const start = performance.now();
    expect(() => d.readSync(x)).toThrow(DeviceLost);
    expect(performance.now() - start).toBeLessThan(within(2000));
  });

  it('is declared when no answer comes in time, and soon when a synchronous wait finds the process stopped', async () => {
    const sync = await isolated({ threads: 1 }, { timeoutMs: 60_000 });
    const x = sync.allocate(bytes);
    sync.readSync(x);
    process.kill(sync.pid, 'SIGSTOP');
    expect(() => sync.readSync(x)).toThrow(/its process was stopped by a signal/);
    expect((await sync.lost).reason).toContain('stopped');
    const later = await isolated({ threads: 1 }, { timeoutMs: within(300) });
    const y = later.allocate(bytes);
    await later.read(y);
    process.kill(later.pid, 'SIGSTOP');
    await expect(later.read(y)).rejects.toThrow(`no answer within ${within(300)} ms`);
  });

  it('is noticed while more is written than fits', async () => {
    const d = await isolated({ threads: 1 }, { timeoutMs: within(300) });
    const x = d.allocate(8 << 20);
    d.readSync(x, 0, 1);
    process.kill(d.pid, 'SIGSTOP');
    expect(() => d.write(x, new Uint8Array(8 << 20))).toThrow(DeviceLost);
  });

  it('comes by itself when the parent is killed', async () => {
    const source = `
      import { openIsolated } from ${JSON.stringify(await bundledParent())};
      const { devices } = await openIsolated('cpu', { script: ${JSON.stringify(child.script)}, cpu: { threads: 1 } });
      console.log(devices[0].pid);
      setInterval(() => {}, 1000);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = Number(await new Promise((r) => parent.stdout!.once('data', (c: Uint8Array) => r(String(c)))));
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, 0);
    parent.kill('SIGKILL');
    await gone(pid);
  });

  it('does not keep a parent alive that forgot to close', async () => {
    const source = `
      import { openIsolated } from ${JSON.stringify(await bundledParent())};
      const { devices } = await openIsolated('cpu', { script: ${JSON.stringify(child.script)}, cpu: { threads: 1 } });
      const x = devices[0].allocate(4);
      devices[0].write(x, new Uint8Array([1, 2, 3, 4]));
      console.log((await devices[0].read(x)).join());
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    parent.stdout!.on('data', (c: Uint8Array) => {
      said += c;
    });
    const code = await new Promise((r) => parent.once('exit', r));
    expect([code, said.trim()]).toEqual([0, '1,2,3,4']);
  });
});

let parentScript: Promise<string> | null = null;

/** The library's side of isolation as a file that plain Node can run. */
function bundledParent(): Promise<string> {
  parentScript ??= (async () => {
    const { build } = await import('rolldown');
    const input = fileURLToPath(new URL('../../src/governor/recovery/isolated/open.ts', import.meta.url));
    const file = child.script.replace('gpu-child.mjs', 'parent.mjs');
    await build({
      input,
      external: [/^node:/],
      platform: 'neutral',
      output: { file, format: 'esm' },
      logLevel: 'silent',
    });
    return file;
  })();
  return parentScript;
}

/** Waits until a process has ended. */
async function gone(pid: number): Promise<void> {
  for (const end = performance.now() + within(4000); performance.now() < end; ) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((r) => setTimeout(r, 10));
  }
  throw new Error(`process ${pid} is still there`);
}
