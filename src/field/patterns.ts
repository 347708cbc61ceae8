// A library of patterns: fields [D, H, W, K] on the device, each with a context on the host by which it is found again.

import { argumentsOf, checkMethods } from '../base/signatures.ts';
import type { Runtime, Tensor } from '../index.ts';
import { FieldConfigError } from './errors.ts';
import { cosineOf } from './full/cosine.ts';
import { fieldKinds, patternOptions, patternSignatures } from './signatures.ts';

export interface PatternOptions {
  readonly runtime: Runtime;
  /** Where patterns lie: that of the field. */
  readonly device: string;
  /** Default 30. */
  readonly capacity?: number | undefined;
  /** Which one goes when the library is full. Default 'oldest'. */
  readonly replace?: 'oldest' | 'weakest' | undefined;
  /** The shape that patterns must have; by default that of the first. */
  readonly shape?: readonly number[] | undefined;
}

export interface FindOptions {
  /** How many are blended. Default 3. */
  readonly k?: number | undefined;
  /** Content of the field, as a context of its own: its cosine to the patterns' own contexts is averaged in. */
  readonly fieldState?: ArrayLike<number> | undefined;
}

export interface Found {
  readonly empty: boolean;
  /** Yours to dispose of; null if the library is empty. With k = 1 it is the stored pattern, bit by bit. */
  readonly pattern: Tensor | null;
  /** Which patterns took part, the best first, and how much of each. `id` stays a pattern's own, whatever comes and goes. */
  readonly parts: readonly { readonly index: number; readonly id: number; readonly share: number }[];
}

/** A pattern of a library. */
export interface PatternEntry {
  readonly id: number;
  readonly pattern: Tensor;
  readonly context: Float32Array;
  readonly score: number;
  /** When it was added. */
  readonly cycle: number;
}

export const contextLength = 128;
const where = 'PatternLibrary';
/** How sharply shares follow weights, and after how many cycles a pattern counts e times less. */
const sharpness = 5;
const fading = 10;

export class PatternLibrary {
  readonly #options: PatternOptions;
  readonly #entries: PatternEntry[] = [];
  #cycle = 0;
  #added = 0;

  constructor(options: PatternOptions) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    this.#options = options;
    const { capacity = 30 } = options;
    if (!(Number.isSafeInteger(capacity) && capacity >= 1))
      throw refused(`capacity is ${String(capacity)}`, 'Use a whole number from 1 on.');
  }

  get size(): number {
    return this.#entries.length;
  }

  /** What it holds, in the order in which it came; the tensors stay the library's. */
  get entries(): readonly PatternEntry[] {
    return this.#entries;
  }

  /** The cycle that ages are counted from. */
  get cycle(): number {
    return this.#cycle;
  }

  /** Bytes on the device. */
  get bytes(): number {
    return this.#entries.reduce((n, e) => n + 4 * e.pattern.size, 0);
  }

  /** Patterns get older by cycles. */
  advance(cycles = 1): void {
    this.#cycle += cycles;
  }

  /** Keeps a copy of a pattern under a context of up to 128 numbers. */
  add(pattern: Tensor, context: ArrayLike<number>, score = 1): void {
    const { runtime, device, capacity = 30, replace = 'oldest' } = this.#options;
    const shape = this.#options.shape ?? this.#entries[0]?.pattern.shape;
    if (shape && String(shape) !== String(pattern.shape))
      throw refused(`a pattern of [${pattern.shape}] among patterns of [${shape}]`, 'Use patterns of one shape.');
    if (!(score > 0 && Number.isFinite(score))) throw refused(`score is ${String(score)}`, 'Use a number above 0.');
    const kept = contextOf(context);
    const copy = runtime.scope({ device }, () => pattern.cast('f32').add(0).compute().keep());
    if (this.#entries.length >= capacity) {
      const worth = (e: PatternEntry): number =>
        replace === 'oldest' ? e.cycle : e.score * Math.exp((e.cycle - this.#cycle) / fading);
      const least = this.#entries.reduce((at, e, i) => (worth(e) < worth(this.#entries[at]!) ? i : at), 0);
      this.#entries.splice(least, 1)[0]!.pattern.dispose();
    }
    this.#entries.push({ id: ++this.#added, pattern: copy, context: kept, score, cycle: this.#cycle });
  }

  /** The patterns that fit a context best, blended: weight = cosine · score · exp(−age / 10). */
  find(context: ArrayLike<number>, { k = 3, fieldState }: FindOptions = {}): Found {
    if (!(Number.isSafeInteger(k) && k >= 1)) throw refused(`k is ${String(k)}`, 'Use a whole number from 1 on.');
    const asked = contextOf(context);
    if (this.#entries.length === 0) return { empty: true, pattern: null, parts: [] };
    const other = fieldState ? contextOf(fieldState) : null;
    const weights = this.#entries.map((e, index) => {
      const own = cosineOf(e.context, asked);
      const cosine = other ? (own + cosineOf(e.context, other)) / 2 : own;
      return { index, weight: cosine * e.score * Math.exp((e.cycle - this.#cycle) / fading) };
    });
    const best = weights.sort((a, b) => b.weight - a.weight || a.index - b.index).slice(0, k);
    const top = best[0]!.weight;
    const raw = best.map((b) => Math.exp(sharpness * (b.weight - top)));
    const total = raw.reduce((a, b) => a + b, 0);
    const parts = best.map(({ index }, i) => ({ index, id: this.#entries[index]!.id, share: raw[i]! / total }));
    const { runtime, device } = this.#options;
    const pattern = runtime.scope({ device }, () => {
      if (parts.length === 1) return this.#entries[parts[0]!.index]!.pattern.clone().keep();
      const blended = parts.map(({ index, share }) => this.#entries[index]!.pattern.mul(share));
      return blended
        .reduce((a, b) => a.add(b))
        .compute()
        .keep();
    });
    return { empty: false, pattern, parts };
  }

  /** @internal Takes over what another library held: tensors, and the time. */
  restore(entries: readonly PatternEntry[], cycle: number): void {
    this.dispose();
    this.#entries.push(...entries);
    this.#cycle = cycle;
    this.#added = Math.max(0, ...entries.map((e) => e.id));
  }

  dispose(): void {
    for (const e of this.#entries.splice(0)) e.pattern.dispose();
  }
}

/** A context of 128 numbers, with zeros behind those given. */
function contextOf(values: ArrayLike<number>): Float32Array {
  if (values.length > contextLength)
    throw refused(`a context of ${values.length} values`, `Use up to ${contextLength}.`);
  const made = new Float32Array(contextLength);
  made.set(Array.from(values));
  if (!made.every(Number.isFinite) || made.every((v) => v === 0))
    throw refused(
      'a context of zeros, or with values that are no numbers',
      'Use finite numbers, not all 0: a zero context is like nothing.',
    );
  return made;
}

const refused = (problem: string, fix: string): FieldConfigError => new FieldConfigError({ where, problem, fix });

checkMethods(PatternLibrary.prototype, patternSignatures, fieldKinds);

const takes = argumentsOf('PatternLibrary', patternOptions, fieldKinds);
