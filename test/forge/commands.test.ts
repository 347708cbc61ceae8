// The commands as a user calls them: each flag changes what it says it changes, on fixtures and through the real parser.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { register as registerCache } from '../../src/cli/forge/cache.ts';
import { register as registerDetect } from '../../src/cli/forge/detect.ts';
import { register as registerDoctor } from '../../src/cli/forge/doctor.ts';
import { register as registerReport } from '../../src/cli/forge/report.ts';
import { flag, list, number, object, oneOf, text } from '../../src/forge/data/schema.ts';
import { type DetectFlags, runCacheClear, runCacheShow, runDetect } from '../../src/forge/detect/command.ts';
import { detect } from '../../src/forge/detect/detect.ts';
import { joinReadings, sysfsReading } from '../../src/forge/detect/telemetry.ts';
import { renderReadings } from '../../src/forge/detect/watch.ts';
import { examine } from '../../src/forge/doctor/doctor.ts';
import { areas } from '../../src/forge/doctor/types.ts';
import type { NvmlTelemetry } from '../../src/forge/ports.ts';
import { type Output, styleFor } from '../../src/forge/style.ts';
import { memoryCache, type PlayOptions, play } from './fixtures/fixture.ts';
import { type MachineName, machine, machineNames } from './fixtures/machines.ts';
import { uuid } from './fixtures/parts.ts';
import { worldOf } from './fixtures/world.ts';

function capture(isTTY = false): Output & { readonly out: string[] } {
  const out: string[] = [];
  return { out, write: (part) => void out.push(part), warn: () => {}, isTTY, columns: 100 };
}

async function shown(name: MachineName, flags: DetectFlags = {}, options: PlayOptions & { tty?: boolean } = {}) {
  const output = capture(options.tty);
  const ports = play(machine(name), options);
  const status = await runDetect(ports, flags, output);
  return { status, text: output.out.join(''), ports };
}

describe('gpuforge detect', () => {
  it('shows each GPU with its facts, their sources and its score', async () => {
    const { text: output } = await shown('h200');
    expect(output).toMatch(/^1 GPU\n/);
    expect(output).toContain('[0] NVIDIA H200  usable');
    expect(output).toMatch(/target +sm_90 \(compute capability 9\.0\) +nvml/);
    expect(output).toMatch(/memory +140 GiB +nvml/);
    expect(output).toMatch(/score +9\d\.\d of 100 {2}\(memory \d/);
    expect(output).toMatch(/NVIDIA driver +580\.159\.04 \(open module\), CUDA up to 13\.0/);
    expect(output).toMatch(/detected in \d+\.\d ms, 1 process started\n$/);
  });

  it.each(machineNames)('prints %s in plain text: no colour, no emoji, no trailing blanks', async (name) => {
    const { text: output, status } = await shown(name, { verbose: true });
    expect(status).toBe(0);
    expect(output).not.toContain('\u001b');
    expect(output).not.toMatch(/\p{Extended_Pictographic}/u);
    for (const line of output.split('\n')) expect(line).toBe(line.trimEnd());
  });

  it('says why a GPU cannot be used', async () => {
    const { text: output } = await shown('vfio');
    expect(output).toMatch(/^2 GPUs, 1 usable\n/);
    expect(output).toContain('why  bound to vfio-pci: reserved for a virtual machine');
  });

  it('prints the versioned JSON with --json, the same on every machine', async () => {
    const schema = object({
      schema: oneOf('gpuforge.detect/1'),
      cached: flag,
      ms: number(),
      spawned: number(),
      machine: { check: () => [] } as never,
      scores: list({ check: () => [] } as never),
    });
    for (const name of machineNames) {
      const { text: output } = await shown(name, { json: true });
      const value = JSON.parse(output);
      expect(schema.check(value, name)).toEqual([]);
      expect(Object.keys(value.machine).sort()).toEqual(
        ['drivers', 'gpus', 'host', 'overrides', 'partial', 'probes', 'schema', 'visibility', 'warnings'].sort(),
      );
      for (const gpu of value.machine.gpus) expect(Object.keys(gpu)).toHaveLength(21);
    }
  });

  it('shows probes and what is not known with --verbose', async () => {
    expect((await shown('nvmlHangs')).text).not.toContain('tier 1');
    const { text: output } = await shown('nvmlHangs', { verbose: true });
    expect(output).toMatch(/tier 1 +nvml +timeout +2500\.00 ms +no answer within 2500 ms; ended/);
    expect(output).toContain('UUID');
  });

  it('honours --no-cache, --tier, --wake, --gpu, --driver and the life of the cache', async () => {
    const cache = memoryCache();
    await shown('rtx4090', { cache: false }, { cache });
    expect(cache.list()).toEqual([]);
    await shown('rtx4090', {}, { cache });
    expect((await shown('rtx4090', {}, { cache })).text).toContain('from the cache');
    expect((await shown('rtx4090', { cache: false }, { cache })).text).toContain('detected in');

    expect((await shown('rtx4090', { tier: 0 })).ports.runs).toEqual([]);
    expect((await shown('gb10', { tier: 1 })).ports.runs).toEqual([
      'nvml /usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1',
    ]);
    expect((await shown('optimus', { wake: true })).ports.runs).toHaveLength(1);

    const given = await shown('noGpu', { gpu: ['RTX 5090'], driver: '580.95.05' });
    expect(given.text).toContain('sm_120');
    expect(given.text).toContain('given          GPU: RTX 5090');
    expect(given.text).toContain('580.95.05, CUDA up to 13.0');

    const short = memoryCache();
    await shown('rtx4090', { cacheLifeMs: 1000 }, { cache: short, now: () => 5000 });
    expect((await shown('rtx4090', { cacheLifeMs: 1000 }, { cache: short, now: () => 7000 })).text).toContain(
      'detected in',
    );
  });

  it('colours a terminal, and not with --no-color, NO_COLOR or a dumb terminal', async () => {
    expect((await shown('rtx4090', {}, { tty: true })).text).toContain('\u001b[32musable');
    expect((await shown('rtx4090', { color: false }, { tty: true })).text).not.toContain('\u001b');
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      expect((await shown('rtx4090', {}, { tty: true, env })).text).not.toContain('\u001b');
    }
    expect((await shown('rtx4090', {}, { env: { FORCE_COLOR: '1' } })).text).toContain('\u001b');
  });
});

