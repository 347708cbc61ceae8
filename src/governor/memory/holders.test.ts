import { describe, expect, it } from 'vitest';
import { holder } from '../../../test/support/memory.ts';
import { formatBytes } from '../../base/format.ts';
import { describeHolders, largestHolders } from './holders.ts';

describe('holders', () => {
  it('gives the largest, largest first, of equal ones the oldest', () => {
    const all = Array.from({ length: 1000 }, (_, i) => holder(((i * 7919) % 500) * 4, `${i}`, { ageMs: i }));
    const expected = [...all].sort((a, b) => b.bytes - a.bytes || b.ageMs - a.ageMs).slice(0, 5);
    expect(largestHolders(all)).toEqual(expected);
    expect(largestHolders(all, 12).length).toBe(12);
    expect(largestHolders(all.slice(0, 3)).length).toBe(3);
  });

  it('looks at one device only if asked to', () => {
    const all = [holder(8, 'a'), holder(16, 'b', { device: 'cpu' })];
    expect(largestHolders(all, 5, 'cpu').map((h) => h.site)).toEqual(['b']);
  });

  it('reads well in a message', () => {
    const text = describeHolders(
      [
        holder(1.5 * 2 ** 30, 'train.ts:12:5', { shape: [4096, 98304], ageMs: 73_000 }),
        holder(64 * 2 ** 20, '', { dtype: 'i64', shape: [8388608], ageMs: 12 }),
      ],
      'cuda:0',
    );
    expect(text).toBe(
      [
        '  largest holders on cuda:0:',
        '     1.50 GiB  f32 [4096, 98304], made at train.ts:12:5, 73 s old',
        '     64.0 MiB  i64 [8388608], 12 ms old',
      ].join('\n'),
    );
    expect(describeHolders([])).toBe('');
  });

  it('writes bytes with three digits', () => {
    expect([0, 512, 1024, 1536, 999 * 1024, 73.2 * 2 ** 30, 2 ** 60].map(formatBytes)).toEqual([
      '0 B',
      '512 B',
      '1.00 KiB',
      '1.50 KiB',
      '999 KiB',
      '73.2 GiB',
      '1024 PiB',
    ]);
  });
});
