import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cpuProfile, renamed, request } from '../../../test/support/routing.ts';
import { createCpuDevice } from '../../devices/cpu/device.ts';
import type { Device } from '../../devices/device.ts';
import { routingFolder } from './disk-store.ts';
import { openRouter } from './open.ts';
import { fingerprintOf, type Known, openProfileStore } from './store.ts';

const device = (details: Record<string, string | number> = { threads: 2 }): Device =>
  ({ id: 'cpu', caps: { name: 'a CPU', details } }) as unknown as Device;

const known: Known = { profile: cpuProfile, learned: null, measuredAt: 1 };
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-routing-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the store', () => {
  it('gives back what was saved, for the same device only', async () => {
    const store = await openProfileStore(folder);
    expect(store.load(device())).toBe(null);
    store.save(device(), known);
    expect(store.load(device())).toEqual(known);
    expect((await openProfileStore(folder)).load(device())).toEqual(known);
    expect(store.load(device({ threads: 4 }))).toBe(null);
    expect(store.load(device({ threads: 2, driver: '580.1' }))).toBe(null);
  });

  it('ignores a damaged file and writes it anew', async () => {
    const store = await openProfileStore(folder);
    store.save(device(), known);
    const file = join(folder, readdirSync(folder)[0]!);
    const text = readFileSync(file, 'utf8');
    for (const damaged of [
      '',
      'not json',
      text.slice(0, -20),
      text.replace('"launchUs\\":1', '"launchUs\\":2'),
      '{}',
      'null',
    ]) {
      writeFileSync(file, damaged);
      expect(store.load(device())).toBe(null);
    }
    store.save(device(), known);
    expect(store.load(device())).toEqual(known);
  });

  it('refuses a profile that makes no sense, checksum or not', async () => {
    const store = await openProfileStore(folder);
    store.save(device(), { ...known, profile: { ...cpuProfile, launchUs: -1 } });
    expect(store.load(device())).toBe(null);
    store.save(device(), { ...known, profile: { ...cpuProfile, upload: { x: [2, 1], y: [1, 1] } } });
    expect(store.load(device())).toBe(null);
  });

  it('leaves no temporary files, and may be written by many at once', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openProfileStore(folder)));
    stores.forEach((s, i) => {
      s.save(device(), { ...known, measuredAt: i + 1 });
    });
    expect(readdirSync(folder)).toHaveLength(1);
    expect(stores[0]!.load(device())!.measuredAt).toBe(8);
    expect(stores[0]!.clear()).toBe(1);
    expect(stores[0]!.load(device())).toBe(null);
  });

  it('works without a disk, and with one that cannot be used', async () => {
    const memory = await openProfileStore(false);
    // It is one for the process.
    memory.clear();
    memory.save(device(), known);
    expect(memory.load(device())).toEqual(known);
    expect(memory.clear()).toBe(1);
    writeFileSync(join(folder, 'file'), '');
    const blocked = await openProfileStore(join(folder, 'file', 'below'));
    blocked.save(device(), known);
    expect(blocked.load(device())).toBe(null);
    expect(blocked.clear()).toBe(0);
  });
});

it('puts files where the user keeps caches', () => {
  expect(routingFolder({}, '/home/u')).toBe('/home/u/.cache/gpuforge/routing');
  expect(routingFolder({ XDG_CACHE_HOME: '/x' }, '/home/u')).toBe('/x/gpuforge/routing');
  expect(routingFolder({ GPUFORGE_CACHE_DIR: '/c', XDG_CACHE_HOME: '/x' }, '/home/u')).toBe('/c/routing');
});

it('does not compute details that are only computed when asked for', () => {
  let asked = 0;
  const lazy = {
    id: 'cpu',
    caps: {
      name: 'a CPU',
      details: {
        threads: 2,
        get blas() {
          asked++;
          return 'x';
        },
      },
    },
  } as unknown as Device;
  expect(fingerprintOf(lazy, 'host')).toContain('threads=2');
  expect(asked).toBe(0);
});

describe('opening a router', () => {
  it('measures a machine once, and remembers what it learned', async () => {
    const first = await createCpuDevice({ threads: 1 });
    const second = renamed<Device>(first, 'cpu:1');
    const devices = [first, second];
    const options = { cache: folder, explore: false } as const;
    try {
      const opened = await openRouter(devices, options, { budgetMs: 60 });
      expect([...opened.measured].sort()).toEqual(['cpu', 'cpu:1']);
      const r = request(1000, { devices: ['cpu', 'cpu:1'] });
      const before = opened.router.explain(r).predictions[0]!.us;
      const { work } = r.candidates[0]!;
      for (let i = 0; i < 12; i++) opened.router.observe(r.op, work, 'cpu', before, 100 * before);
      opened.save();
      const again = await openRouter(devices, options, { budgetMs: 60 });
      expect(again.measured).toEqual([]);
      expect(again.router.explain(r).predictions[0]!.us).toBeGreaterThan(5 * before);
      const forced = await openRouter(devices, options, { budgetMs: 60, force: true });
      expect(forced.measured).toHaveLength(2);
      const alone = await openRouter([first], { cache: join(folder, 'empty') });
      expect(alone.measured).toEqual([]);
    } finally {
      await first.close();
    }
  });
});