describe('gpuforge detect of another machine', () => {
  it.each([
    [['2x RTX 3090'], 2],
    [['RTX 4090, RTX 3060 12GB'], 2],
    [['RTX 4090', '8x H100'], 9],
  ])('%j are %i cards, as for resolve', async (gpu, count) => {
    const { text } = await shown('noGpu', { gpu, json: true });
    expect(JSON.parse(text).machine.gpus).toHaveLength(count);
  });

  it('takes a Mac of a variable for one of Apple silicon, as --os does', async () => {
    const { text } = await shown('noGpu', { json: true }, { env: { GPUFORGE_OS: 'macos' } });
    expect(JSON.parse(text).machine.host).toMatchObject({ platform: 'macos', arch: 'arm64' });
  });

  it.each([
    [{ gpu: ['RTX 9999'] }, {}, 'UNKNOWN_GPU'],
    [{ driver: 'nonsense' }, {}, 'FORGE_BAD_DRIVER'],
    [{}, { GPUFORGE_DRIVER: 'new' }, 'FORGE_BAD_DRIVER'],
    [{}, { GPUFORGE_OS: 'beos' }, 'UNKNOWN_VALUE'],
  ])('%j %j is refused with status 2, as elsewhere', async (flags, env, code) => {
    const { status, text } = await shown('noGpu', { ...flags, json: true }, { env: env as Record<string, string> });
    expect({ status, code: JSON.parse(text).error.code }).toEqual({ status: 2, code });
  });
});

