import { describe, expect, it } from 'vitest';
import { ArgumentError } from '../../errors.ts';
import { budgetFor, bytesOf, type MemoryOptions, memorySettings, totalBudget } from './options.ts';

describe('memory options', () => {
  it('have defaults', () => {
    expect(memorySettings()).toEqual({
      levels: { moderate: 60, high: 80, critical: 90 },
      cleanupAt: 85,
      budget: null,
      hostBytes: '25%',
      sites: null,
      leaks: { windowMs: 300_000, spanMs: 60_000, leastBytes: 2 ** 20 },
      sampleMs: 1000,
    });
  });

  it('keep defaults beside what is given, and where undefined is given', () => {
    const settings = memorySettings({
      levels: { high: 75, critical: undefined } as object,
      leaks: { windowMs: 60_000 },
    });
    expect(settings.levels).toEqual({ moderate: 60, high: 75, critical: 90 });
    expect(settings.leaks).toEqual({ windowMs: 60_000, spanMs: 60_000, leastBytes: 2 ** 20 });
    expect(memorySettings({ cleanupAt: false, leaks: false, sampleMs: false })).toMatchObject({
      cleanupAt: null,
      leaks: null,
      sampleMs: null,
    });
    expect(memorySettings({ leaks: true }).leaks!.windowMs).toBe(300_000);
  });

  const bad: [string, unknown][] = [
    ['memory.level', { level: {} }],
    ['memory.levels', { levels: 3 }],
    ['memory.levels.higher', { levels: { higher: 1 } }],
    ['memory.levels.high', { levels: { high: 101 } }],
    ['memory.levels', { levels: { high: 95 } }],
    ['memory.cleanupAt', { cleanupAt: 0 }],
    ['memory.cleanupAt', { cleanupAt: '85%' }],
    ['memory.budget', { budget: -1 }],
    ['memory.budget', { budget: Number.POSITIVE_INFINITY }],
    ['memory.budget', { budget: '12 apples' }],
    ['memory.budget', { budget: '120%' }],
    ['memory.budget', { budget: [1] }],
    ["memory.budget['cuda:0']", { budget: { 'cuda:0': 'lots' } }],
    ['memory.budget.cdua', { budget: { cdua: '1GiB' } }],
    ['memory.budget.total', { budget: { total: '50%' } }],
    ['memory.budget.total', { budget: { total: 0.5 } }],
    ['memory.budget.total', { budget: { total: -1 } }],
    ['memory.hostBytes', { hostBytes: Number.NaN }],
    ['memory.sites', { sites: 'some' }],
    ['memory.leaks.windowMs', { leaks: { windowMs: 0 } }],
    ['memory.leaks.spanMs', { leaks: { windowMs: 30_000 } }],
    ['memory.leaks.window', { leaks: { window: 1 } }],
    ['memory.sampleMs', { sampleMs: -5 }],
    ['memory.sampleMs', { sampleMs: 1e12 }],
    ['memory', 7],
  ];
  it.each(bad)('that cannot be used are named: %s', (key, options) => {
    let error: unknown;
    try {
      memorySettings(options as MemoryOptions);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(ArgumentError);
    expect((error as ArgumentError).where).toBe(key);
    expect((error as ArgumentError).message.startsWith(`${key}: `)).toBe(true);
    expect((error as ArgumentError).fix).not.toBe('');
  });
});

describe('amounts', () => {
  it('are bytes, shares or sizes with a unit', () => {
    const total = 1000;
    const values = [4096, 1, 0.5, '50%', '12.5%', '2KiB', '1.5 MB', '3B', '1GiB'];
    expect(values.map((v) => bytesOf(v, total, 'k'))).toEqual([4096, 1000, 500, 500, 125, 2048, 1_500_000, 3, 2 ** 30]);
  });

  it('that are shares need a total', () => {
    expect(() => bytesOf('50%', null, 'memory.budget')).toThrow(/memory\.budget: .*\n.*give bytes/);
    expect(bytesOf('1MiB', null, 'k')).toBe(2 ** 20);
  });

  it('are a budget for every device, for a kind, or for one', () => {
    const all = memorySettings({ budget: '50%' });
    expect([budgetFor(all, 'cuda:0', 200), budgetFor(all, 'cpu', 100)]).toEqual([100, 50]);
    const some = memorySettings({ budget: { cuda: '1GiB', 'cuda:1': 0.5 } });
    expect([budgetFor(some, 'cuda:0', 9e9), budgetFor(some, 'cuda:1', 1e9), budgetFor(some, 'cpu', 1)]).toEqual([
      2 ** 30,
      5e8,
      Number.POSITIVE_INFINITY,
    ]);
    expect(budgetFor(memorySettings(), 'cpu', 1)).toBe(Number.POSITIVE_INFINITY);
  });

  it('are a budget for all devices together only where that is said', () => {
    const both = memorySettings({ budget: { total: '1GiB', cpu: '50%', cuda: undefined } });
    expect([totalBudget(both), budgetFor(both, 'cpu', 100)]).toEqual([2 ** 30, 50]);
    expect(budgetFor(both, 'cuda:0', 100)).toBe(Number.POSITIVE_INFINITY);
    for (const budget of ['50%', 4096, { cpu: 4096 }, undefined])
      expect(totalBudget(memorySettings({ budget }))).toBe(Number.POSITIVE_INFINITY);
  });
});
