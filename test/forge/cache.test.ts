// The cache of detection: when it answers, when it must not, and that nothing it meets can fail the command.

import { fork } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clearCache, describeCache, FULL_LIFE_MS, SHORT_LIFE_MS } from '../../src/forge/detect/cache.ts';
import { type DetectOptions, detect } from '../../src/forge/detect/detect.ts';
import { cacheFolder, nodePorts } from '../../src/forge/ports-node.ts';
import { type Fixture, memoryCache, type PlayOptions, play } from './fixtures/fixture.ts';
import { machine } from './fixtures/machines.ts';
import { nvidiaCard } from './fixtures/parts.ts';

const START = 1_790_000_000_000;

async function twice(
  first: Fixture,
  second: Fixture,
  options: PlayOptions & { firstEnv?: Record<string, string> } = {},
  how: DetectOptions = {},
) {
  const cache = options.cache ?? memoryCache();
  await detect(play(first, { cache, now: () => START, ...(options.firstEnv ? { env: options.firstEnv } : {}) }), how);
  const ports = play(second, { ...options, cache });
  return { ...(await detect(ports, how)), ports, cache };
}

describe('the detection cache', () => {
  it('answers the second question without starting anything', async () => {
    const { cached, ports, spawned } = await twice(machine('h200'), machine('h200'));
    expect(cached).toBe(true);
    expect(spawned).toBe(0);
    expect(ports.runs).toEqual([]);
  });

  it('returns the same facts but no reading that ages', async () => {
    const fresh = await detect(play(machine('h200')), { cache: false });
    const { machine: kept } = await twice(machine('h200'), machine('h200'));
    expect(kept.gpus[0]).toMatchObject({
      name: fresh.machine.gpus[0]!.name,
      memoryBytes: fresh.machine.gpus[0]!.memoryBytes,
    });
    expect(fresh.machine.gpus[0]!.memoryFreeBytes).toMatchObject({ source: 'nvml' });
    expect(kept.gpus[0]!.memoryFreeBytes).toMatchObject({ value: null });
  });

  it.each<[string, (fixture: Fixture) => Fixture]>([
    [
      'a swapped card at the same address',
      (f) => ({ ...f, files: { ...f.files, ...nvidiaCard('0000:01:00.0', '2b85') } }),
    ],
    ['a second card', (f) => ({ ...f, files: { ...f.files, ...nvidiaCard('0000:02:00.0', '1b06') } })],
    ['another driver', (f) => ({ ...f, files: { ...f.files, '/sys/module/nvidia/version': '580.95.05\n' } })],
    ['a visibility variable', (f) => ({ ...f, env: { CUDA_VISIBLE_DEVICES: '' } })],
    ['an override', (f) => ({ ...f, env: { GPUFORGE_GPU: 'H200' } })],
    [
      'a vanished device node',
      (f) => ({ ...f, files: Object.fromEntries(Object.entries(f.files).filter(([p]) => p !== '/dev/nvidia0')) }),
    ],
    ['another user', (f) => ({ ...f, user: { uid: 1001, gids: [1001] } })],
  ])('is missed after %s', async (_, change) => {
    const base = machine('rtx4090');
    expect((await twice(base, change(base))).cached).toBe(false);
  });

  it('is missed after a reboot, with other options, and with the cache switched off', async () => {
    const base = machine('rtx4090');
    expect((await twice(base, base, { bootId: 'another' })).cached).toBe(false);
    const cache = memoryCache();
    await detect(play(base, { cache }));
    expect((await detect(play(base, { cache }), { tier: 0 })).cached).toBe(false);
    expect((await detect(play(base, { cache }), { cache: false })).cached).toBe(false);
    expect((await detect(play(base, { cache }))).cached).toBe(true);
  });

  it('keeps a full result a day, and a partial or empty one ten minutes', async () => {
    const after = (ms: number) => ({ now: () => START + ms });
    const at = async (name: 'rtx4090' | 'noGpu' | 'nvmlHangs', ms: number) =>
      (await twice(machine(name), machine(name), after(ms))).cached;
    expect(await at('rtx4090', FULL_LIFE_MS - 1000)).toBe(true);
    expect(await at('rtx4090', FULL_LIFE_MS + 1000)).toBe(false);
    for (const name of ['noGpu', 'nvmlHangs'] as const) {
      expect(await at(name, SHORT_LIFE_MS - 1000), name).toBe(true);
      expect(await at(name, SHORT_LIFE_MS + 1000), name).toBe(false);
    }
  });

  it('rejects an entry from the future', async () => {
    const base = machine('rtx4090');
    expect((await twice(base, base, { now: () => START - 4 * 60_000 })).cached).toBe(true);
    expect((await twice(base, base, { now: () => START - 6 * 60_000 })).cached).toBe(false);
  });

  it.each(['', '{', 'null', '[]', '{"schema":99}', '{"schema":1,"key":1,"machine":{"schema":1}}', '\u0000\u0001'])(
    'treats a broken entry (%j) as a miss',
    async (text) => {
      const cache = memoryCache();
      const base = machine('rtx4090');
      await detect(play(base, { cache }));
      for (const { name } of cache.list()) cache.write(name, text);
      const again = await detect(play(base, { cache }));
      expect(again.cached).toBe(false);
      expect(again.machine.gpus).toHaveLength(1);
    },
  );

  it('compares the whole key, not the name of the file', async () => {
    const cache = memoryCache();
    const base = machine('rtx4090');
    await detect(play(base, { cache }));
    const [entry] = cache.list();
    const other = JSON.parse(cache.read(entry!.name)!);
    cache.write(entry!.name, JSON.stringify({ ...other, key: 'of another machine' }));
    expect((await detect(play(base, { cache }))).cached).toBe(false);
  });

  it('can be shown and cleared', async () => {
    const { cache, ports } = await twice(machine('rtx4090'), machine('rtx4090'));
    expect(describeCache(ports, cache)).toMatchObject([{ state: 'valid', gpus: ['NVIDIA GeForce RTX 4090'] }]);
    cache.write('detect-0123456789abcdef.json', 'nonsense');
    expect(
      describeCache(ports, cache)
        .map(({ state }) => state)
        .sort(),
    ).toEqual(['unreadable', 'valid']);
    cache.write('other.json', 'not ours');
    expect(clearCache(cache)).toBe(2);
    expect(cache.list().map(({ name }) => name)).toEqual(['other.json']);
  });

  it('does not grow without bound', async () => {
    const cache = memoryCache();
    for (let i = 0; i < 40; i++) await detect(play(machine('rtx4090'), { cache, bootId: `boot ${i}` }));
    expect(cache.list().length).toBeLessThanOrEqual(16);
  });
});

