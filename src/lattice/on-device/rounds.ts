// Rounds of one compiled step on a device. The host looks at a flag only every few rounds, so that launches are never waited for
// one by one; a round after the last needed one must change nothing.

import type { Runtime, Tensor } from '../../index.ts';
import { look } from '../look.ts';
import { kept } from './kept.ts';

/** Runs a body at the device that was chosen; tensors it makes and does not return are disposed of. */
export type Pinned = <T>(body: () => T) => T;

export type Fields = Readonly<Record<string, Tensor>>;

export interface Rounds<S extends Fields> {
  /** What is done, in the error of a caller who ends it. */
  readonly what: string;
  /** The fields to begin with; they are disposed of. */
  readonly start: S;
  /** The fields after one more round. It is not told which: a number that changes would be traced anew every time. */
  readonly step: (fields: S) => S;
  /** The most rounds. */
  readonly most: number;
  /** Whether another round could change anything, after so many; left out where the number of rounds is known. */
  readonly more?: ((fields: S, count: number) => Tensor) | undefined;
  /** Rounds between two looks at `more`. Default 16. */
  readonly every?: number | undefined;
  /** Rounds that are compiled together. Default 8: a device that records launches then repeats them with one call. */
  readonly together?: number | undefined;
  /** Names the step where it depends on nothing else, so that its compiled form can be kept. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onRound?: (() => void) | undefined;
}

/** The fields after the last round, which are the caller's, and how many rounds there were. */
export async function rounds<S extends Fields>(
  rt: Runtime,
  pinned: Pinned,
  { what, start, step, most, more, every = 16, together = 8, key, signal, onRound }: Rounds<S>,
): Promise<{ readonly fields: S; readonly count: number }> {
  const sizes = [...new Set([together, 1])];
  const own = key === undefined ? sizes.map((times) => repeated(rt, step, times)) : null;
  // Asked for again after each wait: what is kept may have gone meanwhile.
  const compiled = (): readonly Repeated<S>[] =>
    own ?? sizes.map((times) => kept(rt, `${times} × ${key}`, () => repeated(rt, step, times)));
  let fields = start;
  try {
    let count = 0;
    while (count < most) {
      await look(what, signal);
      const until = Math.min(most, count + every);
      // One scope for all of them: entering it takes as long as a launch.
      fields = pinned(() => {
        for (const { times, run } of compiled()) {
          for (; count + times <= until; count += times) {
            const old = fields;
            fields = run(old);
            release(old);
            for (let i = 0; i < times; i++) onRound?.();
          }
        }
        return fields;
      });
      if (!more || count >= most) continue;
      const flag = pinned(() => more(fields, count).compute());
      const [any] = await flag.data({ signal });
      // It may be one of the fields.
      if (!Object.values(fields).includes(flag)) flag.dispose();
      if (!any) break;
    }
    return { fields, count };
  } catch (error) {
    release(fields);
    throw error;
  } finally {
    for (const c of own ?? []) c.dispose();
  }
}

/** So many rounds as one compiled function. */
interface Repeated<S> {
  readonly times: number;
  readonly run: (fields: S) => S;
  dispose(): void;
}

function repeated<S extends Fields>(rt: Runtime, step: (fields: S) => S, times: number): Repeated<S> {
  const body = (fields: S): S => {
    let last = fields;
    for (let i = 0; i < times; i++) last = step(last);
    return last;
  };
  const compiled = rt.compile(body as unknown as (fields: Fields) => Fields);
  return { times, run: compiled as unknown as (fields: S) => S, dispose: () => compiled.dispose() };
}

export function release(fields: Fields): void {
  for (const t of Object.values(fields)) if (!t.disposed) t.dispose();
}
