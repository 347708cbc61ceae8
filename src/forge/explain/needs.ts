// The words without which a pattern cannot match, read from its source.
//
// An explanation asks more than a thousand patterns, and nearly all of them name something that the text does not hold. A look
// for plain words costs a fraction of running, and of compiling, a pattern. What is read here is never too much: where the
// source is not understood, it asks for nothing. Letters count the same in both cases, so a text is searched in lower case.

import type { Pattern } from './types.ts';

/** Every group must have one of its words in the text. */
export type Needs = readonly (readonly string[])[];

/** Shorter words are in nearly every text. */
const SHORTEST = 3;

/** Of an alternation with more branches than this, a look for each costs more than the pattern. */
const MOST_WORDS = 64;

const known = new WeakMap<object, Needs>();

function once<T extends object>(key: T, make: (key: T) => Needs): Needs {
  const before = known.get(key);
  if (before) return before;
  const made = make(key);
  known.set(key, made);
  return made;
}

export const needsOf = (re: RegExp): Needs => once(re, ({ source }) => new Reader(source).all());

/** What a pattern of the catalogue asks for; one that is made of others is not made for it. */
export const needsOfPattern = (pattern: Pattern): Needs =>
  once(pattern, ({ parts, along }) =>
    [...(parts ?? [pattern.re]), ...(along ? [along] : [])].flatMap((re) => needsOf(re)),
  );

/** Of several groups the most telling: whose shortest word is longest. */
function best(needs: Needs): readonly string[] | undefined {
  let top = needs[0];
  let most = needs.length > 1 ? weight(top!) : 0;
  for (let i = 1; i < needs.length; i++) {
    const next = weight(needs[i]!);
    if (next <= most) continue;
    top = needs[i];
    most = next;
  }
  return top;
}

function weight(words: readonly string[]): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (const { length } of words) shortest = Math.min(shortest, length);
  return shortest - words.length / 8;
}

interface Group {
  readonly needs: Needs;
  /** Has no width: what stands before and after it is adjacent. */
  readonly empty: boolean;
}

/** A character in lower case, '' for what has no width and asks for nothing, or a group. */
type Atom = string | Group;

class Reader {
  #at = 0;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  all(): Needs {
    return this.#branches();
  }

  /** Alternatives up to the end or to the bracket that closes them. */
  #branches(): Needs {
    const branches: Needs[] = [];
    do branches.push(this.#sequence());
    while (this.#take('|'));
    if (branches.length === 1) return branches[0]!;
    const words = branches.map(best);
    if (!words.every((one) => one !== undefined)) return [];
    const together = [...new Set(words.flat())];
    return together.length > MOST_WORDS ? [] : [together];
  }

  #sequence(): Needs {
    const found: (readonly string[])[] = [];
    let run = '';
    const end = (): void => {
      if (run.length >= SHORTEST) found.push([run]);
      run = '';
    };
    while (this.#at < this.#source.length && this.#source[this.#at] !== '|' && this.#source[this.#at] !== ')') {
      const part = this.#atom();
      if (part === '') continue;
      const times = this.#times();
      if (typeof part === 'string') {
        if (times === 'perhaps') end();
        else {
          run += part;
          if (times === 'often') end();
        }
        continue;
      }
      if (!part.empty) end();
      if (times !== 'perhaps') found.push(...part.needs);
    }
    end();
    return found;
  }

  #atom(): Atom {
    const char = this.#source[this.#at++]!;
    if (char === '^' || char === '$') return '';
    if (char === '.') return ANYTHING;
    if (char === '[') return this.#set();
    if (char === '(') return this.#group();
    return char === '\\' ? this.#escape() : plain(char);
  }

  #escape(): Atom {
    const char = this.#source[this.#at++]!;
    if (char === 'b' || char === 'B') return '';
    if (char === 'k') this.#at = this.#source.indexOf('>', this.#at) + 1;
    if (char === 'u') this.#at += 4;
    if (char === 'x') this.#at += 2;
    return LETTER.test(char) ? ANYTHING : plain(char);
  }

  /** One letter in both cases is that letter; any other set is anything. */
  #set(): Atom {
    const start = this.#at;
    while (this.#source[this.#at] !== ']') this.#at += this.#source[this.#at] === '\\' ? 2 : 1;
    const inside = this.#source.slice(start, this.#at++).toLowerCase();
    return inside.length === 2 && inside[0] === inside[1] ? plain(inside[0]!) : ANYTHING;
  }

  #group(): Atom {
    let empty = false;
    let not = false;
    if (this.#take('?')) {
      const behind = this.#take('<');
      const mark = this.#source[this.#at++];
      empty = mark === '=' || mark === '!';
      not = mark === '!';
      if (behind && !empty) this.#at = this.#source.indexOf('>', this.#at) + 1;
    }
    const needs = this.#branches();
    this.#at++;
    return { needs: not ? [] : needs, empty };
  }

  #times(): 'once' | 'often' | 'perhaps' {
    const sign = this.#source[this.#at];
    if (sign !== '?' && sign !== '*' && sign !== '+' && sign !== '{') return 'once';
    const least = this.#source[this.#at + 1];
    this.#at = sign === '{' ? this.#source.indexOf('}', this.#at) + 1 : this.#at + 1;
    this.#take('?');
    return sign === '+' || (sign === '{' && least !== '0') ? 'often' : 'perhaps';
  }

  #take(char: string): boolean {
    const there = this.#source[this.#at] === char;
    if (there) this.#at++;
    return there;
  }
}

const LETTER = /[a-z0-9]/i;
const ANYTHING: Group = { needs: [], empty: false };

const plain = (char: string): Atom => (char >= ' ' && char <= '~' ? char.toLowerCase() : ANYTHING);
