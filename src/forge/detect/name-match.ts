// The products that a name can mean: the same name, else those that begin or end with it, else the one inside it.

import type { Candidate } from './candidates.ts';
import { keysOf, type Row, rowsOf, type Wanted } from './name-read.ts';

/** The products that a name can mean: the same name, else by the first of the looser ways that finds any. */
export function matching(all: readonly Candidate[], wanted: Wanted): readonly Candidate[] {
  const rows = rowsOf(all);
  const same = rows.filter(({ names }) => names.some((name) => isSame(name, wanted) || laterOf(name.key, wanted)));
  const glued =
    same.length > 0 ? same : rows.filter(({ names }) => names.some((name) => name.joined === wanted.joined));
  // One word without a number is a line as often as a product: "Vega".
  if (glued.length > 0 && (/\d/.test(wanted.key) || wanted.words.length > 1)) return narrow(glued, wanted);
  // Two letters are the end of too many names: "Xe".
  const isShort = wanted.joined.length < 3 && !/\d/.test(wanted.joined);
  const within = rows.filter(({ names }) =>
    names.some((name) => name.key.startsWith(`${wanted.key} `) || (!isShort && name.key.endsWith(` ${wanted.key}`))),
  );
  if (glued.length > 0) return narrow([...glued, ...within], wanted);
  if (within.length > 0) return narrow(within, wanted);
  for (const way of [reordered, begun, cut, inside, holding]) {
    const found = way(rows, wanted);
    if (found.length > 0) return narrow(found, wanted);
  }
  const bare = { ...wanted, ...keysOf(wanted.words.filter((word) => !BOARD.test(word))) };
  return bare.key === '' || bare.key === wanted.key ? [] : matching(all, bare);
}

/** "Quadro 6000" is a Quadro only by that word: "6000" alone is said of many cards. */
const isSame = (name: Wanted, wanted: Wanted): boolean =>
  name.key === wanted.key && (wanted.quadro || !name.quadro || !/^\d+$/.test(name.key));

/** The kind of board, where price lists add it to a product that has one kind. */
const BOARD = /^(?:pcie|sxm\d?|nvlink)$/;

/** "RTX 6000 PRO" has the words of "RTX PRO 6000". */
const reordered = (rows: readonly Row[], { sorted }: Wanted): readonly Row[] =>
  rows.filter(({ names }) => names.some((name) => name.sorted === sorted));

/** "MI300" is the MI300A and the MI300X: one letter makes them. */
function begun(rows: readonly Row[], { joined: start }: Wanted): readonly Row[] {
  if (!/\d{2}$/.test(start)) return [];
  const isLetter = (end: string): boolean => /^[a-z]$/.test(end);
  return rows.filter(({ names }) =>
    names.some(({ joined }) => joined.startsWith(start) && isLetter(joined.slice(start.length))),
  );
}

/** "GeForce GTX 108...": the table of an older nvidia-smi cuts names off, though not before their number. */
const cut = (rows: readonly Row[], { joined, isCut }: Wanted): readonly Row[] =>
  isCut && /\d{2}/.test(joined) ? rows.filter(({ names }) => names.some((name) => name.joined.startsWith(joined))) : [];

/** "Jetson Thor T4000" leaves out a word of "Jetson AGX Thor T4000". */
function holding(rows: readonly Row[], { words }: Wanted): readonly Row[] {
  if (words.length < 2 || !words.some((word) => /\d{2}/.test(word))) return [];
  return rows.filter(({ names }) => names.some((name) => words.every((word) => name.words.includes(word))));
}

/** "RTX 6000" is a Quadro only by that word: two later generations have the same number. */
function laterOf(key: string, { key: wanted, quadro }: Wanted): boolean {
  const number = quadro ? undefined : /^(?:rtx )?(\d000)$/.exec(wanted)?.[1];
  return (
    number !== undefined &&
    (key === `rtx ${number}` || key === `rtx ${number} ada` || key.startsWith(`rtx pro ${number} blackwell`))
  );
}

/** Words that make another product of the one before them, or a second number: with one of these behind it nothing is guessed. */
const DECIDES = /^(?:ti|super|xtx?|gre|ada|blackwell|max|pro|plus|\d{4,})$/;

/** Letters and counts that do so only where they stand next to the name: shops write "Challenger D" of a cooler, "OC 2X" of its fans. */
const LETTER = /^(?:d|m|s|le|se|x\d+|\d+x)$/;

/** "4x RTX 3090" are four: lists of names are taken apart before. */
const COUNTED = /^\d+x$/;

/** A line with its number ("rtx 4090"), or a word that is one ("mi300x", "780m"). */
const PRODUCT = /\b(?:rtx|gtx|gt|rx|arc|titan|vega|u?hd)\b.*\d{2}|\b(?=\w*[a-z])(?=\w*\d{2})\w{4,}\b/;

/** Shops add words of their own ("Gaming X Trio"): one product inside the name counts, where nothing beside it may mean another. */
function inside(rows: readonly Row[], wanted: Wanted): readonly Row[] {
  const text = ` ${wanted.key} `;
  const found = (row: Row): readonly string[] =>
    row.names
      .map(({ key }) => key)
      .filter((key) => (PRODUCT.test(key) || key === wanted.called) && text.includes(` ${key} `));
  const keys = [...new Set(rows.flatMap(found))].sort((one, other) => other.length - one.length);
  const [best] = keys;
  if (best === undefined || keys.some((key) => !` ${best} `.includes(` ${key} `))) return [];
  if (COUNTED.test(wanted.words[0]!)) return [];
  const after = text.slice(text.indexOf(` ${best} `) + best.length + 2).split(' ');
  if (LETTER.test(after[0]!) || after.some((word) => DECIDES.test(word))) return [];
  return rows.filter((row) => found(row).includes(best));
}

/** A size or "laptop" in the name chooses, where a product has it. */
function narrow(rows: readonly Row[], wanted: Wanted): readonly Candidate[] {
  const kind = rows.filter(({ names }) => names.some((name) => name.laptop === wanted.laptop));
  const left = kind.length > 0 ? kind : rows;
  const fits = left.filter(({ entry }) => wanted.memoryGiB !== undefined && entry.memoryGiB === wanted.memoryGiB);
  return (fits.length > 0 ? fits : left).map(({ entry }) => entry);
}
