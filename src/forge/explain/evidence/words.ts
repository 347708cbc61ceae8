// The words of a message that may speak for a class: words, parts of joined names, and where it comes from.
//
// Case and numbers do not count, of a path only its last two parts do. A line that reports a fault weighs more than what stands
// around it. Lines that a program prints for its record say nothing.

import { RECORD } from '../lines.ts';
import { softwareIn, systemIn, vendorIn } from '../origin.ts';

/** A line that reports a fault. */
const FAULT =
  /error|exception|fail|cannot|can't|could not|couldn't|unable|not (?:found|supported|available|loaded)|fatal|abort|crash|assert|SIG[A-Z]{3,4}|undefined|missing|no such|denied|invalid|mismatch/i;

/** What a line weighs that reports none. */
const BESIDE = 0.35;

const ORIGIN = { system: 0.5, software: 0.7, vendor: 0.7 } as const;

const LINK = /https?:\/\/\S+/g;
const PATH = /(?:[A-Za-z]:)?[\w.~@+-]*(?:[\\/][\w.~@+-]+){2,}/g;
const WORD = /\b[A-Za-z_][A-Za-z0-9_]*/g;

/** The words of cleaned text, with their weights from 0 to 1. */
export function wordsOf(text: string): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  for (const line of text.split('\n')) if (!RECORD.test(line)) takeLine(words, line);
  for (const [origin, found] of Object.entries({
    system: systemIn(text),
    software: softwareIn(text),
    vendor: vendorIn(text, text),
  }))
    if (found) words.set(`${origin}:${found}`, ORIGIN[origin as keyof typeof ORIGIN]);
  return words;
}

function takeLine(words: Map<string, number>, line: string): void {
  const weight = FAULT.test(line) ? 1 : BESIDE;
  const add = (word: string): void => {
    words.set(word, Math.min(1, (words.get(word) ?? 0) + weight));
  };
  const short = line.replaceAll(LINK, ' ').replaceAll(PATH, (path) => ` ${path.split(/[\\/]/).slice(-2).join(' ')} `);
  for (const raw of short.match(WORD) ?? []) {
    const word = raw.toLowerCase().replaceAll(/\d{2,}/g, '#');
    if (word.length > 1) add(word);
    for (const part of partsOf(raw)) add(`+${part}`);
  }
}

/** "cudnnGetVersion" and "ggml_cuda_init" are made of words that other names share. */
function partsOf(name: string): readonly string[] {
  const parts = name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/_+/)
    .filter((part) => part.length > 2)
    .map((part) => part.replaceAll(/\d+/g, '#'));
  return parts.length > 1 ? parts : [];
}
