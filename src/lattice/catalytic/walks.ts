// Counting walks in borrowed memory.
//
// L + 1 arrays of one word per vertex, with any contents τ. What is added can be taken away again:
//   up    for i = L … 1:  R[i] −= A·R[i−1]          then 1 is added to R[0] at the start
//   down  for i = 1 … L:  R[i] += A·R[i−1]          now R[i] is τ[i] plus the walks of i steps from there
//   up, take the 1 away, down: everything is as it was.
// Each step writes one array in place. Memory of its own: the words τ[i][t] of the lengths that are asked for.

import type { Borrowed, ReversibleStep } from '../../index.ts';
import { layouts, type WordArray, type Words } from './words.ts';

export interface WalkProgram {
  readonly words: Words;
  readonly source: number;
  readonly target: number;
  readonly length: number;
  /** The lengths whose counts are wanted, each at most `length`. */
  readonly lengths: readonly number[];
}

/**
 * A program for `memory.borrow` in the pieces of memory that it is begun with: its result has one number per length that was asked for.
 */
export function walkProgram({ words, source, target, length, lengths }: WalkProgram) {
  return async function* (
    memory: readonly Borrowed[],
    clean: (bytes: number) => void,
  ): AsyncGenerator<ReversibleStep | readonly ReversibleStep[], bigint[]> {
    const { pieces, spare: spares } = layouts[words.kind];
    const r: readonly WordArray[] = Array.from({ length: length + 1 }, (_, i) =>
      memory.slice(i * pieces, (i + 1) * pieces),
    );
    const spare = memory.slice((length + 1) * pieces, (length + 1) * pieces + spares);
    // Both sweeps are made twice, of the same steps.
    const sweep = (sign: 1 | -1): readonly ReversibleStep[] => {
      const each = r.slice(1).map((to, i) => {
        const name = `R[${i + 1}] ${sign === 1 ? '+' : '−'}= A·R[${i}]`;
        return words.update(r[i]!, to, sign, spare).map((step) => ({ ...step, name }));
      });
      return (sign === 1 ? each : each.reverse()).flat();
    };
    const [up, down] = [sweep(-1), sweep(1)];
    const start = (sign: 1 | -1): ReversibleStep => {
      const add = async (by: 1 | -1): Promise<void> =>
        words.write(r[0]!, source, words.plus(await words.read(r[0]!, source), 1n, by));
      return {
        name: `R[0][${source}] ${sign === 1 ? '+' : '−'}= 1`,
        do: () => add(sign),
        undo: () => add(sign === 1 ? -1 : 1),
      };
    };
    const read = (): Promise<bigint[]> => Promise.all(lengths.map((i) => words.read(r[i]!, target)));
    const saved = await read();
    clean(8 * lengths.length);
    yield up;
    yield start(1);
    yield down;
    const found = await read();
    const counts = found.map((value, i) => words.plus(value, saved[i]!, -1));
    yield up;
    yield start(-1);
    yield down;
    return counts;
  };
}
