// How much the words of a text speak for each class, by what the labelled texts taught.
//
// A row of the table is a word, how rare it is, and the classes that it speaks for or against. The sums over the words of a
// text give each class a share; "none" stands for texts without an error. `scripts/forge-evidence.mjs` makes the table.

import { TABLE } from './table.ts';
import { wordsOf } from './words.ts';

/** Shares of all classes together: 1. A class that no word speaks for has what is left to it. */
export type Shares = ReadonlyMap<string, number>;

interface Row {
  readonly rarity: number;
  readonly speaks: readonly (readonly [at: number, weight: number])[];
}

interface Model {
  readonly classes: readonly string[];
  readonly start: readonly number[];
  readonly beside: ReadonlyMap<string, ReadonlySet<string>>;
  /** By word: its row as it is written in the table, or read. */
  readonly rows: Map<string, string | Row>;
}

/** Weights are whole numbers of this part. */
export const UNIT = 0.05;
/** The length that the words of every text are brought to, so that long and short texts weigh the same. */
export const LENGTH = 3;

let read: Model | undefined;

/** The table, taken apart when first asked for. */
function model(): Model {
  if (read) return read;
  const [classes = '', start = '', beside = '', ...lines] = TABLE.split('\n');
  const names = classes.split(' ');
  const rows = new Map(lines.map((line): [string, string] => [line.slice(0, line.indexOf('|')), line]));
  read = {
    classes: names,
    start: start.split(' ').map((weight) => Number(weight) * UNIT),
    beside: new Map(beside.split(' ').map((row, at) => [names[at]!, new Set(numbersIn(row).map((i) => names[i]!))])),
    rows,
  };
  return read;
}

const numbersIn = (row: string): readonly number[] =>
  row === '' ? [] : row.split(',').map((number) => Number.parseInt(number, 36));

/** Whether texts of the other class are often told rightly by this one too: then it does not speak against it. */
export const agrees = (code: string, other: string): boolean => model().beside.get(code)?.has(other) ?? false;

/** The row of a word; a text has few of them, so each is read when a text has it for the first time. */
function rowOf(rows: Model['rows'], word: string): Row | undefined {
  const known = rows.get(word);
  if (typeof known !== 'string') return known;
  const [, rarity = '', ...pairs] = known.split('|');
  const speaks = pairs.map((pair) => {
    const [at = '', weight = ''] = pair.split(':');
    return [Number.parseInt(at, 36), Number(weight) * UNIT] as const;
  });
  const row = { rarity: Number(rarity) / 10, speaks };
  rows.set(word, row);
  return row;
}

/** How many words of cleaned text the table knows: of one or two, the shares are extreme and tell little. */
export function wordsKnown(text: string): number {
  const { rows } = model();
  return [...wordsOf(text).keys()].filter((word) => rows.has(word)).length;
}

/** The share of each class in cleaned text. */
export function sharesOf(text: string): Shares {
  const { classes, start, rows } = model();
  const known: { readonly row: Row; readonly weight: number }[] = [];
  let square = 0;
  for (const [word, much] of wordsOf(text)) {
    const row = rowOf(rows, word);
    if (!row) continue;
    const weight = much * row.rarity;
    known.push({ row, weight });
    square += weight * weight;
  }
  const sums = [...start];
  const scale = LENGTH / (Math.sqrt(square) || 1);
  for (const { row, weight } of known) for (const [at, speaks] of row.speaks) sums[at]! += speaks * weight * scale;
  const most = Math.max(...sums);
  const powers = sums.map((sum) => Math.exp(sum - most));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return new Map(classes.map((name, at) => [name, powers[at]! / total]));
}
