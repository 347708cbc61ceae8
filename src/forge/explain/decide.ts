// Whether an answer is given: how probable it is that it is right.
//
// A pattern says the more the more specific it is. The words around it (evidence/) bear it out by the share that they give its
// class, and speak against it by the share of the next class. The probability is a logistic function of these; from `ANSWER` on
// an answer is given. What has less is only the nearest guess, and the reader is told so.
//
// The numbers were fitted to 560 answers that the patterns of past days gave to new batches of texts before anybody had read
// them, each with words learnt without its batch. `ANSWER` was chosen on these 836 texts, with each batch left out in turn.

import { agrees, type Shares, sharesOf } from './evidence/evidence.ts';
import type { Kind } from './types.ts';

/** What an answer rests on: a library's own number or name, a pattern of the class, a family's line, or two lines put together. */
export type Ground = Kind | 'named' | 'family' | 'joined';

/**
 * How much the pattern says. A library's own number or name stands alone: numbers are no words. Of code, capture and phrase the
 * answers to new texts differed by less than chance. They and the symptom count a little more than was fitted: of 1,378 later
 * texts their words withheld 17 answers, 15 of them right.
 */
const SAYS: Readonly<Record<Ground, number>> = {
  named: 6.5,
  code: 5,
  capture: 5,
  phrase: 5,
  symptom: 3.8,
  weak: 2.83,
  family: 2.41,
  joined: 1.43,
};
/** How much the words count for the class, by the logarithm of its part in the shares of all classes, */
const BORNE_OUT = 0.835;
/**
 * and against it, by that of the next class that is not right beside it. That no error may be meant at all ("none") tells
 * nothing beside a pattern, and in a log it is nearly certain, so it has no part in this.
 */
const DISPUTED = 0.045;
/** What the share of a class counts that is often right beside this one. */
const BESIDE = 0.5;
/** A class without any word keeps this share. */
const LEAST = 1e-4;

/** From this probability on an answer is given. */
export const ANSWER = 0.83;
/** A guess from words alone that is worth showing. */
const GUESS = 0.5;

/** Lines around the one that was recognised whose words count. */
const BEFORE = 6;
const AFTER = 4;

/** How probable it is that a class, found on this ground among these words, is the right one. */
export function chance(code: string, ground: Ground, words: Shares): number {
  let own = words.get(code) ?? 0;
  let next = 0;
  let all = own;
  for (const [other, share] of words) {
    if (other === code || other === 'none') continue;
    all += share;
    if (agrees(code, other)) own += share * BESIDE;
    else if (share > next) next = share;
  }
  const part = (share: number): number => Math.log(Math.max(share / (all || 1), LEAST));
  return 1 / (1 + Math.exp(-(SAYS[ground] + BORNE_OUT * part(own) - DISPUTED * part(next))));
}

/**
 * The words of a line and of those around it; for a wording of a class's own also those of the line alone, because in a log
 * its neighbours are strangers.
 */
export function wordsAround(text: string, offset: number, ground: Ground): readonly Shares[] {
  const lines = text.split('\n');
  let at = 0;
  for (let start = 0; at < lines.length - 1; at++) {
    start += lines[at]!.length + 1;
    if (start > offset) break;
  }
  const near = lines.slice(Math.max(0, at - BEFORE), at + AFTER + 1);
  const own = ground !== 'family' && ground !== 'joined';
  return [sharesOf(near.join('\n')), ...(own && near.length > 1 ? [sharesOf(lines[at]!)] : [])];
}

/** A wording of the class's own tells what is wrong; a symptom or a family only that something is. */
export const tellsWhat = (ground: Ground): boolean =>
  ground === 'named' || ground === 'code' || ground === 'capture' || ground === 'phrase';

/** From which share on, and how many times that of the class found, words speak more clearly for a class beside it. */
const CLEARER = { own: { share: 0.6, times: 6 }, family: { share: 0.4, times: 2 } } as const;

/**
 * The class that words speak for clearly, where it is often right beside the one that was found; undefined where the one found
 * stands. A symptom stands: its words are those of its neighbours. Of 22 answers to new texts that this changed all were right, of
 * those before 17.
 */
export function clearerCode(code: string, ground: Ground, words: Shares): string | undefined {
  if (ground === 'symptom' || ground === 'weak') return undefined;
  const { share: least, times } = tellsWhat(ground) ? CLEARER.own : CLEARER.family;
  const [other, share] = mostOf(new Map([...words].filter(([name]) => name !== 'none')));
  const clear = other !== code && share >= least && share >= times * (words.get(code) ?? 0);
  return clear && agrees(code, other) ? other : undefined;
}

/** The class that words speak for most, "none" among them, and its share. */
export const mostOf = (words: Shares): readonly [code: string, share: number] =>
  [...words].reduce((best, row) => (row[1] > best[1] ? row : best), ['none', 0] as const);

/** The class that the words of a short text speak for most; undefined where they speak for none. */
export function guess(words: Shares): string | undefined {
  const [code, share] = mostOf(words);
  return code === 'none' || share < GUESS ? undefined : code;
}
