// Text as people paste it, made searchable: no colours, no cursor movements, no carriage returns, no log prefixes that hide
// the start of a line. Lines keep their order and their number.

import { stripVTControlCharacters } from 'node:util';

/** What is left of a colour when the escape character itself was lost on the way: "[31m". */
const LOST = /\[(?:\d{1,3};)*\d{1,3}m/g;
const MARKS = /^(?:\s*(?:\[(?:rank\s?)?\d+\]:|\(\w+ pid=\d+[^)]*\)|>|\||#\d+ \d+\.\d+|E {2,})\s?)+/;

/** Longest text that is looked at; of more, the end is kept, where the error stands. */
const MOST = 512 * 1024;

export function clean(source: string): string {
  const text = source.length > MOST ? source.slice(-MOST) : source;
  return stripVTControlCharacters(text)
    .replace(/^\ufeff/, '')
    .replace(LOST, '')
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(lastWritten)
    .map((line) =>
      line
        .replace(MARKS, '')
        .replaceAll('\u00a0', ' ')
        .replaceAll(/[\u2018\u2019]/g, "'")
        .trimEnd(),
    )
    .join('\n');
}

/** A progress bar rewrites its line; what was last on it is what the reader saw. */
function lastWritten(line: string): string {
  return (
    line
      .split('\r')
      .filter((part) => part.trim() !== '')
      .at(-1) ?? ''
  );
}

/** The line around an offset, and its number from 1. */
export function lineAt(text: string, offset: number): { readonly line: string; readonly number: number } {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return { line: text.slice(start, end < 0 ? undefined : end).trim(), number: text.slice(0, start).split('\n').length };
}
