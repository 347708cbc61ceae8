// A text that many words are looked for in: which triples of letters it holds is noted once, so that most words are ruled out
// without a search.

import type { Needs } from './needs.ts';

const SLOTS = 1 << 15;

const slot = (text: string, at: number): number =>
  (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & (SLOTS - 1);

export class Haystack {
  readonly #text: string;
  readonly #triples = new Uint8Array(SLOTS);
  readonly #known = new Map<string, boolean>();

  constructor(text: string) {
    this.#text = text.toLowerCase();
    for (let i = 0; i + 2 < this.#text.length; i++) this.#triples[slot(this.#text, i)] = 1;
  }

  /** Whether every group has a word in the text. */
  meets(needs: Needs): boolean {
    for (const words of needs) if (!this.#hasOne(words)) return false;
    return true;
  }

  #hasOne(words: readonly string[]): boolean {
    for (const word of words) if (this.#has(word)) return true;
    return false;
  }

  #has(word: string): boolean {
    for (let i = 0; i + 2 < word.length; i++) if (this.#triples[slot(word, i)] === 0) return false;
    const before = this.#known.get(word);
    if (before !== undefined) return before;
    const found = this.#text.includes(word);
    this.#known.set(word, found);
    return found;
  }
}
