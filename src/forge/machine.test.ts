import { describe, expect, it } from 'vitest';
import { compareCc, compareVersions, factValue, formatCc, known, missing, parseCc } from './machine.ts';

describe('facts', () => {
  it('tell a value from its absence, falsy values included', () => {
    expect(factValue(known(0, 'nvml'))).toBe(0);
    expect(factValue(missing('no driver'))).toBeUndefined();
  });

  it('carry a note only where there is one', () => {
    expect(known(1, 'os')).toEqual({ value: 1, source: 'os' });
    expect(known(1, 'os', 'upper bound')).toEqual({ value: 1, source: 'os', note: 'upper bound' });
  });
});

describe('versions', () => {
  it('compare as numbers, not as text', () => {
    expect(compareVersions('580.9', '580.65.06')).toBeLessThan(0);
    expect(compareVersions('1000.1', '580.65')).toBeGreaterThan(0);
    expect(compareVersions('580', '580.0.0')).toBe(0);
    expect(compareVersions('525.60.13', '525.60.2')).toBeGreaterThan(0);
  });

  it('order compute capabilities beyond 9.0', () => {
    expect(compareCc({ major: 10, minor: 0 }, { major: 9, minor: 0 })).toBeGreaterThan(0);
    expect(parseCc('12.1')).toEqual({ major: 12, minor: 1 });
    expect(parseCc('sm_89')).toBeUndefined();
    expect(formatCc({ major: 8, minor: 9 })).toBe('8.9');
  });
});
