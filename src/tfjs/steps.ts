// The calls of kernels that programs made before, as a tree: which call came after which.
//
// A call is known by its kernel, its attributes, and its inputs: which value of the turn each is, in which shape. Values of a turn are
// numbered as they appear, so equal turns have equal numbers, whatever tensors they are about. A value that is a single number from the
// program, as in `x.mul(0.5)`, is known by the number, unless it was another one every time so far: then it varies.

import type { Tensor } from '../index.ts';
import { sameShape } from './source.ts';
import type { DataType, TensorInfo } from './types.ts';

/** A tree that grew beyond this is forgotten: programs that never repeat themselves must not fill the memory. */
const mostSteps = 32_768;

/** Calls that are kept of those that followed one call. */
const mostBranches = 32;

/** After so many calls that were all new, few more of them are noted: the program seems to do something new every time. */
const mostNews = 64;
const notedNews = 16;

/** Calls that differ in numbers alone, after which these vary. */
const enoughAlike = 2;

/** Of them, those that are looked at to tell what else varies. */
const mostElders = 4;

/** Sets of results that are kept of those that were wanted after one call. */
const mostEndings = 4;

/** Programs that are kept in all. */
const mostPrograms = 256;

/** An input of a step. It is its own data id. */
export interface Given extends TensorInfo {
  /** Which value of the turn it is. */
  readonly value: number;
  /** The number that it is; null for values of tensors, and for numbers that vary. */
  readonly constant: number | null;
  readonly varies: boolean;
}

/** A result of a step: a new value, or the data of an input in another shape. */
export interface Result {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  /** The input that shares its data. */
  readonly of: string | null;
  /** Which value of the turn it is, if it is a new one. */
  readonly value: number;
}

/** The inputs of a call as they are compared: the first `count` of each list. */
export interface Described {
  count: number;
  readonly names: string[];
  readonly infos: TensorInfo[];
  readonly values: number[];
  readonly constants: (number | null)[];
}

/** Results that are computed after a call, and the program that makes them once it pays. */
export interface Ending {
  readonly wanted: readonly number[];
  /** The calls before this one were computed already. */
  readonly from: number;
  seen: number;
  program: Program | null;
}

/** From values that are there, by their numbers, to the wanted ones. */
export interface Program {
  readonly leaves: readonly number[];
  readonly run: (...leaves: Tensor[]) => Tensor[];
}

/** Results that the rest of a turn needs of the calls up to a step. */
export interface Needed {
  readonly values: readonly number[];
  /** The one that was asked for; null if they are computed because it is time to begin. */
  readonly read: number | null;
}

export class Step {
  readonly kernel: string;
  readonly attrs: unknown;
  readonly inputs: Readonly<Record<string, Given>>;
  readonly results: readonly Result[];
  /** The kernel gives a list, also if it has one element. */
  readonly list: boolean;
  /** The calls that came next, the last one used first. */
  readonly next: Step[] = [];
  /** Some of its numbers vary. */
  readonly varies: boolean;
  /** Calls that came next and were new, since the last that was not. */
  news = 0;
  /** Calls of other turns at this point, which differ in numbers alone from what came here: what varies after them varies here too. */
  readonly elders: readonly Step[];
  /** A turn that began with it was read at once: there is nothing to gain by waiting. */
  readAtOnce = false;
  /** What is computed right after this step, because it is read then or because the device should begin. */
  needed: Needed | null = null;
  readonly #names: readonly string[];
  readonly #given: readonly Given[];
  readonly #endings: Ending[] = [];

  /** `alike`: calls at this point that differed in numbers alone, enough of them to tell what varies. */
  constructor(
    kernel: string,
    attrs: unknown,
    described: Described,
    results: readonly Result[],
    list: boolean,
    alike: readonly Step[] = [],
  ) {
    this.kernel = kernel;
    this.attrs = attrs;
    this.results = results;
    this.list = list;
    this.elders = alike.slice(0, mostElders);
    const { count } = described;
    this.#names = described.names.slice(0, count);
    this.#given = described.infos.slice(0, count).map(({ shape, dtype }, i) => {
      const number = described.constants[i]!;
      const varies = number !== null && alike.some((s) => s.#given[i]!.varies || s.#given[i]!.constant !== number);
      const given = { shape: [...shape], dtype, value: described.values[i]!, constant: varies ? null : number, varies };
      return Object.assign(given, { dataId: given });
    });
    this.varies = this.#given.some((g) => g.varies);
    this.inputs = Object.fromEntries(this.#names.map((name, i) => [name, this.#given[i]!]));
  }

