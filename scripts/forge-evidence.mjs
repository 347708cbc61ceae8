// Makes src/forge/explain/evidence/table.ts: which words speak for which error class, learnt from the labelled texts that
// patterns may be written with (test/forge/errors/written*.txt and beside it; never from those that are only measured).
//
//   node scripts/forge-evidence.mjs [--check]
//
// Multinomial logistic regression (AdaGrad with soft thresholds) in a fixed order, so that the same texts give the same table. A word may speak
// for a class only if a text of that class has it. --check says whether the table is of the texts that are there.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { batches, readErrors, written } from '../test/forge/errors/read.mjs';

const target = new URL('../src/forge/explain/evidence/table.ts', import.meta.url);
const EPOCHS = 12;
const RATE = 0.5;
/** Draws every weight to nothing, so that few words speak. */
const DRAW = 0.0003;
const SEEN = 2;
/** A weight that moves a typical text by less is left out. */
const LEAST = 1;
const UNIT = 0.05;
const LENGTH = 3;
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

/** The weights of words for classes. */
function learn(texts) {
  const spread = new Map();
  for (const { words } of texts) for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1);
  const vocabulary = [...spread.keys()].filter((word) => spread.get(word) >= SEEN).sort();
  const place = new Map(vocabulary.map((word, i) => [word, i]));
  const rarity = vocabulary.map((word) => Math.round(10 * Math.log(1 + texts.length / spread.get(word))) / 10);
  const classes = [...new Set(texts.flatMap((row) => row.classes))].sort();
  const number = new Map(classes.map((name, i) => [name, i]));
  const count = classes.length;
  const samples = texts.map((row) => ({
    right: row.classes.map((name) => number.get(name)),
    words: normed([...row.words].filter(([word]) => place.has(word)).map(([word, much]) => [place.get(word), much])),
  }));
  function normed(pairs) {
    const weighed = pairs.map(([at, much]) => [at, much * rarity[at]]);
    const length = Math.sqrt(weighed.reduce((sum, [, x]) => sum + x * x, 0)) || 1;
    return weighed.map(([at, x]) => [at, (x / length) * LENGTH]);
  }
  const weights = new Float64Array(vocabulary.length * count);
  const squares = new Float64Array(vocabulary.length * count).fill(1e-3);
  const allowed = new Uint8Array(vocabulary.length * count);
  for (const { words, right } of samples) for (const [at] of words) for (const c of right) allowed[at * count + c] = 1;
  const start = new Float64Array(count);
  const order = samples.map((_, i) => i);
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed / 0x80000000;
  };
  const shares = new Float64Array(count);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    for (const i of order) {
      const { words, right } = samples[i];
      shares.set(start);
      for (const [at, x] of words) for (let c = 0, o = at * count; c < count; c++) shares[c] += weights[o + c] * x;
      softmax(shares);
      // Several right classes are right alike: the words must not speak against any of them.
      for (const c of right) shares[c] -= 1 / right.length;
      for (const [at, x] of words)
        for (let c = 0, o = at * count; c < count; c++) {
          const slope = shares[c] * x;
          if (allowed[o + c] === 0 || Math.abs(slope) < 1e-5) continue;
          squares[o + c] += slope * slope;
          const rate = 1 / Math.sqrt(squares[o + c]);
          const moved = weights[o + c] - RATE * slope * rate;
          weights[o + c] = Math.sign(moved) * Math.max(0, Math.abs(moved) - DRAW * rate);
        }
      for (let c = 0; c < count; c++) start[c] -= 0.01 * shares[c];
    }
  }
  return { vocabulary, rarity, classes, start, weight: (at, c) => weights[at * count + c] };
}

function softmax(values) {
  const most = Math.max(...values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] = Math.exp(values[i] - most);
  for (let i = 0; i < values.length; i++) values[i] /= sum;
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

function tableOf({ vocabulary, rarity, classes, start, weight }, beside) {
  const rows = vocabulary.flatMap((word, at) => {
    const pairs = classes.flatMap((_, c) =>
      Math.abs(weight(at, c)) * rarity[at] < LEAST ? [] : [`${c.toString(36)}:${Math.round(weight(at, c) / UNIT)}`],
    );
    return pairs.length === 0 ? [] : [`${word}|${Math.round(rarity[at] * 10)}|${pairs.join('|')}`];
  });
  const heads = [classes.join(' '), [...start].map((x) => Math.round(x / UNIT)).join(' '), beside.join(' ')];
  return [...heads, ...rows].join('\n');
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
