import { describe, expect, it } from 'vitest';
import fc from '../../../test/support/properties.ts';
import { type State, type Stretch, Stretches, unit } from './stretches.ts';

const base = 2 ** 40;
const size = 4096;

/** One state per unit: the map must agree with it, with no two neighbours of one kind apart (but blocks in use). */
function audit(map: Stretches, model: readonly State[], live: ReadonlySet<Stretch>): void {
  let at = base;
  let last: State | null = null;
  for (const s of map) {
    expect(s.address).toBe(at);
    expect(s.units).toBeGreaterThan(0);
    expect(s.state === 'used').toBe(live.has(s));
    if (s.state !== 'used') expect(s.state).not.toBe(last);
    const from = (s.address - base) / unit;
    for (let u = from; u < from + s.units; u++) if (model[u] !== s.state) throw new Error(`unit ${u} is ${s.state}`);
    expect(map.absent.has(s)).toBe(s.state === 'absent');
    last = s.state;
    at = s.end;
  }
  expect(at).toBe(base + size * unit);
}

describe('the map of addresses', () => {
  it('agrees with a list of units over random blocks, fillings and emptyings', () => {
    const step = fc.record({
      kind: fc.constantFrom('take', 'take', 'take', 'release', 'release', 'fill', 'empty'),
      units: fc.integer({ min: 1, max: 600 }),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const map = new Stretches();
        const model: State[] = new Array(size).fill('absent');
        map.addRegion(base, size * unit, 'absent');
        const live = new Set<Stretch>();
        const paint = (from: number, units: number, state: State): void => {
          model.fill(state, (from - base) / unit, (from - base) / unit + units);
        };
        const pickOf = (state: State, n: number): Stretch | undefined => {
          const all = [...map].filter((s) => s.state === state);
          return all[n % Math.max(1, all.length)];
        };
        for (const { kind, units, pick } of steps) {
          if (kind === 'take') {
            const found = map.find(units);
            const largest = Math.max(0, ...[...map].filter((s) => s.state === 'free').map((s) => s.units));
            // A short search may miss a block of its own class, never one of the next.
            if (!found) expect(largest).toBeLessThan(Math.ceil(units * (1 + 1 / 16)) + 1);
            else {
              const s = map.take(found, units);
              expect(s.units).toBe(units);
              paint(s.address, units, 'used');
              live.add(s);
            }
          } else if (kind === 'release') {
            const s = pickOf('used', pick);
            if (s) {
              live.delete(s);
              paint(s.address, s.units, 'free');
              map.release(s);
            }
          } else {
            const s = pickOf(kind === 'fill' ? 'absent' : 'free', pick);
            if (!s) continue;
            const n = Math.min(units, s.units);
            if (kind === 'fill') {
              paint(s.address, n, 'free');
              map.fill(s, n);
            } else {
              const from = s.address + (pick % (s.units - n + 1)) * unit;
              paint(from, n, 'absent');
              map.empty(s, from, from + n * unit);
            }
          }
          audit(map, model, live);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('refuses to take back a block twice', () => {
    const map = new Stretches();
    map.addRegion(base, 100 * unit, 'free');
    const s = map.take(map.find(10)!, 10);
    map.release(s);
    expect(() => map.release(s)).toThrow('twice');
  });

  it('prefers the stretch that fits best', () => {
    const map = new Stretches();
    for (const [i, units] of [100, 40, 33, 36].entries()) map.addRegion(base + i * 2 ** 20, units * unit, 'free');
    expect(map.find(33)!.units).toBe(33);
    expect(map.find(34)!.units).toBe(36);
    expect(map.find(41)!.units).toBe(100);
    expect(map.find(101)).toBeNull();
  });
});
