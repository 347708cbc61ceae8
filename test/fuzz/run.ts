// Random graphs run on runtimes and held against the fuzzer's own evaluator. No test runner and nothing of Node: also for pages.

import fc from 'fast-check';
import { ForgeError, type Runtime, type Tensor } from '../../src/index.ts';
import type { HostArray } from '../cases/format.ts';
import { programs, type Wishes } from './generate.ts';
import { build, check, lastUses, type Program, print, type Tally, uploads, valuesOf } from './program.ts';

export interface Opened {
  readonly name: string;
  readonly rt: Runtime;
}

/** How a graph is run: each output once, or all of them several times over. `end` lets go of what is no tensor. */
export type Manner = (rt: Runtime, p: Program) => Promise<Run> | Run;

export interface Run {
  readonly outputs: readonly Tensor[];
  readonly end?: () => void;
}

export const eager: Manner = (rt, p) => ({ outputs: build(rt, p, uploads(rt, p)) });

/** Compiled; the first time and replayed. */
export const compiled: Manner = (rt, p) => {
  const step = rt.compile((...inputs: Tensor[]) =>
    build(rt, { ...p, items: p.items.map((i) => (i.kind === 'step' ? { ...i, compute: false } : i)) }, inputs),
  );
  const inputs = uploads(rt, p);
  return { outputs: [...step(...inputs), ...step(...inputs)], end: step.dispose };
};

/** Calls that every tensor refuses, whatever its shape and dtype. */
const refusals: readonly ((t: Tensor) => unknown)[] = [
  (t) => t.reshape([t.size + 1]),
  (t) => t.sum({ axis: t.rank }),
  (t) => t.softmax(t.rank),
  (t) =>
    t.add(
      t
        .reshape([1, t.size])
        .pad([
          [0, 1],
          [0, 2],
        ])
        .pad([
          [0, 0],
          [1, t.size],
        ])
        .slice([
          [0, 2],
          [0, t.size + 3],
        ])
        .reshape([2, t.size + 3]),
    ),
  (t) =>
    t.matmul(
      t
        .flatten()
        .pad([[1, 1]])
        .reshape([t.size + 2, 1])
        .expand([t.size + 2, 3]),
    ),
  (t) => t.slice([[0, 1, 0], ...t.shape.map(() => null)]),
  (t) => t.gather([t.size + 1], 0),
  (t) => t.norm({ axis: [0, 0] }),
];

/**
 * As careless users do: values are disposed of as soon as nothing further on names them, in any order, refused calls stand in
 * between, and some results are flushed before they are read.
 */
export const careless: Manner = async (rt, p) => {
  let state = p.items.length * 2654435761;
  const dice = (sides: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return (state >>> 8) % sides;
  };
  const uses = lastUses(p);
  const outputs = build(rt, p, uploads(rt, p), (values, item) => {
    if (dice(4) === 0) refuse(values[dice(values.length)]!, refusals[dice(refusals.length)]!);
    const idle = values.filter((t, i) => uses[i]! <= item && !t.disposed);
    while (idle.length > 0 && dice(4) > 0) idle.splice(dice(idle.length), 1)[0]!.dispose();
  });
  // What nobody named again goes now, the last made first; then what is left is computed together.
  if (dice(2)) await rt.flush(...outputs);
  return { outputs };
};

function refuse(t: Tensor, act: (t: Tensor) => unknown): void {
  if (t.disposed) return;
  try {
    act(t);
  } catch (e) {
    if (e instanceof ForgeError) return;
    throw e;
  }
}

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
  // A fuzzer that leaves most results open finds nothing. Of few graphs one may be most.
  const idle = result.numRuns >= 60 && share <= 60 ? 'most results were left open' : null;
  if (!result.failed) return { failure: idle, ...counts };
  const [p] = result.counterexample as [Program];
  const message = result.errorInstance instanceof Error ? result.errorInstance.message : `${result.errorInstance}`;
  const where = `seed ${result.seed}, graph ${result.numRuns}, shrunk ${result.numShrinks} times`;
  return { failure: `${message}\n\n${where}:\n\n${print(p)}\n`, ...counts };
}

/** What is wrong with a graph on a runtime, or null. */
async function problemOf(rt: Runtime, p: Program, run: Manner, tally: Tally): Promise<string | null> {
  const before = rt.stats().bytes;
  const problem = await rt.scope(() => valuesProblem(rt, p, run, tally));
  // Less than before: something that others left was collected meanwhile.
  const kept = rt.stats().bytes - before;
  return problem ?? (kept <= 0 ? null : `${kept} bytes are still held`);
}

async function valuesProblem(rt: Runtime, p: Program, run: Manner, tally: Tally): Promise<string | null> {
  const expected = valuesOf(p);
  const { outputs, end } = await run(rt, p);
  try {
    for (const [k, t] of outputs.entries()) {
      // A graph that ran twice gives its outputs twice.
      const output = p.outputs[k % p.outputs.length]!;
      const data = (await t.data()) as HostArray;
      const problem = check(expected[output]!, { dtype: t.dtype, shape: t.shape, data }, tally);
      if (problem) return `v${output}: ${problem}`;
    }
    return null;
  } finally {
    end?.();
  }
}