  /** Whether a call is this one again; `alike`: but for its numbers. */
  is(kernel: string, attrs: unknown, described: Described, alike = false): boolean {
    const { count, names, infos, values, constants } = described;
    if (kernel !== this.kernel || count !== this.#given.length) return false;
    for (let i = 0; i < count; i++) {
      const given = this.#given[i]!;
      const info = infos[i]!;
      if (values[i] !== given.value) return false;
      if (!given.varies && !alike && !Object.is(constants[i], given.constant)) return false;
      if (alike && !given.varies && (constants[i] === null) !== (given.constant === null)) return false;
      if (names[i] !== this.#names[i] || info.dtype !== given.dtype) return false;
      if (!sameShape(info.shape, given.shape)) return false;
    }
    return sameAttrs(this.attrs, attrs);
  }

  /** The ending of a turn with this step, by the results that are wanted. */
  ending(wanted: readonly number[], from: number): Ending {
    const found = this.#endings.find((e) => e.from === from && sameShape(e.wanted, wanted));
    if (found) return found;
    if (this.#endings.length === mostEndings) this.#endings.shift();
    const made = { wanted, from, seen: 0, program: null };
    this.#endings.push(made);
    return made;
  }
}

const nothing: Described = { count: 0, names: [], infos: [], values: [], constants: [] };

export class StepTree {
  #root = new Step('', undefined, nothing, [], false);
  #size = 0;
  /** Those with a program, the oldest first. */
  #programs: Ending[] = [];
  /** Kernels that began turns which were read at once. */
  readonly readAtOnce = new Set<string>();

  /** Where every turn begins. */
  get root(): Step {
    return this.#root;
  }

  find(after: Step, kernel: string, attrs: unknown, described: Described): Step | null {
    const { next } = after;
    for (let i = 0; i < next.length; i++) {
      const step = next[i]!;
      if (!step.is(kernel, attrs, described)) continue;
      if (i > 0) next.unshift(...next.splice(i, 1));
      after.news = 0;
      return step;
    }
    return null;
  }

  /** Notes a call; null if it cannot be compared with others, or too many were new at this point. */
  add(
    after: Step,
    kernel: string,
    attrs: unknown,
    described: Described,
    results: readonly Result[],
    list: boolean,
  ): Step | null {
    const kept = copied(attrs);
    if (kept === notComparable) return null;
    if (++after.news > mostNews && after.news % notedNews > 0) return null;
    if (++this.#size > mostSteps) {
      this.clear();
      return null;
    }
    const known = [...after.next, ...after.elders.flatMap((s) => s.next)];
    const alike = known.filter((s) => s.is(kernel, attrs, described, true));
    const step = new Step(kernel, kept, described, results, list, alike.length < enoughAlike ? [] : alike);
    after.next.unshift(step);
    if (after.next.length > mostBranches) after.next.pop();
    return step;
  }

  /** An ending has a program now; the oldest of too many goes. */
  hasProgram(ending: Ending): void {
    if (this.#programs.push(ending) > mostPrograms) this.#programs.shift()!.program = null;
  }

  clear(): void {
    this.readAtOnce.clear();
    this.#programs = [];
    this.#root = new Step('', undefined, nothing, [], false);
    this.#size = 0;
  }
}

// Attributes: numbers, strings, booleans, and arrays and plain objects of them.

const notComparable = Symbol('not comparable');
const isPlain = (v: object): boolean => Object.getPrototypeOf(v) === Object.prototype;

function copied(attrs: unknown): unknown {
  if (typeof attrs === 'function' || typeof attrs === 'symbol') return notComparable;
  if (typeof attrs !== 'object' || attrs === null) return attrs;
  if (!Array.isArray(attrs) && !isPlain(attrs)) return notComparable;
  const items = Object.values(attrs).map(copied);
  if (items.includes(notComparable)) return notComparable;
  return Array.isArray(attrs) ? items : Object.fromEntries(Object.keys(attrs).map((k, i) => [k, items[i]]));
}

function sameAttrs(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameAttrs(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  let more = 0;
  for (const key in b) {
    if (!Object.hasOwn(a, key) || !sameAttrs((a as Attrs)[key], (b as Attrs)[key])) return false;
    more++;
  }
  for (const _ in a) more--;
  return more === 0;
}

type Attrs = Record<string, unknown>;
