// What the profiler costs. The limits are those of the bench; GPUFORGE_TEST_TIMES=strict takes them as they are.

import { describe, expect, it } from 'vitest';
import { costs } from '../../bench/profile/scopes.ts';
import { Profiler } from '../../src/profile/index.ts';
import { Columns } from '../../src/profile/record/columns.ts';
import { within } from '../support/time.ts';

/** The fastest round: somebody else may be using the machine. */
const least = (list: readonly number[]): number => Math.min(...list);
const body = (): number => 1;

describe('a scope', () => {
  it('costs at most 20 ns while the profiler is off, and 2 µs while it is on', () => {
    const off = new Profiler({ enabled: false });
    const on = new Profiler({ capacity: 1000 });
    const wrapped = { off: off.wrap(body), on: on.wrap(body) };
    const span = (p: Profiler) => () => p.span('work')[Symbol.dispose]();
    const found = costs(
      {
        'profile off': () => off.profile('work', body),
        'span off': span(off),
        'wrap off': () => wrapped.off(),
        'profile on': () => on.profile('work', body),
        'span on': span(on),
        'wrap on': () => wrapped.on(),
      },
      5000,
      9,
    );
    for (const [name, list] of Object.entries(found)) {
      expect(least(list), `${name}, ns`).toBeLessThanOrEqual(within(name.endsWith('off') ? 20 : 2000));
    }
  });

  it('leaves nothing behind while the profiler is off', () => {
    const off = new Profiler({ enabled: false });
    const grown = (): number => {
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < 200_000; i++) off.profile('work', body);
      return process.memoryUsage().heapUsed - before;
    };
    // The first rounds are interpreted, which takes memory of its own.
    expect(Math.min(...Array.from({ length: 8 }, grown))).toBeLessThan(200_000);
    expect(off.getEntries()).toEqual([]);
  });
});

describe('rows of numbers', () => {
  it('keep the newest, count the others, and never move what is there', () => {
    const rows = new Columns(2, 5000);
    for (let i = 0; i < 12_000; i++) {
      const row = rows.add();
      rows.set(0, row, i);
      rows.set(1, row, -i);
    }
    expect([rows.total, rows.size, rows.dropped, rows.first]).toEqual([12_000, 5000, 7000, 7000]);
    expect(rows.has(6999)).toBe(false);
    for (const row of [7000, 9999, 11_999]) expect([rows.get(0, row), rows.get(1, row)]).toEqual([row, -row]);
    rows.clear();
    expect(rows.size).toBe(0);
    expect(rows.get(0, rows.add())).toBeDefined();
  });
});
