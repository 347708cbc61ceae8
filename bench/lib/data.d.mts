export interface Digest {
  readonly length: number;
  readonly samples: readonly number[];
  readonly mean: number;
}

export function floats(n: number, seed?: number): Float32Array<ArrayBuffer>;
export function fractions(n: number, seed?: number): Float32Array<ArrayBuffer>;
/** What is wrong with a digest when held against another, or null. */
export function disagreement(got: Digest, want: Digest, tolerance?: number): string | null;
/** What is wrong with all values of a result when held against another's, or null. */
export function difference(got: Float64Array, want: Float64Array, tolerance?: number): string | null;
