// Random graphs on every device present, `reference` among them, held against the fuzzer's own evaluator.
//
// FUZZ_RUNS, FUZZ_SEED, FUZZ_DEVICE and FUZZ_WITHOUT change what runs (`npm run fuzz -- --runs N --seed S --device D`). A failure prints the
// shrunk graph as code and the seed that finds it again.

import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type DType, dtypes } from '../../src/base/dtype.ts';
import type { Runtime, Tensor } from '../../src/index.ts';
import { openRuntime, targets } from '../cases/devices.ts';
import type { HostArray } from '../cases/format.ts';
import { programs, type Wishes } from './generate.ts';
import { build, check, type Program, print, type Tally, uploads, valuesOf } from './program.ts';

const runs = Number(process.env.FUZZ_RUNS ?? 2000);
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const only = process.env.FUZZ_DEVICE;
const without = process.env.FUZZ_WITHOUT?.split(',') ?? [];
// A compiled function refuses index tensors: it does not check them.
const checked = ['gather', 'takeAlongAxis', 'scatter'];

interface Opened {
  readonly name: string;
  readonly rt: Runtime;
}

/** What is wrong with a graph on a runtime, or null. */
async function problemOf(
  rt: Runtime,
  p: Program,
  run: (rt: Runtime, p: Program) => readonly Tensor[],
  tally: Tally,
): Promise<string | null> {
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

async function fuzz(
  opened: readonly Opened[],
  wishes: Wishes,
  count: number,
  run: (rt: Runtime, p: Program) => readonly Tensor[],
): Promise<void> {
  const tally: Tally = { compared: 0, undecided: 0 };
  const result = await fc.check(
    fc.asyncProperty(programs({ ...wishes, without: new Set([...without, ...(wishes.without ?? [])]) }), async (p) => {
      for (const { name, rt } of opened) {
        const problem = await problemOf(rt, p, run, tally).catch((e) => `threw ${e instanceof Error ? e.stack : e}`);
        if (problem) throw new Error(`on ${name}: ${problem}`);
      }
    }),
    { seed, numRuns: count },
  );
  if (result.failed) {
    const [p] = result.counterexample as [Program];
    const message = result.errorInstance instanceof Error ? result.errorInstance.message : `${result.errorInstance}`;
    expect.fail(
      `${message}\n\nseed ${result.seed}, graph ${result.numRuns}, shrunk ${result.numShrinks} times:\n\n${print(p)}\n`,
    );
  }
  const share = (100 * tally.compared) / (tally.compared + tally.undecided);
  console.log(
    `seed ${seed}: ${count} graphs on ${opened.map((o) => o.name).join(', ')}; ${tally.compared} elements compared (${share.toFixed(0)} %), the rest is up to rounding`,
  );
  // A fuzzer that leaves most results open finds nothing.
  expect(share).toBeGreaterThan(60);
}

const chosen = targets.filter((t) => !only || t.name === only);
if (chosen.length === 0)
  throw new Error(`there is no device ${only}: use one of ${targets.map((t) => t.name).join(', ')}`);

/** Devices that have the same dtypes share their graphs. */
async function groups(): Promise<
  { readonly names: string; readonly has: ReadonlySet<DType>; readonly opened: Opened[]; readonly count: number }[]
> {
  const made = new Map<string, { has: ReadonlySet<DType>; opened: Opened[]; count: number }>();
  for (const t of chosen) {
    const rt = await openRuntime(t);
    const has = t.dtypes(rt);
    const key = dtypes.filter((d) => has.has(d)).join();
    const group = made.get(key) ?? { has, opened: [], count: Math.ceil(runs * t.share) };
    group.opened.push({ name: t.name, rt });
    made.set(key, group);
  }
  return [...made.values()].map((g) => ({ ...g, names: g.opened.map((o) => o.name).join(', ') }));
}

describe.each(await groups())('random graphs on $names', ({ has, opened, count }) => {
  it('come out right', { timeout: 3_600_000 }, () =>
    fuzz(opened, { dtypes: has }, count, (rt, p) => build(rt, p, uploads(rt, p))),
  );

  it('come out right when compiled, the first time and replayed', { timeout: 3_600_000 }, () =>
    fuzz(opened, { dtypes: has, without: new Set(checked) }, Math.ceil(count / 10), (rt, p) => {
      const step = rt.compile((...inputs: Tensor[]) =>
        build(rt, { ...p, items: p.items.map((i) => (i.kind === 'step' ? { ...i, compute: false } : i)) }, inputs),
      );
      const inputs = uploads(rt, p);
      return [...step(...inputs), ...step(...inputs)];
    }),
  );

  afterAll(() => Promise.all(opened.map((o) => o.rt.close())));
});