describe('the cache on disk', () => {
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-cache-'));
  });
  afterEach(() => {
    fs.chmodSync(folder, 0o700);
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('lies where the platform keeps caches', () => {
    expect(cacheFolder('linux', { HOME: '/home/ada' })).toBe('/home/ada/.cache/gpuforge');
    expect(cacheFolder('linux', { HOME: '/home/ada', XDG_CACHE_HOME: '/var/c' })).toBe('/var/c/gpuforge');
    expect(cacheFolder('macos', { HOME: '/Users/ada' })).toBe('/Users/ada/Library/Caches/gpuforge');
    expect(cacheFolder('windows', { LOCALAPPDATA: '/l' })).toBe(path.join('/l', 'gpuforge', 'cache'));
  });

  it('serves this machine, and leaves no temporary file', async () => {
    const first = await detect(nodePorts({ cacheFolder: folder, env: {} }));
    const second = await detect(nodePorts({ cacheFolder: folder, env: {} }));
    expect([first.cached, second.cached]).toEqual([false, true]);
    expect(fs.readdirSync(folder)).toHaveLength(1);
    expect(fs.statSync(path.join(folder, fs.readdirSync(folder)[0]!)).mode & 0o777).toBe(0o600);
  });

  it('never fails the command when it cannot be written', async () => {
    const blocked = path.join(folder, 'file');
    fs.writeFileSync(blocked, 'a file where the folder should be');
    const result = await detect(nodePorts({ cacheFolder: path.join(blocked, 'cache'), env: {} }));
    expect(result.cached).toBe(false);
    expect(result.machine.schema).toBe(1);
  });

  it('stays whole under writers at the same time', async () => {
    const script = path.join(folder, 'writer.mjs');
    const target = path.join(folder, 'cache');
    fs.mkdirSync(target);
    // The same protocol as the port's, from other processes: every read in between must see a whole entry.
    fs.writeFileSync(
      script,
      `import fs from 'node:fs';
       const [, , folder, id] = process.argv;
       for (let i = 0; i < 200 || !fs.existsSync(process.argv[1] + '.enough'); i++) {
         const tmp = folder + '/detect-0123456789abcdef.json.' + id + '.' + i + '.tmp';
         fs.writeFileSync(tmp, JSON.stringify({ id, i, fill: 'x'.repeat(20000) }));
         fs.renameSync(tmp, folder + '/detect-0123456789abcdef.json');
       }`,
    );
    const writers = [1, 2, 3].map((id) => fork(script, [target, String(id)]));
    const ended = Promise.all(writers.map((child) => new Promise((resolve) => child.on('exit', resolve))));
    const { cache } = nodePorts({ cacheFolder: target, env: {} });
    let whole = 0;
    let running = true;
    void ended.then(() => {
      running = false;
    });
    while (running) {
      const text = cache.read('detect-0123456789abcdef.json');
      if (text !== undefined) {
        expect(JSON.parse(text).fill).toHaveLength(20_000);
        if (++whole === 20) fs.writeFileSync(`${script}.enough`, '');
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toEqual([0, 0, 0]);
    expect(whole).toBeGreaterThanOrEqual(20);
  });
});
