// What a hostile or broken machine must not do: hang detection, write to the terminal, or lead files elsewhere.

import { execFileSync, type StdioOptions, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changeConfig, configPath, loadConfig } from '../../src/forge/config/file.ts';
import { capture } from '../../src/forge/config/testing.ts';
import { loadTables } from '../../src/forge/data/tables.ts';
import { runDetect } from '../../src/forge/detect/command.ts';
import { detect } from '../../src/forge/detect/detect.ts';
import { runDoctor, runReport } from '../../src/forge/doctor/command.ts';
import { writeFiles } from '../../src/forge/env/write.ts';
import { cacheFolder, nodePorts } from '../../src/forge/ports-node.ts';
import { within } from '../support/time.ts';
import { play } from './fixtures/fixture.ts';
import { machine } from './fixtures/machines.ts';
import { worldOf } from './fixtures/world.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-robust-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const posix = process.platform !== 'win32';
const ports = (env: Record<string, string> = {}) =>
  nodePorts({ env: { HOME: folder, ...env }, cacheFolder: join(folder, 'cache') });

describe.runIf(posix)('files that are no files', () => {
  it('are passed over: a pipe, a device without end, a folder', () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const { files } = ports();
    const start = performance.now();
    expect(files.read(fifo)).toBeUndefined();
    expect(files.read('/dev/zero')).toBeUndefined();
    expect(files.read(folder)).toBeUndefined();
    expect(performance.now() - start).toBeLessThan(within(500));
  });

  it('are read to a bound, and whole below it', () => {
    const { files } = ports();
    writeFileSync(join(folder, 'long'), 'x'.repeat(9 * 1024 * 1024));
    expect(files.read(join(folder, 'long'))!.length).toBeLessThanOrEqual(5 * 1024 * 1024);
    writeFileSync(join(folder, 'short'), 'ä'.repeat(40_000));
    expect(files.read(join(folder, 'short'))).toBe('ä'.repeat(40_000));
    writeFileSync(join(folder, 'empty'), '');
    expect(files.read(join(folder, 'empty'))).toBe('');
    expect(files.read('/proc/self/status') ?? '').toMatch(process.platform === 'linux' ? /^Name:/ : /^/);
  });
});

describe.runIf(posix)('files that the user names', () => {
  it('cannot hang a command by being a pipe or a device without end', () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const start = performance.now();
    for (const odd of [fifo, '/dev/zero']) {
      const config = loadConfig({ platform: 'linux', home: folder, env: { GPUFORGE_CONFIG: odd } });
      expect(config.problems.join()).toMatch(/is not a regular file/);
      expect(() => loadTables(odd)).toThrow(/--data: cannot read/);
    }
    expect(performance.now() - start).toBeLessThan(within(500));
  });

  it('below a HOME that is a device are refused with the reason', () => {
    const path = configPath({ platform: 'linux', home: '/dev/null', env: {} });
    expect(() => changeConfig(path, 'network.offline', 'true')).toThrow(/cannot write .dev.null/);
  });
});

describe.runIf(existsSync('/dev/full'))('a full disk behind standard output', () => {
  it.each([['completion', 'bash'], ['--help'], ['config', '--help'], ['detect']])(
    'ends %s %s without a trace',
    (...args) => {
      const full = openSync('/dev/full', 'w');
      try {
        const stdio: StdioOptions = ['ignore', full, 'pipe'];
        const { status, stderr } = spawnSync(process.execPath, [CLI, ...args], { stdio, encoding: 'utf8' });
        expect(stderr).toBe('error: standard output cannot be written: ENOSPC\n');
        expect(status).toBe(2);
      } finally {
        closeSync(full);
      }
    },
  );
});

describe('arguments that are refused', () => {
  const evil = '\u001b]0;owned\u0007\u001b_APC\u001b\\\u202ex';

  it.each([['completion', evil], ['cache', evil], ['data', evil], [`--${evil}`]])(
    'reach no terminal: %s',
    (...args) => {
      const { stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8' });
      expect(stderr).toMatch(/^error: /);
      expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);
    },
  );
});

