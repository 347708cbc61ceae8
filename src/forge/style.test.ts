import { describe, expect, it } from 'vitest';
import { columns, formatBytes, visibleWidth } from './style.ts';

describe('terminal output', () => {
  it('aligns columns by what is visible, not by escape codes', () => {
    expect(
      columns([
        ['a', '\u001b[31mred\u001b[0m', 'x'],
        ['long', 'b', 'y'],
      ]),
    ).toBe('a     \u001b[31mred\u001b[0m  x\nlong  b    y\n');
    expect(visibleWidth('\u001b[1mbold\u001b[0m')).toBe(4);
  });

  it('leaves no blanks at the end of a line', () => {
    expect(
      columns(
        [
          ['a', ''],
          ['bb', 'c'],
        ],
        2,
        1,
      ),
    ).toBe(' a\n bb  c\n');
  });

  it('writes sizes in the unit that fits', () => {
    expect(formatBytes(615 * 1024 ** 2)).toBe('615 MiB');
    expect(formatBytes(24 * 1024 ** 3)).toBe('24.0 GiB');
    expect(formatBytes(150_754_820_096)).toBe('140 GiB');
  });
});
