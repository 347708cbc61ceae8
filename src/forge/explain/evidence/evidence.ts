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
  readonly rows: ReadonlyMap<string, Row>;
}

/** Weights are whole numbers of this part. */
export const UNIT = 0.05;
/** The length that the words of every text are brought to, so that long and short texts weigh the same. */
export const LENGTH = 3;

let read: Model | undefined;

/** The table, read when first asked for. */
function model(): Model {
  if (read) return read;
  const [classes = '', start = '', ...lines] = TABLE.split('\n');
  const rows = new Map<string, Row>();
  for (const line of lines) {
    const [word = '', rarity = '', ...pairs] = line.split('|');
    const speaks = pairs.map((pair) => {
      const [at = '', weight = ''] = pair.split(':');
      return [Number.parseInt(at, 36), Number(weight) * UNIT] as const;
    });
    rows.set(word, { rarity: Number(rarity) / 10, speaks });
  }
  read = { classes: classes.split(' '), start: start.split(' ').map((weight) => Number(weight) * UNIT), rows };
  return read;
}

/** The share of each class in cleaned text. */
export function sharesOf(text: string): Shares {
  const { classes, start, rows } = model();
  const known: { readonly row: Row; readonly weight: number }[] = [];
  let square = 0;
  for (const [word, much] of wordsOf(text)) {
    const row = rows.get(word);
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
