import { describe, expect, it } from 'vitest';
import { within } from '../../../test/support/time.ts';
import { forTerminal, plainLine, plainText, plainValue } from './plain.ts';

const attacks: readonly (readonly [string, string, string])[] = [
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['a title with BEL', 'a\u001b]0;owned\u0007b', 'ab'],
  ['a link with ST', 'a\u001b]8;;http://x\u001b\\b', 'ab'],
  ['a DCS', 'a\u001bPq#0\u001b\\b', 'ab'],
  ['an APC', 'a\u001b_Gf=100;AAAA\u001b\\b', 'ab'],
  ['a PM', 'a\u001b^secret\u001b\\b', 'ab'],
  ['an SOS', 'a\u001bXsecret\u001b\\b', 'ab'],
  ['a lone escape character at the end', 'a\u001b', 'a'],
  ['a lone escape character before a letter', 'a\u001bcb', 'ab'],
  ['a sequence that never ends', 'a\u001b]0;never', 'a'],
  ['the C1 opener', 'a\u009b31mb\u009d0;t\u0007c', 'abc'],
  ['a bell, a backspace and a carriage return', 'a\u0007b\u0008c\rd', 'abcd'],
  ['a direction override', 'a\u202egnp.exe\u202cb', 'agnp.exeb'],
  ['isolates and marks', 'a\u2066b\u2069\u200f\u061cc', 'abc'],
  ['zero-width characters and tags', 'a\u200b\u2060\ufeffb\u{e0041}c', 'abc'],
];

describe('plain text', () => {
  it.each(attacks)('has no %s', (_name, text, clean) => {
    expect(plainText(text)).toBe(clean);
    expect(plainLine(text)).toMatch(/^[\x20-\x7e]*$/);
  });

  it('keeps letters of all languages, tabs and newlines', () => {
    expect(plainText('größe 显卡 видео\t1\n2')).toBe('größe 显卡 видео\t1\n2');
    expect(plainLine('a\nb\tc')).toBe('a b c');
  });

  it('reaches every string of a value', () => {
    expect(plainValue({ a: ['\u001b[31mx', 1, null], b: { c: 'y\u0007' } })).toEqual({
      a: ['x', 1, null],
      b: { c: 'y' },
    });
  });

  it.each(attacks.slice(1))('is all that the last gate lets through of %s, colours or not', (_name, text, clean) => {
    expect(forTerminal(text, 'nothing')).toBe(clean);
    expect(forTerminal(text, 'colours')).toBe(clean);
    const json = forTerminal(`${JSON.stringify({ text })}\n`, 'colours');
    expect(json).toMatch(/^[\x20-\x7e]*\n$/);
    expect(JSON.parse(json)).toEqual({ text });
  });

  it('passes the gate with the colours of our own, and with the movements of a live view where there is one', () => {
    const own = '\u001b[1mbold\u001b[0m \u001b[31mred\u001b[0m';
    expect(forTerminal(own, 'colours')).toBe(own);
    expect(forTerminal(own, 'nothing')).toBe('bold red');
    const view = '\u001b[H\u001b[J\u001b[38;5;240mx\u001b[0m\r\u001b[2K';
    expect(forTerminal(view, 'screen')).toBe(view);
    expect(forTerminal('\u001b[H\u001b[Jx\u001b[8mhidden', 'colours')).toBe('xhidden');
    expect(forTerminal(`${view}\u001b]0;owned\u0007`, 'screen')).toBe(view);
  });

  it('takes time in proportion to the text', () => {
    const text = '\u001b]'.repeat(200_000);
    const start = performance.now();
    plainText(text);
    expect(performance.now() - start).toBeLessThan(within(2000));
  });
});