describe('gpuforge detect --watch', () => {
  it('reads AMD cards from sysfs and passes over a sleeping one', async () => {
    const ports = play(machine('rx7900xtx'));
    const { machine: found } = await detect(ports);
    expect(sysfsReading(ports, found.gpus[0]!)).toMatchObject({
      utilization: 7,
      temperature: 41,
      powerWatts: 18,
      fanPercent: null,
      memoryTotal: 24 * 1024 ** 3,
    });
    const laptop = play(machine('optimus'));
    const asleep = (await detect(laptop)).machine.gpus[0]!;
    expect(sysfsReading(laptop, asleep)).toMatchObject({ note: 'asleep', utilization: null });
  });

  it('gives each NVIDIA card its own readings, whatever the order', async () => {
    const ports = play(machine('mixed'));
    const { machine: found } = await detect(ports);
    const told = (index: number, utilization: number): NvmlTelemetry => ({
      index,
      uuid: uuid(index),
      name: null,
      utilization,
      memoryUtilization: null,
      memoryUsed: 1024 ** 3,
      memoryTotal: null,
      temperature: 50,
      powerWatts: 100,
      powerLimitWatts: 450,
      clockMhz: 2500,
      memoryClockMhz: null,
      fanPercent: 30,
    });
    const readings = joinReadings(ports, found, [told(1, 11), told(0, 99)]);
    expect(readings.map(({ name, utilization }) => [name, utilization])).toEqual([
      ['NVIDIA GeForce RTX 4090', 99],
      ['NVIDIA GeForce GTX 1080 Ti', 11],
    ]);
    const view = renderReadings(readings, styleFor(capture(), { env: {} }));
    expect(view).toMatch(
      /0 +NVIDIA GeForce RTX 4090 +99% +\[##########\] +1\.0 GiB \/ 24\.0 GiB +50 C +100 \/ 450 W +2500 MHz +30%/,
    );
  });

  it('prints JSON lines with --json and ends after --count, at the pace of --interval', async () => {
    const start = Date.now();
    const { text: output } = await shown('rx7900xtx', { watch: true, json: true, count: 3, intervalMs: 50 });
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ schema: 'gpuforge.watch/1', readings: [{ name: 'AMD Radeon RX 7900 XTX' }, {}] });
    expect(Date.now() - start).toBeGreaterThanOrEqual(90);
  });

  it('redraws in place on a terminal only', async () => {
    const plain = await shown('rx7900xtx', { watch: true, count: 1 });
    expect(plain.text).not.toContain('\u001b');
    const tty = await shown('rx7900xtx', { watch: true, count: 1 }, { tty: true });
    expect(tty.text).toContain('\u001b[H\u001b[J');
    expect((await shown('noGpu', { watch: true, count: 1 })).text).toContain('no GPU to watch');
  });

  it('leaves nothing behind with each reading', async () => {
    const warned: Error[] = [];
    const listener = (warning: Error): void => void warned.push(warning);
    process.on('warning', listener);
    try {
      await shown('noGpu', { watch: true, count: 20, intervalMs: 1 });
      // Warnings are told in a turn of their own.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('warning', listener);
    }
    // Node warns when listeners of one signal pile up.
    expect(warned).toEqual([]);
  });
});

describe('gpuforge cache', () => {
  it('shows and clears what is cached', async () => {
    const cache = memoryCache();
    const { ports } = await shown('rtx4090', {}, { cache });
    const output = capture();
    expect(runCacheShow(ports, {}, output)).toBe(0);
    expect(output.out.join('')).toMatch(/valid +0 min old +NVIDIA GeForce RTX 4090/);
    const json = capture();
    runCacheShow(ports, { json: true }, json);
    expect(JSON.parse(json.out.join(''))).toMatchObject({ schema: 'gpuforge.cache/1', entries: [{ state: 'valid' }] });
    const cleared = capture();
    expect(runCacheClear(ports, {}, cleared)).toBe(0);
    expect(cleared.out.join('')).toContain('removed 1 entry');
    const empty = capture();
    runCacheClear(ports, { json: true }, empty);
    expect(JSON.parse(empty.out.join(''))).toMatchObject({ removed: 0 });
  });
});

describe('the report of the doctor', () => {
  const any = { check: () => [] } as never;
  const status = oneOf('ok', 'info', 'unverified', 'skipped', 'warning', 'error');
  const schema = object({
    schema: oneOf('gpuforge.doctor/1'),
    exitStatus: number(),
    verdict: object({ compute: oneOf('verified', 'failed', 'unverified'), devices: list(any) }),
    areas: list(
      object({
        area: oneOf(...areas),
        status,
        findings: list(
          object({
            code: text(/^[A-Z0-9-]+$/),
            area: oneOf(...areas),
            status,
            summary: text(),
            evidence: list(text()),
            fix: any,
          }),
        ),
      }),
    ),
    supportedFixes: list(oneOf('clear-broken-cache', 'write-headless-icd')),
    machine: any,
  });

  it.each(machineNames)('fits its schema on %s', async (name) => {
    const world = worldOf(machine(name));
    const report = await examine(world, await detect(world.ports, { cache: false }), { offline: true });
    expect(schema.check(JSON.parse(JSON.stringify(report)), name)).toEqual([]);
  });
});

