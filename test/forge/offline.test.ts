// --offline: every command through the real parser, in a home of its own, with everything that leads to the network watched.

import dns from 'node:dns';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registerCommands } from '../../src/cli/commands.ts';

let home: string;
let asked: string[];
let out: string[];

beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-offline-'));
  asked = [];
  out = [];
  for (const [name, value] of Object.entries({ HOME: home, XDG_CONFIG_HOME: '', XDG_CACHE_HOME: '', HTTPS_PROXY: '' }))
    vi.stubEnv(name, value);
  for (const name of ['https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) vi.stubEnv(name, '');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  const refuse = (name: string) => {
    asked.push(name);
    throw Object.assign(new Error('the network is watched'), { code: 'EWATCHED' });
  };
  vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(() => refuse('connect'));
  vi.spyOn(dns, 'lookup').mockImplementation((() => refuse('lookup')) as never);
  vi.stubGlobal('fetch', () => Promise.reject(new Error(String(asked.push('fetch')))));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  fs.rmSync(home, { recursive: true, force: true });
  process.exitCode = 0;
});

async function gpuforge(...args: string[]): Promise<string> {
  const program = new Command('gpuforge').version('0').enablePositionalOptions().exitOverride();
  await registerCommands(program);
  out.length = 0;
  await program.parseAsync(['node', 'gpuforge', ...args]);
  return out.join('');
}

/** Commands that look at the machine or may reach for the network, with the arguments of an ordinary call. */
const calls: Readonly<Record<string, readonly string[]>> = {
  detect: [],
  doctor: [],
  report: [],
  resolve: [],
  env: ['demo', '--dry-run'],
  explain: ['CUDA error: out of memory'],
  profiles: ['recommend'],
  data: ['check'],
  verify: [],
};

describe('--offline', () => {
  it.each(Object.entries(calls))('keeps %s away from the network', async (name, args) => {
    await gpuforge(name, ...args, '--offline');
    expect(asked).toEqual([]);
    expect(out.join('')).not.toContain('EWATCHED');
  });

  it('is what keeps them away: without it the doctor and the tables do ask', async () => {
    await gpuforge('doctor');
    expect(asked).not.toEqual([]);
    asked.length = 0;
    await gpuforge('data', 'check');
    expect(asked).not.toEqual([]);
  });

  it('is the setting: the variable and the file do the same', async () => {
    vi.stubEnv('GPUFORGE_OFFLINE', 'true');
    await gpuforge('doctor');
    await gpuforge('data', 'check');
    vi.stubEnv('GPUFORGE_OFFLINE', '');
    await gpuforge('config', 'set', 'network.offline', 'true');
    await gpuforge('doctor');
    await gpuforge('data', 'check');
    expect(asked).toEqual([]);
  });

  it('lets env write its files and refuses to install, lock or download', async () => {
    const folder = path.join(home, 'demo');
    for (const what of [['--install', '--yes'], ['--lock'], ['--wheelhouse', path.join(home, 'wheels')]]) {
      const text = await gpuforge('env', 'demo', '--cpu-only', '--output', folder, '--offline', ...what);
      expect(text).toContain('the network is off');
      expect(process.exitCode).toBe(2);
    }
    expect(fs.existsSync(path.join(folder, 'pyproject.toml'))).toBe(true);
    expect(fs.existsSync(path.join(home, 'wheels'))).toBe(false);
  });
});