describe('a machine without HOME', () => {
  it('or with one that is no whole path writes nothing where it was started', () => {
    expect(cacheFolder('linux', { HOME: 'rel/dir' })).toMatch(/^[/\\]|^[A-Z]:/);
    expect(nodePorts({ env: { HOME: 'rel/dir' } }).home).toMatch(/^[/\\]|^[A-Z]:/);
    expect(cacheFolder('linux', { HOME: folder, XDG_CACHE_HOME: 'rel' })).toBe(join(folder, '.cache', 'gpuforge'));
    expect(configPath({ platform: 'linux', home: folder, env: { XDG_CONFIG_HOME: 'rel' } })).toContain(folder);
  });

  it('still has a folder of its own', () => {
    const bare = nodePorts({ env: {} });
    expect(bare.home).not.toBe('');
    expect(cacheFolder('linux', {})).toMatch(/gpuforge/);
  });
});

describe('names that want to write to the terminal', () => {
  const evil = 'Card\u001b]0;owned\u0007\u001b_APC\u001b\\\u001b^PM\u001b\\\u009b31m\u202e\u001b';
  const hostile = () => {
    const base = machine('rtx4090');
    const nvml = base.nvml;
    if (typeof nvml !== 'object' || !('devices' in nvml)) throw new Error('the fixture has no NVML');
    return {
      ...base,
      cpu: `CPU ${evil}`,
      nvml: { ...nvml, devices: nvml.devices.map((device) => ({ ...device, name: `NVIDIA ${evil}` })) },
      files: { ...base.files, '/etc/os-release': `NAME="${evil}"\nPRETTY_NAME="Ubuntu ${evil}"\nID=ubuntu\n` },
    };
  };
  const clean = (text: string) => expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);

  it('lose their escape sequences in detect, doctor and report', async () => {
    const found = await detect(play(hostile()), { cache: false });
    clean(JSON.stringify(found.machine));
    expect(JSON.stringify(found.machine)).not.toContain('owned\\u0007');
    const shown = capture(false);
    await runDetect(play(hostile()), { cache: false, verbose: true }, shown);
    clean(shown.out);
    const world = worldOf(hostile());
    const doctor = capture(false);
    await runDoctor(world, { offline: true, verbose: true }, doctor, { fixPort: {} as never });
    clean(doctor.out);
    const report = capture(false);
    await runReport(world, {}, report, '1.0.0');
    clean(report.out);
  });
});

describe('what is refused is quoted without its escape sequences', () => {
  const evil = 'a\u001b]0;owned\u0007\u001b_x\u001b\\\u009b31m\u202eb\u2028c\u007f';
  it.each([
    [['detect', '--tier', evil], {}],
    [['detect'], { GPUFORGE_OS: evil }],
    [['resolve', '--json', '--framework', evil], {}],
    [['resolve'], { GPUFORGE_CONFIG: `/nonexistent/${evil}` }],
    [[evil, '--json'], {}],
    [['env', 'x', '--dry-run', '--output', evil], {}],
  ] as const)('%j %o', (args, env) => {
    const { stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...env },
    });
    expect(`${stdout}${stderr}`).not.toBe('');
    expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]/u);
  });
});

describe.runIf(posix)('links', () => {
  const file = { path: '.devcontainer/devcontainer.json', content: '{}\n' };

  it('are not written through by env', () => {
    const outside = join(folder, 'outside');
    const project = join(folder, 'project');
    mkdirSync(outside);
    mkdirSync(project);
    symlinkSync(outside, join(project, '.devcontainer'));
    expect(() => writeFiles(project, [file], true)).toThrow(/is a link/);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('of the cache replace nothing outside', () => {
    const target = join(folder, 'precious');
    writeFileSync(target, 'precious');
    const { cache } = ports();
    mkdirSync(cache.folder, { recursive: true });
    symlinkSync(target, join(cache.folder, 'entry.json'));
    cache.write('entry.json', 'new');
    expect(readFileSync(target, 'utf8')).toBe('precious');
    expect(lstatSync(join(cache.folder, 'entry.json')).isSymbolicLink()).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('a cache that cannot be', () => {
  it.each(['/proc/1', '/proc/self/x', '/dev/null', '/sys/x'])('does not hang in %s', (place) => {
    const { cache } = nodePorts({ env: { HOME: folder }, cacheFolder: join(place, 'gpuforge') });
    cache.write('entry.json', 'new');
    expect(cache.read('entry.json')).toBeUndefined();
  });
});

describe('a disk that is full', () => {
  it('leaves no half-written file', () => {
    writeFileSync(join(folder, 'blocked'), '');
    const files = [
      { path: 'a.txt', content: 'a\n' },
      { path: 'blocked/b.txt', content: 'b\n' },
    ];
    expect(() => writeFiles(folder, files, false)).toThrow(/cannot write|not a/);
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
    expect(readdirSync(folder)).toEqual(['blocked']);
  });
});
