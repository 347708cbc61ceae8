// Text as people paste it, made searchable: no colours, no cursor movements, no carriage returns, no log prefixes that hide
// the start of a line. Lines keep their order and their number.

import { plainText } from '../text/plain.ts';
import { inEnglish } from './english.ts';

/** What is left of a colour when the escape character itself was lost on the way: "[31m". */
const LOST = /\[(?:\d{1,3};)*\d{1,3}m/g;
const MARKS = /^(?:\s*(?:\[(?:rank\s?)?\d+\]:|\(\w+ pid=\d+[^)]*\)|>|\||#\d+ \d+\.\d+|E {2,})\s?)+/;

/** Longest text that is looked at; of more, the end is kept, where the error stands. */
const MOST = 1024 * 1024;
/** Longest line that is looked at; of more, both ends are kept. */
const LONG_LINE = 4096;

export function clean(source: string): string {
  const text = source.length > MOST ? source.slice(-MOST) : source;
  const lines = text.replaceAll('\r\n', '\n').split('\n').map(lastWritten).map(withoutColours);
  return unwrapped(lines)
    .map((line) =>
      inEnglish(
        line
          .replaceAll('\u00a0', ' ')
          .replaceAll(/[\u2018\u2019]/g, "'")
          .trimEnd(),
      ),
    )
    .join('\n');
}

const withoutColours = (line: string): string =>
  plainText(line.length > LONG_LINE ? `${line.slice(0, LONG_LINE / 2)} … ${line.slice(-LONG_LINE / 2)}` : line).replace(
    LOST,
    '',
  );

/** A progress bar rewrites its line; what was last on it is what the reader saw. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return (
    line
      .split('\r')
      .filter((part) => part.trim() !== '')
      .at(-1) ?? ''
  );
}

/** Narrower terminals are rare. */
const TERMINAL = 79;

/**
 * What was copied from a terminal is broken at its width, in the middle of words: no line as it was shown is longer, and two in
 * a row are as long. Such lines are joined again; empty ones stay in their places.
 */
function unwrapped(given: readonly string[]): readonly string[] {
  const lines = given.map((line) => line.replace(MARKS, ''));
  // A mark before the line took its place on the terminal too.
  const width = given.reduce((most, line) => Math.max(most, line.length), 0);
  if (width < TERMINAL || width > 400) return lines;
  for (let i = 0; i < lines.length - 1; i++) {
    let end = i;
    while (
      given[end]!.length === width &&
      /^(?!.* {3}).*[\w ',.-]$/.test(lines[end]!) &&
      /^ ?[a-z\d]/.test(lines[end + 1] ?? '')
    )
      end++;
    if (end < i + 2) continue;
    lines[i] = lines.slice(i, end + 1).join('');
    lines.fill('', i + 1, end + 1);
    i = end;
  }
  return lines;
}

/** Words of which every message in the catalogue has one. Without them a line is ordinary output. */
const TELLING =
  /err|fail|fatal|\bfault|segfault|core dumped|\bSIG[A-Z]{3}|warn|except|\bca(?:nno|n'|n )t|n't\b|\bnot\b|\bno\b|unable|unsupport|mismatch|insufficient|illegal|invalid|kill|denied|out of|too (?:old|small|many)|abort|assert|lost|tim(?:ed|e) ?out|refuse|undefined|missing|\bxid\b|NVRM|terminat|exit|_STATUS_|incompat|duplicate|skipp|ignor|requir|less than|exceed|larger|greater|already|busy|reject|in use|wrong|stub|only support|signal|stop|died|found|capab|GPU hang|reset|depends|nouveau|available: +(?:0|False)|\+cpu\b|illegal|crash|mlock|Consult|conflict|managed|ReadTimeout|IncompleteRead|detect|driver|Subst|sees|does|hidden|offload|corrupt/i;

/** From this size on only the telling lines of a log are searched. */
const LARGE = 48 * 1024;
const BEFORE = 1;
const AFTER = 4;
/** Empty lines in place of lines that were left out; more than any pattern looks over. */
const APART = ['', '', '', ''];

export interface Searchable {
  readonly text: string;
  /** The number, from 1, of the line at an offset of `text` in the text that was given. */
  lineNumber(offset: number): number;
}

/** A large log is reduced to its telling lines and their neighbours, so that the cost follows the errors and not the log. */
export function condense(text: string): Searchable {
  if (text.length <= LARGE) return { text, lineNumber: (offset) => text.slice(0, offset).split('\n').length };
  const lines = text.split('\n');
  const keep = new Uint8Array(lines.length);
  const seen = new Set<string>();
  lines.forEach((line, i) => {
    // The same line a thousand times tells no more than once, but for the last time, which is searched too.
    if (!TELLING.test(line) || (seen.has(line) && i < lines.length - 200)) return;
    seen.add(line);
    keep.fill(1, Math.max(0, i - BEFORE), Math.min(lines.length, i + AFTER + 1));
  });
  const kept: string[] = [];
  const numbers: number[] = [];
  lines.forEach((line, i) => {
    if (keep[i] !== 1) return;
    // What was left out keeps its neighbours apart: a pattern over a few lines must not join what stood far from each other.
    if (keep[i - 1] === 0) {
      kept.push(...APART);
      numbers.push(...APART.map(() => i + 1));
    }
    kept.push(line);
    numbers.push(i + 1);
  });
  const short = kept.join('\n');
  return { text: short, lineNumber: (offset) => numbers[short.slice(0, offset).split('\n').length - 1] ?? 1 };
}

/** The line around an offset. */
export function lineAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end < 0 ? undefined : end).trim();
}
