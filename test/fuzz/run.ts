// Random graphs run on runtimes and held against the fuzzer's own evaluator. No test runner and nothing of Node: also for pages.

import fc from 'fast-check';
import type { Runtime, Tensor } from '../../src/index.ts';
import type { HostArray } from '../cases/format.ts';
import { programs, type Wishes } from './generate.ts';
import { build, check, type Program, print, type Tally, uploads, valuesOf } from './program.ts';

export interface Opened {
  readonly name: string;
  readonly rt: Runtime;
}

/** How a graph is run: each output once, or all of them several times over. */
export type Manner = (rt: Runtime, p: Program) => readonly Tensor[];

export const eager: Manner = (rt, p) => build(rt, p, uploads(rt, p));

/** Compiled; the first time and replayed. */
export const compiled: Manner = (rt, p) => {
  const step = rt.compile((...inputs: Tensor[]) =>
    build(rt, { ...p, items: p.items.map((i) => (i.kind === 'step' ? { ...i, compute: false } : i)) }, inputs),
  );
  const inputs = uploads(rt, p);
  return [...step(...inputs), ...step(...inputs)];
};

export interface FuzzReport {
  /** The shrunk graph as code, with what is wrong and how to find it again; null if all came out right. */
  readonly failure: string | null;
  /** Graphs that were run: fewer than asked for if one failed. */
  readonly ran: number;
  readonly compared: number;
  /** Of all elements, those that were compared, in percent; the rest is up to rounding. */
  readonly share: number;
}

export async function fuzz(
  opened: readonly Opened[],
  wishes: Wishes,
  { seed, count }: { readonly seed: number; readonly count: number },
  run: Manner,
): Promise<FuzzReport> {
  const tally: Tally = { compared: 0, undecided: 0 };
  const result = await fc.check(
    fc.asyncProperty(programs(wishes), async (p) => {
      for (const { name, rt } of opened) {
        const problem = await problemOf(rt, p, run, tally).catch((e) => `threw ${e instanceof Error ? e.stack : e}`);
        if (problem) throw new Error(`on ${name}: ${problem}`);
      }
    }),
    { seed, numRuns: count },
  );
  const share = (100 * tally.compared) / (tally.compared + tally.undecided);
  const counts = { ran: result.numRuns, compared: tally.compared, share };
  if (!result.failed) return { failure: null, ...counts };
  const [p] = result.counterexample as [Program];
  const message = result.errorInstance instanceof Error ? result.errorInstance.message : `${result.errorInstance}`;
  const where = `seed ${result.seed}, graph ${result.numRuns}, shrunk ${result.numShrinks} times`;
  return { failure: `${message}\n\n${where}:\n\n${print(p)}\n`, ...counts };
}

/** What is wrong with a graph on a runtime, or null. */
async function problemOf(rt: Runtime, p: Program, run: Manner, tally: Tally): Promise<string | null> {
  const expected = valuesOf(p);
  return rt.scope(async () => {
    for (const [k, t] of run(rt, p).entries()) {
      // A graph that ran twice gives its outputs twice.
      const output = p.outputs[k % p.outputs.length]!;
      const data = (await t.data()) as HostArray;
      const problem = check(expected[output]!, { dtype: t.dtype, shape: t.shape, data }, tally);
      if (problem) return `v${output}: ${problem}`;
    }
    return null;
  });
}
