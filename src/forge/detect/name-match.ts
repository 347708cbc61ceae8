// The products that a name can mean: the same name, else those that begin or end with it, else the one inside it.

import type { Candidate } from './candidates.ts';
import { type Row, rowsOf, type Wanted } from './name-read.ts';

/** The products that a name can mean: the same name, else those that begin or end with it at a word. */
export function matching(all: readonly Candidate[], wanted: Wanted): readonly Candidate[] {
  const rows = rowsOf(all);
  const same = rows.filter(({ names }) => names.some((name) => name.key === wanted.key || laterOf(name.key, wanted)));
  const joined = wanted.words.join('');
  const glued =
    same.length > 0 ? same : rows.filter(({ names }) => names.some((name) => name.words.join('') === joined));
  // One word without a number is a line as often as a product: "Vega".
  if (glued.length > 0 && (/\d/.test(wanted.key) || wanted.words.length > 1)) return narrow(glued, wanted);
  const within = rows.filter(({ names }) =>
    names.some((name) => name.key.startsWith(`${wanted.key} `) || name.key.endsWith(` ${wanted.key}`)),
  );
  if (glued.length > 0) return narrow([...glued, ...within], wanted);
  return narrow(within.length > 0 ? within : inside(rows, wanted), wanted);
}

/** "RTX 6000" is a Quadro only by that word: two later generations have the same number. */
function laterOf(key: string, { key: wanted, quadro }: Wanted): boolean {
  const number = quadro ? undefined : /^rtx (\d000)$/.exec(wanted)?.[1];
  return number !== undefined && (key === `rtx ${number} ada` || key.startsWith(`rtx pro ${number} blackwell`));
}

/** Words that make another product of the one before them, a count, or a second number: with one of these nothing is guessed. */
const DECIDES = /^(?:ti|super|xtx?|gre|d|m|s|le|se|ada|blackwell|max|pro|v2|dual|plus|\d+x|x\d+|\d{4,})$/;

/** A line with its number ("rtx 4090"), or a word that is one ("mi300x", "780m"). */
const PRODUCT = /\b(?:rtx|gtx|gt|rx|arc|titan|vega)\b.*\d{2}|\b(?=\w*[a-z])(?=\w*\d{2})\w{4,}\b/;

/** Shops add words of their own ("Gaming X Trio"): one product inside the name counts, where nothing beside it may mean another. */
function inside(rows: readonly Row[], wanted: Wanted): readonly Row[] {
  const text = ` ${wanted.key} `;
  const found = (row: Row): readonly string[] =>
    row.names.map(({ key }) => key).filter((key) => PRODUCT.test(key) && text.includes(` ${key} `));
  const keys = [...new Set(rows.flatMap(found))].sort((one, other) => other.length - one.length);
  const [best] = keys;
  if (best === undefined || keys.some((key) => !` ${best} `.includes(` ${key} `))) return [];
  const beside = text.replace(` ${best} `, ' ').split(' ');
  return beside.some((word) => DECIDES.test(word)) ? [] : rows.filter((row) => found(row).includes(best));
}

/** A size or "laptop" in the name chooses, where a product has it. */
function narrow(rows: readonly Row[], wanted: Wanted): readonly Candidate[] {
  const kind = rows.filter(({ names }) => names.some((name) => name.laptop === wanted.laptop));
  const left = kind.length > 0 ? kind : rows;
  const fits = left.filter(({ entry }) => wanted.memoryGiB !== undefined && entry.memoryGiB === wanted.memoryGiB);
  return (fits.length > 0 ? fits : left).map(({ entry }) => entry);
}
