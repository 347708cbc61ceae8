/** A labelled text and its words with their weights. */
export interface Lesson {
  readonly classes: readonly string[];
  readonly text: string;
  readonly words: ReadonlyMap<string, number>;
}

export interface Learnt {
  readonly vocabulary: readonly string[];
  /** How rare each word is. */
  readonly rarity: readonly number[];
  readonly classes: readonly string[];
  /** What each class has before the first word. */
  readonly start: Float64Array;
  /** For each word the classes that it speaks for or against, by number, with the weight. */
  readonly rows: readonly (readonly (readonly [at: number, weight: number])[])[];
}

export function learn(texts: readonly Lesson[], steps?: number): Learnt;