describe('the real parser', () => {
  let folder: string;
  let written: string[];
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-cli-'));
    vi.stubEnv('GPUFORGE_CACHE_DIR', folder);
    written = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
      written.push(String(part));
      return true;
    });
    vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    process.exitCode = undefined;
    fs.rmSync(folder, { recursive: true, force: true });
  });

  async function gpuforge(...args: string[]): Promise<string> {
    const program = new Command('gpuforge').version('0.1.0').exitOverride();
    for (const register of [registerDetect, registerDoctor, registerReport, registerCache]) register(program);
    for (const command of program.commands) command.exitOverride();
    written.length = 0;
    await program.parseAsync(['node', 'gpuforge', ...args]);
    return written.join('');
  }

  it('detects this machine, caches it, shows and clears the cache', async () => {
    expect(JSON.parse(await gpuforge('detect', '--json'))).toMatchObject({
      schema: 'gpuforge.detect/1',
      cached: false,
    });
    expect(JSON.parse(await gpuforge('detect', '--json'))).toMatchObject({ cached: true, spawned: 0 });
    expect(JSON.parse(await gpuforge('detect', '--json', '--no-cache'))).toMatchObject({ cached: false });
    expect(JSON.parse(await gpuforge('cache', 'show', '--json')).entries).toHaveLength(1);
    expect(await gpuforge('cache', 'clear')).toContain('removed 1 entry');
    expect(process.exitCode).toBe(0);
  });

  it('passes every option of detect on', async () => {
    const given = JSON.parse(
      await gpuforge(
        'detect',
        '--json',
        '--gpu',
        'RTX 4090',
        'GTX 1080',
        '--driver',
        '570.1',
        '--tier',
        '0',
        '--wake',
        '-v',
        '--no-color',
      ),
    );
    expect(given.machine.overrides).toEqual(['GPU: RTX 4090, GTX 1080', 'driver: 570.1']);
    const watched = await gpuforge('detect', '--watch', '--count', '2', '--interval', '0.05', '--json');
    expect(watched.trim().split('\n')).toHaveLength(2);
  });

  it.each([
    ['--tier', '3'],
    ['--interval', 'soon'],
    ['--count', '0'],
    ['--nonsense', ''],
  ])('refuses %s %s', async (name, value) => {
    await expect(gpuforge('detect', name, value)).rejects.toMatchObject({ exitCode: 1 });
  });

  it('runs doctor and report on this machine', async () => {
    const doctor = JSON.parse(await gpuforge('doctor', '--json', '--offline'));
    expect(doctor.verdict.compute).toBe('unverified');
    expect(process.exitCode).toBe(doctor.exitStatus);
    expect(await gpuforge('report')).toContain('### gpuforge report');
  });

  it('hands the doctor the run that the core gives', async () => {
    const program = new Command('gpuforge').exitOverride();
    registerDoctor(program, async () => async () => [{ device: 'cpu', ok: true, detail: 'ran' }]);
    await program.parseAsync(['node', 'gpuforge', 'doctor', '--json', '--offline']);
    expect(JSON.parse(written.join('')).verdict).toEqual({
      compute: 'verified',
      devices: [{ device: 'cpu', ok: true, detail: 'ran' }],
    });
  });

  it('survives a core that cannot be loaded', async () => {
    const program = new Command('gpuforge').exitOverride();
    registerDoctor(program, () => Promise.reject(new Error('no such module')));
    await program.parseAsync(['node', 'gpuforge', 'doctor', '--json', '--offline']);
    expect(JSON.parse(written.join('')).verdict).toMatchObject({
      compute: 'failed',
      devices: [{ detail: 'no such module' }],
    });
  });

  it.each(['detect', 'doctor', 'report', 'cache'])('has help with examples for %s', async (name) => {
    await expect(gpuforge(name, '--help')).rejects.toMatchObject({ code: 'commander.helpDisplayed' });
    expect(written.join('')).toMatch(/Examples:\n {2}\$ gpuforge/);
  });
});
