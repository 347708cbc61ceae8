export interface Job {
  readonly name: string;
  readonly command: readonly string[];
  /** Runs when all others are done, and nothing beside it. */
  readonly alone: boolean;
  /** Its time limit. */
  readonly seconds: number;
}

export declare function runJobs(jobs: readonly Job[], most: number, folder: string): Promise<boolean>;
