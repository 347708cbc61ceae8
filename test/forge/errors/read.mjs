// Error texts that people really had, and how well `explain` answers them.
//
// A file holds texts one after the other. Each begins with a line "=== CODE", the class that is the right answer; "a|b" where
// two classes are right, "none" where there is nothing to explain. "~c" is true of the text but tells less than it does ("a
// CUDA call failed" of a message that names the reason): such an answer is not found for recall and not wrong for precision.
// `written.txt` was there when the patterns were written; `unseen.txt` was collected afterwards and is only measured. A file
// whose name goes on after a hyphen (`written-platforms.txt`) is a further batch of the same half; `written-known.txt` holds what
// programs are known to print, without a thread.

import { readdirSync, readFileSync } from 'node:fs';

export const written = new URL('written.txt', import.meta.url);
export const unseen = new URL('unseen.txt', import.meta.url);

/** @type {import('./read.d.mts').batches} */
export function batches(file) {
  const folder = new URL('.', file);
  const stem = file.pathname.slice(folder.pathname.length, -'.txt'.length);
  const further = readdirSync(folder).filter((name) => name.endsWith('.txt') && name.startsWith(`${stem}-`));
  return [file, ...further.sort().map((name) => new URL(name, folder))];
}

/** @type {import('./read.d.mts').readErrors} */
export function readErrors(file) {
  return readFileSync(file, 'utf8')
    .split(/^=== /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      const codes = part.slice(0, end).trim().split('|');
      return {
        accept: codes.filter((code) => !code.startsWith('~')),
        partly: codes.filter((code) => code.startsWith('~')).map((code) => code.slice(1)),
        text: part.slice(end + 1).trimEnd(),
      };
    });
}

/** @type {import('./read.d.mts').measure} */
export function measure(texts, explain) {
  const missed = [];
  const wrong = [];
  let right = 0;
  let told = 0;
  let partly = 0;
  for (const row of texts) {
    const got = explain(row.text)[0]?.code;
    if (got === undefined) {
      if (!row.accept.includes('none')) missed.push(row);
    } else if (row.accept.includes(got)) {
      right++;
      if (!row.accept.includes('none')) told++;
    } else if (row.partly.includes(got)) partly++;
    else wrong.push({ ...row, got });
  }
  const errors = texts.filter((row) => !row.accept.includes('none')).length;
  const answers = right + partly + wrong.length;
  return {
    texts: texts.length,
    errors,
    recall: told / errors,
    precision: (right + partly) / answers,
    partly: partly / answers,
    missed,
    wrong,
  };
}
