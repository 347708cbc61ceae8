// Makes src/forge/explain/evidence/table.ts: which words speak for which error class, learnt from the labelled texts that
// patterns may be written with (test/forge/errors/written*.txt and beside it; never from those that are only measured).
//
//   node scripts/forge-evidence.mjs [--check]
//
// How it is learnt is told in forge-learn.mjs: the same texts give the same table, in whatever order they come. --check says
// whether the table is of the texts that are there.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { batches, readErrors, written } from '../test/forge/errors/read.mjs';
import { learn } from './forge-learn.mjs';

const target = new URL('../src/forge/explain/evidence/table.ts', import.meta.url);
/** A weight that moves a typical text by less is left out. */
const LEAST = 1;
const UNIT = 0.05;
/** From this share on of a class's texts for which another is right too, the other does not speak against it. */
const TOGETHER = 0.08;

/** Every text with the classes that are right; an ordinary line is "none". */
async function lessons() {
  const { corpus } = await bundled('../test/forge/errors/corpus.ts');
  const texts = [...batches(written), new URL('families.txt', written)]
    .flatMap(readErrors)
    .map(({ accept, text }) => ({ classes: accept, text }));
  for (const [code, own] of Object.entries(corpus)) for (const text of own) texts.push({ classes: [code], text });
  const ordinary = readFileSync(new URL('unrelated.txt', written), 'utf8').split('\n').filter(Boolean);
  for (const text of ordinary) texts.push({ classes: ['none'], text });
  return texts;
}

const fingerprint = (texts) => createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);

async function bundled(file) {
  const build = await rolldown({ input: fileURLToPath(new URL(file, import.meta.url)), platform: 'node' });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  return import(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
}

/** For each class those that are right beside it, by their numbers. */
function together(texts, classes) {
  const share = (one, other) => {
    const own = texts.filter((row) => row.classes.includes(one));
    return own.filter((row) => row.classes.includes(other)).length / (own.length + 1);
  };
  return classes.map((name) =>
    classes
      .flatMap((other, at) => (other !== name && share(other, name) >= TOGETHER ? [at.toString(36)] : []))
      .join(','),
  );
}

function tableOf({ vocabulary, rarity, classes, start, rows }, beside) {
  const lines = vocabulary.flatMap((word, at) => {
    const pairs = rows[at]
      .filter(([, weight]) => Math.abs(weight) * rarity[at] >= LEAST && Math.round(weight / UNIT) !== 0)
      .map(([c, weight]) => `${c.toString(36)}:${Math.round(weight / UNIT)}`);
    return pairs.length === 0 ? [] : [`${word}|${Math.round(rarity[at] * 10)}|${pairs.join('|')}`];
  });
  const heads = [classes.join(' '), [...start].map((x) => Math.round(x / UNIT)).join(' '), beside.join(' ')];
  return [...heads, ...lines].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const texts = await lessons();
  const print = fingerprint(texts);
  if (process.argv.includes('--check')) {
    const same = readFileSync(target, 'utf8').includes(`'${print}'`);
    console.log(same ? 'the table is up to date' : 'the table is of other texts: run node scripts/forge-evidence.mjs');
    process.exit(same ? 0 : 1);
  }
  const { wordsOf } = await bundled('../src/forge/explain/evidence/words.ts');
  const { clean } = await bundled('../src/forge/explain/clean.ts');
  const learnt = learn(texts.map((row) => ({ ...row, words: wordsOf(clean(row.text)) })));
  const table = tableOf(learnt, together(texts, learnt.classes));
  writeFileSync(
    target,
    `// Made by scripts/forge-evidence.mjs from the labelled texts. Not for editing.
//
// First the classes, then what each has before the first word, then which are right beside each, then one word a line: the word,
// how rare it is, and the classes it speaks for (their number in base 36 and a weight).

/** The texts that it was made from. */
export const LEARNT_FROM = '${print}';

export const TABLE = \`${table}\`;
`,
  );
  console.log(`${table.split('\n').length - 3} words, ${table.length} characters, from ${texts.length} texts`);
}
