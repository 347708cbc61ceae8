// A family: what a message is about, and what it says of it. Neither is a wording.

export interface Family {
  /** The class that the two lead to. */
  readonly code: string;
  readonly subject: RegExp;
  readonly trouble: RegExp;
}
