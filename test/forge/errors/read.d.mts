export interface ErrorText {
  readonly accept: readonly string[];
  readonly text: string;
}

export interface Measured {
  readonly texts: number;
  /** Share of the texts with an error whose first answer is right. */
  readonly recall: number;
  /** Share of the first answers that are right; an answer to a text of class "none" is wrong. */
  readonly precision: number;
  readonly missed: readonly ErrorText[];
  readonly wrong: readonly (ErrorText & { readonly got: string })[];
}

/** There when the patterns were written. */
export const written: URL;
/** Collected afterwards; only measured. */
export const unseen: URL;
/** A half of the texts: its first file and the further batches beside it. */
export function batches(file: URL): readonly URL[];
/** The texts of one file. */
export function readErrors(file: URL): readonly ErrorText[];
export function measure(
  texts: readonly ErrorText[],
  explain: (text: string) => readonly { readonly code: string }[],
): Measured;
