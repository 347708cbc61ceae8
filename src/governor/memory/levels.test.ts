import { describe, expect, it } from 'vitest';
import { defaultLimits, levelAt, nextLevel, type PressureLevel } from './levels.ts';

describe('pressure levels', () => {
  it('begin at 60, 80 and 90 per cent, the limit itself included', () => {
    const at = [0, 59.9, 60, 79.9, 80, 89.9, 90, 100].map((u) => levelAt(u));
    expect(at).toEqual(['low', 'low', 'moderate', 'moderate', 'high', 'high', 'critical', 'critical']);
  });

  it('can be set elsewhere', () => {
    const limits = { moderate: 10, high: 20, critical: 30 };
    expect([9, 10, 20, 30].map((u) => levelAt(u, limits))).toEqual(['low', 'moderate', 'high', 'critical']);
  });

  it('rise at once, over several levels too', () => {
    expect(nextLevel('low', 60, defaultLimits)).toBe('moderate');
    expect(nextLevel('low', 95, defaultLimits)).toBe('critical');
    expect(nextLevel('moderate', 80, defaultLimits)).toBe('high');
  });

  const falls: [PressureLevel, number, PressureLevel][] = [
    ['critical', 89.9, 'critical'],
    ['critical', 88, 'critical'],
    ['critical', 87.9, 'high'],
    ['high', 78, 'high'],
    ['high', 77.9, 'moderate'],
    ['moderate', 58, 'moderate'],
    ['moderate', 57.9, 'low'],
    // Clear of 90, but within the margin of 80.
    ['critical', 79, 'high'],
    ['critical', 77, 'moderate'],
    ['critical', 10, 'low'],
    ['high', 59, 'moderate'],
  ];
  it.each(falls)('fall with a margin of two points: %s at %d is %s', (from, u, to) => {
    expect(nextLevel(from, u, defaultLimits)).toBe(to);
  });

  it('do not flicker on a load that swings around a limit', () => {
    let level: PressureLevel = 'moderate';
    let changes = 0;
    for (let i = 0; i < 1000; i++) {
      const next = nextLevel(level, 80 + (i % 2 ? 1 : -1), defaultLimits);
      if (next !== level) changes++;
      level = next;
    }
    expect(changes).toBe(1);
  });
});
