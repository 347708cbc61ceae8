// Terminal output: colours where a person looks on, aligned columns, plain text everywhere else.

import { endQuietly } from '../base/end-quietly.ts';
import { environment } from '../base/platform.ts';
import { forTerminal, type Keeps } from './text/plain.ts';

export interface Output {
  /** Standard output. */
  write(text: string): void;
  /** Standard error. */
  warn(text: string): void;
  readonly isTTY: boolean;
  readonly columns: number;
}

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

const plain = (text: string): string => text;
const paint = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

const colours: Style = { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), yellow: paint(33) };
const none: Style = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain };

export interface ColourChoice {
  /** false for --no-color. */
  readonly color?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Colours on a terminal only; NO_COLOR, TERM=dumb and --no-color switch them off, FORCE_COLOR on. */
export function styleFor(output: Output, choice: ColourChoice): Style {
  const { env } = choice;
  if (choice.color === false || env.NO_COLOR || env.TERM === 'dumb') return none;
  return output.isTTY || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0') ? colours : none;
}

/** The output of this process. A command that draws a live view says so: cursor movements of others are taken out. */
export function processOutput({ screen = false } = {}): Output {
  endQuietly();
  const coloured = process.stdout.isTTY === true || (environment().FORCE_COLOR ?? '0') !== '0';
  const keeps: Keeps = screen ? 'screen' : coloured ? 'colours' : 'nothing';
  return {
    write: (text) => void process.stdout.write(forTerminal(text, keeps)),
    warn: (text) => void process.stderr.write(forTerminal(text, keeps)),
    isTTY: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? 100,
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
const ESCAPES = /\u001b\[[0-9;]*m/g;

export function visibleWidth(text: string): number {
  return text.replace(ESCAPES, '').length;
}

/** Rows of cells with each column as wide as its widest cell; the last is left as it is. */
export function columns(rows: readonly (readonly string[])[], gap = 2, indent = 0): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, visibleWidth(cell));
    });
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, i) =>
        i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - visibleWidth(cell) + gap),
      );
      return `${' '.repeat(indent)}${cells.join('')}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join('');
}

export function formatBytes(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  if (gib >= 100) return `${gib.toFixed(0)} GiB`;
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
}
