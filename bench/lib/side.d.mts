/** One work of a library: `run` does it and leaves it finished, `result` gives the last result. */
export interface Job {
  run(): unknown;
  result(): ArrayLike<number> | Promise<ArrayLike<number>>;
  drop?(): void;
}

/** Answers the parent's requests on standard input until it ends. */
export function serve(table: Readonly<Record<string, (size: number) => Job>>, about?: object): Promise<void>;
