// Opening, losing, running out of memory, closing: on a real adapter, each in a device of its own.

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { WebGpuDevice } from '../../src/devices/webgpu/device.ts';
import { openWebGpuDevices, reopenWebGpuDevice, type WebGpuOptions } from '../../src/devices/webgpu/open.ts';
import { render } from '../../src/devices/webgpu/render.ts';
import { DeviceLost, DisposedError, OutOfMemory } from '../../src/errors.ts';
import type { Kernel, Routine } from '../../src/kernel/kernel.ts';
import { needsWebGpu } from '../support/webgpu.ts';
import { matmulOf } from './checks/products.ts';
import { addKernel } from './checks/runtime.ts';
import { bytesOf, Exprs, kernelOf, noEstimate, upload, valuesOf } from './support.ts';

const opened: WebGpuDevice[] = [];
needsWebGpu();

afterAll(async () => {
  for (const d of opened) await d.close();
});

async function open(options: WebGpuOptions = {}): Promise<WebGpuDevice> {
  const { devices, refused } = await openWebGpuDevices(options);
  expect(refused).toEqual([]);
  const device = devices[0] as WebGpuDevice;
  opened.push(device);
  return device;
}

describe('opening', () => {
  it('names the device, lists what it can do, and leaves nothing behind on globalThis or in the environment', async () => {
    const globals = Object.getOwnPropertyNames(globalThis).sort();
    const { XDG_RUNTIME_DIR, VK_ICD_FILENAMES } = process.env;
    const device = await open();
    expect(device.id).toBe('webgpu:0');
    expect(device.caps.dtypes.has('f32')).toBe(true);
    for (const t of ['f64', 'i64', 'u64', 'bf16'] as const) expect(device.caps.dtypes.has(t)).toBe(false);
    expect(device.caps.maxBuffers).toBeGreaterThanOrEqual(7);
    expect(device.caps.maxBufferBytes).toBeGreaterThanOrEqual(128 * 2 ** 20);
    expect(Object.getOwnPropertyNames(globalThis).sort()).toEqual(globals);
    expect({ XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR, VK_ICD_FILENAMES: process.env.VK_ICD_FILENAMES }).toEqual({
      XDG_RUNTIME_DIR,
      VK_ICD_FILENAMES,
    });
  });

  it.runIf(process.platform === 'linux')('refuses with a reason and a fix where no adapter answers', async () => {
    vi.stubEnv('VK_ICD_FILENAMES', '/nowhere/none.json');
    try {
      const { devices, refused } = await openWebGpuDevices();
      expect(devices).toEqual([]);
      expect(refused[0]?.id).toBe('webgpu:0');
      expect(refused[0]?.reason).toMatch(/no adapter.*VK_ICD_FILENAMES/);
      expect(refused[0]?.fix).toMatch(/Unset VK_ICD_FILENAMES/);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('never throws, whatever the implementation does', async () => {
    const broken = { requestAdapter: () => Promise.reject(new Error('boom')) } as unknown as GPU;
    const { refused } = await openWebGpuDevices({ gpu: broken });
    expect(refused[0]?.reason).toMatch(/boom/);
    const none = { requestAdapter: () => Promise.resolve(null) } as unknown as GPU;
    expect((await openWebGpuDevices({ gpu: none })).refused[0]?.reason).toMatch(/no adapter/);
  });

  it('refuses dtypes WGSL cannot hold with a clear error', async () => {
    const device = await open();
    const kernel = addKernel(4);
    const bad = {
      ...kernel,
      inputs: [{ type: 'f64' as const, elements: 4 }],
      outputs: [{ ...kernel.outputs[0]!, type: 'f64' as const }],
    };
    expect(() => device.prepare(bad)).toThrow(/f64/);
  });
});

describe('f16', () => {
  it('shaders are well formed: accepted with f16 standing for f32, where the adapter has no f16', async () => {
    const device = await open();
    const traits = {
      cpu: false,
      f16: true,
      subgroup: 0,
      maxWorkgroupsPerDimension: 65535,
      maxInvocations: 256,
      workgroupBytes: 16384,
      exactDivision: false,
      keepsNaN: false,
    };
    const b = new Exprs();
    const x = b.load('f16', 0, b.axis(0, 30));
    const scan = {
      kind: 'routine',
      op: 'scan',
      name: 'scan',
      type: 'f16',
      combine: 'max',
      outer: 3,
      length: 100,
      inner: 1,
      reverse: false,
      estimate: noEstimate,
    } as const;
    const scatter = {
      kind: 'routine',
      op: 'scatter',
      name: 'scatter',
      type: 'f16',
      combine: 'sum',
      outer: 1,
      length: 9,
      inner: 2,
      count: 5,
      perElement: false,
      clips: false,
      uniform: false,
      estimate: noEstimate,
    } as const;
    const works: (Kernel | Routine)[] = [
      kernelOf({
        space: [30],
        inputs: [{ type: 'f16', elements: 30 }],
        scalars: ['f16'],
        outputs: [
          { type: 'f16', value: b.alu('where', b.cast('bool', x), b.alu('neg', x), b.scalar('f16', 0)) },
          { type: 'u8', value: b.cast('u8', x) },
        ],
      }),
      kernelOf({
        space: [],
        reduced: [30],
        inputs: [{ type: 'f16', elements: 30 }],
        accumulators: [
          { op: 'max', type: 'f16', value: x },
          { op: 'argmin', type: 'f16', value: x },
        ],
        outputs: [
          { type: 'f16', value: b.acc('f16', 0) },
          { type: 'i32', value: b.acc('i32', 1) },
        ],
      }),
      matmulOf('f16', 40, 44, 48),
      matmulOf('f16', 41, 43, 47, { transposeA: true }),
      {
        kind: 'routine',
        op: 'sort',
        name: 'sort',
        type: 'f16',
        rows: 2,
        columns: 3000,
        descending: true,
        estimate: noEstimate,
      },
      scan,
      scatter,
      { ...scatter, combine: 'set' },
    ];
    for (const work of works) {
      for (const pass of render(work, traits).passes) {
        const code = pass.source.replace('enable f16;', 'alias f16 = f32;');
        device.gpu.pushErrorScope('validation');
        const info = await device.gpu.createShaderModule({ code }).getCompilationInfo();
        await device.gpu.popErrorScope();
        expect(info.messages.map((m) => `${pass.name}: line ${m.lineNum}: ${m.message}`)).toEqual([]);
      }
    }
  });
});

describe('loss', () => {
  it('rejects reads in flight, resolves lost, refuses new work, and reopens', async () => {
    const device = await open();
    const n = 1 << 20;
    const x = upload(device, bytesOf('f32', new Array(n).fill(1)));
    const y = device.allocate(n * 4);
    const program = device.prepare(addKernel(n));
    for (let i = 0; i < 50; i++) device.launch(program, i % 2 ? [y, x] : [x, y], [1]);
    const reads = [device.read(x), device.read(y)];
    const mark = device.mark();
    const waiting = mark.whenDone();
    device.gpu.destroy();
    for (const r of reads) await expect(r).rejects.toBeInstanceOf(DeviceLost);
    await expect(waiting).rejects.toBeInstanceOf(DeviceLost);
    const loss = await device.lost;
    expect(loss.reason).toMatch(/destroyed/);
    expect(() => device.allocate(4)).toThrow(DeviceLost);
    expect(() => device.write(x, new Uint8Array(4))).toThrow(DeviceLost);
    expect(() => device.launch(program, [x, y], [1])).toThrow(DeviceLost);
    await expect(device.read(x)).rejects.toBeInstanceOf(DeviceLost);
    device.release(x);
    device.trim();
    const again = await device.reopen();
    opened.push(again);
    const z = upload(again, bytesOf('f32', [1, 2, 3]));
    again.launch(again.prepare(addKernel(3, true)), [z, z], [1]);
    expect(valuesOf('f32', await again.read(z))).toEqual([2, 3, 4]);
  });

  it('says in a typed error that the device cannot be opened again, and may be asked once more', async () => {
    const { create } = (await import('webgpu')) as { create(flags: string[]): GPU };
    const real = create([]);
    let gone = false;
    const flaky = { requestAdapter: () => (gone ? Promise.resolve(null) : real.requestAdapter()) } as GPU;
    const device = await open({ gpu: flaky });
    device.gpu.destroy();
    await device.lost;
    gone = true;
    await expect(reopenWebGpuDevice(device)).rejects.toMatchObject({ name: 'DeviceUnavailable', code: 'DEVICE_GONE' });
    gone = false;
    const again = (await reopenWebGpuDevice(device)) as WebGpuDevice;
    opened.push(again);
    expect(again.id).toBe(device.id);
    const z = upload(again, bytesOf('f32', [1, 2, 3]));
    expect(valuesOf('f32', await again.read(z))).toEqual([1, 2, 3]);
  });

  it('rejects reads in flight when the device is closed, and does not call that a loss', async () => {
    const device = await open();
    const x = upload(device, new Uint8Array(64));
    const read = device.read(x);
    let lost = false;
    void device.lost.then(() => {
      lost = true;
    });
    await Promise.all([expect(read).rejects.toBeInstanceOf(DeviceLost), device.close()]);
    await device.close();
    expect(lost).toBe(false);
    expect(() => device.allocate(4)).toThrow(DisposedError);
    await expect(device.read(x)).rejects.toBeInstanceOf(DisposedError);
  });
});

describe('memory', () => {
  it('throws OutOfMemory within the budget it was given, with nothing half-done', async () => {
    const device = await open({ memoryBytes: 1 << 20 });
    const a = device.allocate(700_000);
    const before = device.memory();
    expect(() => device.allocate(700_000)).toThrow(OutOfMemory);
    expect(device.memory()).toEqual(before);
    device.release(a);
    const b = device.allocate(700_000);
    const idle = device.allocate(100);
    device.release(idle);
    device.release(b);
    expect(device.memory().free).toBe(1 << 20);
    // Idle blocks of other sizes make room by themselves.
    device.release(device.allocate(900_000));
  });

  it('turns a refusal of the GPU into OutOfMemory at the read, and goes on with what else was there', async () => {
    const device = await open({ memoryBytes: 2 ** 40 });
    const n = 1000;
    const good = upload(device, bytesOf('f32', new Array(n).fill(1)));
    const other = device.allocate(n * 4);
    const program = device.prepare(addKernel(n));
    device.launch(program, [good, other], [1]);
    const held = [];
    let error: unknown = null;
    for (let i = 0; i < 64 && error === null; i++) {
      const big = device.allocate(device.caps.maxBufferBytes);
      held.push(big);
      try {
        device.write(big, bytesOf('f32', [i]));
        expect(valuesOf('f32', await device.read(big, 0, 4))).toEqual([i]);
      } catch (caught) {
        error = caught;
      }
    }
    expect(error).toBeInstanceOf(OutOfMemory);
    expect(valuesOf('f32', await device.read(other)).every((v) => v === 2)).toBe(true);
    expect(device.memory().total).toBeLessThan(2 ** 40);
    for (const b of held) device.release(b);
    device.trim();
    const small = upload(device, bytesOf('f32', [5]));
    expect(valuesOf('f32', await device.read(small))).toEqual([5]);
  });
});

describe('the process', () => {
  const script = (body: string): string => `import { openWebGpuDevices } from './open.js';
const { devices, refused } = await openWebGpuDevices();
const device = devices[0];
if (!device) { console.log(JSON.stringify(refused)); process.exit(0); }
const x = device.allocate(1 << 20);
device.write(x, new Uint8Array(1 << 20).fill(7));
${body}`;

  // A hook that answers for `webgpu` as Node does where it is not installed, whatever folders above the test hold.
  const missing = `import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`export async function resolve(name, context, next) {
  if (name !== 'webgpu') return next(name, context);
  throw Object.assign(new Error("Cannot find package 'webgpu' imported from here"), { code: 'ERR_MODULE_NOT_FOUND' });
}\`));`;

  async function run(body: string, installed: boolean): Promise<{ code: number | null; out: string; err: string }> {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-life-'));
    try {
      await build({
        input: join(import.meta.dirname, '../../src/devices/webgpu/open.ts'),
        output: { file: join(folder, 'open.js'), format: 'esm', codeSplitting: false },
        platform: 'neutral',
        logLevel: 'silent',
      });
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'main.js'), script(body));
      const modules = join(import.meta.dirname, '../../node_modules');
      symlinkSync(modules, join(folder, 'node_modules'));
      writeFileSync(join(folder, 'missing.js'), missing);
      const hook = installed ? [] : ['--import', pathToFileURL(join(folder, 'missing.js')).href];
      return await new Promise((resolve) => {
        const child = spawn(process.execPath, [...hook, pathToFileURL(join(folder, 'main.js')).pathname], {
          timeout: 30_000,
        });
        let out = '';
        let err = '';
        child.stdout.on('data', (d) => (out += d));
        child.stderr.on('data', (d) => (err += d));
        child.on('close', (code) => resolve({ code, out, err }));
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  it('exits by itself after close, with nothing on the console', async () => {
    const r = await run(
      "const y = await device.read(x);\nif (y[9] !== 7) throw new Error('wrong');\nawait device.close();\nconsole.log('closed');",
      true,
    );
    expect(r).toEqual({ code: 0, out: 'closed\n', err: '' });
  }, 60_000);

  it('exits by itself even when nobody closes the device', async () => {
    const r = await run("await device.read(x);\nconsole.log('left open');", true);
    expect(r).toEqual({ code: 0, out: 'left open\n', err: '' });
  }, 60_000);

  it('frees tensors that nobody disposed of, small ones too', async () => {
    const script = fileURLToPath(new URL('../core/leaks.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, 'webgpu', '8']);
    const { computed, lazy } = JSON.parse(stdout) as Record<string, object>;
    expect(computed).toMatchObject({ before: 5 * 256, after: 0, leaks: 5 });
    expect(lazy).toEqual({ held: 256, value: 256, freed: 0, leaks: 3 });
  }, 60_000);

  it('says that the package is missing, and how to install it', async () => {
    const r = await run('', false);
    expect(r.err).toBe('');
    expect(JSON.parse(r.out)).toEqual([
      { id: 'webgpu:0', reason: 'the optional package webgpu (Dawn) is not installed', fix: 'npm install webgpu' },
    ]);
    expect(r.code).toBe(0);
  }, 60_000);
});
