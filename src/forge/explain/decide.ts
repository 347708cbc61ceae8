// Whether an answer is given: what the patterns say and what the words say, together.
//
// A pattern speaks for its class, the more the more specific it is. The words around it (evidence/) speak for every class and for
// none. Both are weighed as independent opinions: their logarithms add. A share of `ANSWER` makes an answer; what has less is
// only the nearest guess, and the reader is told so. Words alone never make an answer.
//
// The weights were fitted to what the patterns of the time answered to each new batch of texts before anybody had read it.

import { type Shares, sharesOf } from './evidence/evidence.ts';
import type { Kind } from './types.ts';

/** What an answer rests on: a pattern of its own, a family's line, or two lines put together. */
export type Ground = Kind | 'family' | 'joined';

const SAYS: Readonly<Record<Ground, number>> = {
  code: 10,
  capture: 9.5,
  phrase: 8,
  symptom: 8,
  joined: 5.3,
  family: 5,
  weak: 3,
};
/** How much the words count beside the patterns. */
const WORDS = 0.7;
/** Patterns that come after the first say less. */
const LATER = 0.4;
/** A class without any word keeps this share. */
const LEAST = 1e-4;

/** From this share on an answer is given. */
export const ANSWER = 0.75;
/** A guess from words alone that is worth showing. */
const GUESS = 0.5;

/** Lines around the one that was recognised whose words count. */
const BEFORE = 6;
const AFTER = 4;

export interface Opinion {
  readonly code: string;
  readonly ground: Ground;
}

/** The share of each class, of all that were seen and "none", after patterns and words. */
export function weigh(opinions: readonly Opinion[], words: Shares): Shares {
  const sums = new Map<string, number>();
  for (const [code, share] of words) sums.set(code, WORDS * Math.log(Math.max(share, LEAST)));
  opinions.forEach(({ code, ground }, i) => {
    sums.set(code, (sums.get(code) ?? WORDS * Math.log(LEAST)) + SAYS[ground] * (i === 0 ? 1 : LATER));
  });
  const most = Math.max(...sums.values());
  const powers = [...sums].map(([code, sum]) => [code, Math.exp(sum - most)] as const);
  const total = powers.reduce((sum, [, power]) => sum + power, 0);
  return new Map(powers.map(([code, power]) => [code, power / total]));
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

/** The class that the words of a short text speak for most; undefined where they speak for none. */
export function guess(words: Shares): string | undefined {
  const [code, share] = [...words].reduce((best, row) => (row[1] > best[1] ? row : best), ['none', 0] as const);
  return code === 'none' || share < GUESS ? undefined : code;
}
