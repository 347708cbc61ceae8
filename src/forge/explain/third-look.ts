// The third look, where no pattern has an answer: the words alone.
//
// They name a class for ordinary output too, so they make an answer only where a line that reports a fault beyond doubt speaks
// for a class by itself, the whole text speaks for the same one, and both clearly. Of 836 new texts it answered 13, twelve of
// them rightly; of 1,324 later ones nine, six of them rightly. Only a short text is looked at this way: in a log the words
// around belong to other things.

import { STRONG } from './catalogue/families/words.ts';
import { mostOf } from './decide.ts';
import { sharesOf, wordsKnown } from './evidence/evidence.ts';
import { NOTICE, PROGRAMMER, RECORD, TOLD } from './lines.ts';
import type { SecondLook } from './second-look.ts';

/** A share from which on words speak clearly: below it more answers to new texts were wrong than right. */
const CLEAR = 0.65;

/** A line of fewer words that are known says too little by itself. */
const ENOUGH = 8;

/** A longer text is a log. */
const MOST = 4096;

export function thirdLook(text: string): SecondLook | undefined {
  if (text.length > MOST) return undefined;
  const [code, share] = mostOf(sharesOf(text));
  if (code === 'none' || share < CLEAR) return undefined;
  let offset = 0;
  let found: SecondLook | undefined;
  let clearest = CLEAR;
  for (const line of text.split('\n')) {
    if (faulty(line) && wordsKnown(line) >= ENOUGH) {
      const own = sharesOf(line).get(code) ?? 0;
      if (own >= clearest) [found, clearest] = [{ code, offset, values: {} }, own];
    }
    offset += line.length + 1;
  }
  return found;
}

const faulty = (line: string): boolean =>
  STRONG.test(line) && ![RECORD, NOTICE, TOLD, PROGRAMMER].some((kind) => kind.test(line));
