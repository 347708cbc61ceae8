/** A library in a process of its own, asked in lines of JSON. */
export class Peer {
  constructor(
    name: string,
    command: string,
    args: readonly string[],
    cwd: string,
    env?: Readonly<Record<string, string>>,
  );
  /** Its greeting; `error` where it could not start. */
  readonly opened: Promise<unknown>;
  /** `values`: the file that all of the result is written into. */
  ask(command: string, work?: string, seconds?: number, values?: string): Promise<unknown>;
  close(): Promise<void>;
}
