// The driver library through the real foreign-function interface, in the real child, on a stand-in library built here.
//
// Needs a C compiler; without one the suite is skipped and says so.

import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DetectOptions, detect } from '../../src/forge/detect/detect.ts';
import { telemetryStream } from '../../src/forge/detect/telemetry.ts';
import { nodePorts } from '../../src/forge/ports-node.ts';
import { within } from '../support/time.ts';
import { play } from './fixtures/fixture.ts';
import { machine } from './fixtures/machines.ts';

const compiler = ['cc', 'gcc', 'clang'].find((name) => spawnSync(name, ['--version']).status === 0);
if (compiler === undefined) console.warn('no C compiler: the tests of the driver library are skipped');

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-nvml-'));
const child = path.join(folder, 'nvml-child.mjs');
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

function build(name: string, ...defines: string[]): string {
  const file = path.join(folder, name);
  execFileSync(compiler!, ['-shared', '-fPIC', ...defines, '-o', file, path.join(here, 'fake-nvml.c')]);
  return file;
}

describe.skipIf(compiler === undefined)('the driver library in its child process', () => {
  let library: string;
  let hanging: string;
  const ports = () => nodePorts({ nvmlChild: child, cacheFolder: folder, env: process.env });

  beforeAll(async () => {
    library = build('libgood.so');
    hanging = build('libhang.so', '-DHANG');
    await bundle({
      configFile: false,
      logLevel: 'silent',
      build: {
        ssr: path.join(here, '../../src/forge/detect/nvml-child.ts'),
        outDir: folder,
        emptyOutDir: false,
        rollupOptions: { external: ['koffi'], output: { entryFileNames: path.basename(child) } },
      },
    });
    fs.symlinkSync(path.join(here, '../../node_modules'), path.join(folder, 'node_modules'));
  });

  it('tells driver, CUDA version and devices, passing over one that fell off the bus', async () => {
    const answer = await ports().nvml.query(library, 5000);
    expect(answer).toMatchObject({
      outcome: 'ok',
      driver: '580.159.04',
      cuda: '13.0',
      devices: [
        {
          name: 'NVIDIA H200',
          uuid: 'GPU-1111',
          busId: '00000000:4E:00.0',
          computeCapability: '9.0',
          memoryTotal: 150_754_820_096,
          units: 132,
          migEnabled: false,
          mig: [],
        },
        {
          name: 'NVIDIA A100 80GB PCIe',
          computeCapability: '8.0',
          units: 108,
          migEnabled: true,
          mig: [{ uuid: 'MIG-aaaa', memoryTotal: 10_468_982_784 }, {}],
        },
      ],
    });
    expect(answer.outcome === 'ok' && answer.devices).toHaveLength(2);
  });

  it('costs at most its time limit when the driver never answers', async () => {
    const start = performance.now();
    const answer = await ports().nvml.query(hanging, 700);
    expect(answer.outcome).toBe('timeout');
    expect(performance.now() - start).toBeGreaterThan(600);
    expect(performance.now() - start).toBeLessThan(within(3000));
  });

  it('names the reason when initialisation fails or the library is absent', async () => {
    const mismatch = await ports().nvml.query(build('libmismatch.so', '-DMISMATCH'), 5000);
    expect(mismatch).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('driver and library versions differ'),
    });
    const absent = await ports().nvml.query(path.join(folder, 'absent.so'), 5000);
    expect(absent).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('absent.so') });
  });

  it('can be asked in this process too, by those who accept that it may hang', async () => {
    const direct = nodePorts({ isolation: 'none', cacheFolder: folder, env: process.env });
    const [here, there] = await Promise.all([direct.nvml.query(library, 5000), ports().nvml.query(library, 5000)]);
    expect({ ...here, ms: 0 }).toEqual({ ...there, ms: 0 });
    expect(direct.processes.spawned).toBe(0);
    expect(await direct.nvml.query(path.join(folder, 'absent.so'), 5000)).toMatchObject({ outcome: 'failed' });
  });

  it('may start while files are read; the question takes it over, a failed start included', async () => {
    const direct = nodePorts({ isolation: 'none', cacheFolder: folder, env: process.env });
    direct.nvml.prepare!(library);
    expect(await direct.nvml.query(library, 5000)).toMatchObject({ outcome: 'ok', driver: '580.159.04' });
    expect(await direct.nvml.query(library, 5000)).toMatchObject({ outcome: 'ok' });
    direct.nvml.prepare!(build('libmismatch2.so', '-DMISMATCH'));
    expect(await direct.nvml.query(path.join(folder, 'libmismatch2.so'), 5000)).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('driver and library versions differ'),
    });
  });

  it('is started early only where a card of NVIDIA is awake and its module loaded', async () => {
    const prepared = async (name: Parameters<typeof machine>[0], options: DetectOptions = {}): Promise<number> => {
      let calls = 0;
      const fixture = play(machine(name));
      await detect({ ...fixture, nvml: { ...fixture.nvml, prepare: () => void calls++ } }, options);
      return calls;
    };
    expect(await prepared('h200')).toBe(1);
    expect(await prepared('h200', { tier: 0 })).toBe(0);
    expect(await prepared('optimus')).toBe(0);
    expect(await prepared('mi300x')).toBe(0);
  });

  it('completes a detection whose files name the same cards', async () => {
    const real = ports();
    const fixture = play(machine('h200'));
    const { machine: found } = await detect({ ...fixture, nvml: { query: (_, ms) => real.nvml.query(library, ms) } });
    expect(found.gpus[0]).toMatchObject({
      name: { value: 'NVIDIA H200', source: 'nvml' },
      units: { value: 132, source: 'nvml' },
    });
  });

  it('streams readings, with null for what the device does not tell', async () => {
    const seen: unknown[] = [];
    const stream = telemetryStream({ library, child, intervalMs: 60 });
    for await (const reading of stream) {
      seen.push(reading);
      if (seen.length === 3) break;
    }
    expect(seen).toHaveLength(3);
    expect(seen[0]).toMatchObject([
      {
        name: 'NVIDIA H200',
        utilization: 97,
        temperature: 55,
        powerWatts: 512.345,
        powerLimitWatts: 700,
        clockMhz: 1980,
        memoryClockMhz: 3201,
        fanPercent: null,
      },
      { name: 'NVIDIA A100 80GB PCIe', utilization: null },
    ]);
  });
});

