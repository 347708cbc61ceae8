// Error texts that people really had, and how well `explain` answers them.
//
// A file holds texts one after the other. Each begins with a line "=== CODE", the class that is the right answer; "a|b" where
// two classes are right, "none" where there is nothing to explain. `written.txt` was there when the patterns were written;
// `unseen.txt` was collected afterwards and is only measured.

import { readFileSync } from 'node:fs';

export const written = new URL('written.txt', import.meta.url);
export const unseen = new URL('unseen.txt', import.meta.url);

/** @type {import('./read.d.mts').readErrors} */
export function readErrors(file) {
  return readFileSync(file, 'utf8')
    .split(/^=== /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { accept: part.slice(0, end).trim().split('|'), text: part.slice(end + 1).trimEnd() };
    });
}

/** @type {import('./read.d.mts').measure} */
export function measure(texts, explain) {
  const missed = [];
  const wrong = [];
  let right = 0;
  let told = 0;
  for (const row of texts) {
    const got = explain(row.text)[0]?.code;
    if (got !== undefined && row.accept.includes(got)) {
      right++;
      if (!row.accept.includes('none')) told++;
    } else if (got !== undefined) wrong.push({ ...row, got });
    else if (!row.accept.includes('none')) missed.push(row);
  }
  const errors = texts.filter((row) => !row.accept.includes('none')).length;
  return { texts: texts.length, recall: told / errors, precision: right / (right + wrong.length), missed, wrong };
}
