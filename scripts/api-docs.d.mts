export interface ApiEntry {
  readonly name: string;
  readonly class: string;
  readonly file: string;
  readonly property: boolean;
  readonly signatures: readonly string[];
  readonly text: string;
  readonly examples: readonly string[];
}

export interface ApiPage {
  readonly title: string;
  readonly page: string;
  readonly entries: readonly ApiEntry[];
  /** Members that are private, protected, or for the library's own layers. */
  readonly helpers: readonly string[];
}

/** All public members, page by page. */
export function reference(): readonly ApiPage[];

/** The pages as they must be: path → text. */
export function pages(): ReadonlyMap<string, string>;

/** What is wrong: members without a line or an example, pages that are old, missing or too many. */
export function problems(): readonly string[];