describe('the process port', () => {
  it('ends a program that hangs, with what it started', async () => {
    const { processes } = nodePorts({ env: process.env });
    const file = path.join(folder, 'started');
    const start = performance.now();
    const result = await processes.run('sh', ['-c', `sleep 600 & echo $! > ${file}; sleep 600`], { timeoutMs: 2500 });
    expect(result.outcome).toBe('timeout');
    expect(performance.now() - start).toBeLessThan(within(4000));
    const started = Number(fs.readFileSync(file, 'utf8'));
    // A process that has ended may wait for its parent to ask for its status: then it is a zombie.
    const alive = (): boolean => {
      try {
        return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${started}/status`, 'utf8'));
      } catch {
        return false;
      }
    };
    expect(started).toBeGreaterThan(0);
    await expect.poll(alive, { timeout: within(2000) }).toBe(false);
  });

  it('tells absent programs, exit status and both outputs apart', async () => {
    const { processes } = nodePorts({ env: process.env });
    expect(await processes.run('gpuforge-no-such-program', [], { timeoutMs: 1000 })).toMatchObject({
      outcome: 'not-found',
    });
    const result = await processes.run('sh', ['-c', 'echo out; echo err >&2; exit 3'], { timeoutMs: 5000 });
    expect(result).toMatchObject({ outcome: 'exited', status: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(processes.spawned).toBe(2);
  });
});
