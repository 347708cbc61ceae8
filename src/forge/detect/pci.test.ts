import { describe, expect, it } from 'vitest';
import { normalizeAddress, parseRegions } from './pci.ts';

describe('PCI attributes', () => {
  it('give region sizes, 0 for ports and unused lines', () => {
    // As read on an H200: BAR 0 is 64 bits wide, so line 1 is empty and BAR 1 stands in line 2.
    const h200 = [
      '0x0000104002000000 0x0000104002ffffff 0x000000000014220c',
      '0x0000000000000000 0x0000000000000000 0x0000000000000000',
      '0x0000100000000000 0x0000103fffffffff 0x000000000014220c',
    ].join('\n');
    expect(parseRegions(h200)).toEqual([16 * 1024 ** 2, 0, 256 * 1024 ** 3]);
    expect(parseRegions('0x000000000000e000 0x000000000000e07f 0x0000000000040101')).toEqual([0]);
    expect(parseRegions('garbage\n\n1 2')).toEqual([0, 0, 0]);
    expect(parseRegions(undefined)).toEqual([]);
  });

  it.each([
    ['00000000:4E:00.0', '0000:4e:00.0'],
    ['0000000F:01:00.0', '000f:01:00.0'],
    ['01:00.0', '0000:01:00.0'],
    ['10000:E1:00.0', '10000:e1:00.0'],
    ['nonsense', 'nonsense'],
  ])('write the address %s as sysfs does', (given, expected) => {
    expect(normalizeAddress(given)).toBe(expected);
  });
});
