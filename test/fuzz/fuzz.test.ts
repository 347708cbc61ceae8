// Random graphs on every device present, `reference` among them, held against the fuzzer's own evaluator.
//
// FUZZ_RUNS, FUZZ_SEED, FUZZ_DEVICE and FUZZ_WITHOUT change what runs (`npm run fuzz -- --runs N --seed S --device D`). A failure prints the
// shrunk graph as code and the seed that finds it again.

import { afterAll, describe, expect, it } from 'vitest';
import { type DType, dtypes } from '../../src/base/dtype.ts';
import { openRuntime, targets } from '../cases/devices.ts';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import type { Wishes } from './generate.ts';
import { careless, compiled, eager, fuzz, type Manner, type Opened } from './run.ts';

const runs = Number(process.env.FUZZ_RUNS ?? (all ? 2000 : 200));
const only = process.env.FUZZ_DEVICE;
/** Graphs of which some have elements that are compared: of fewer all might be up to rounding. */
const few = 4;
const without = process.env.FUZZ_WITHOUT?.split(',') ?? [];

async function run(opened: readonly Opened[], wishes: Wishes, count: number, manner: Manner): Promise<void> {
  const wanted = { ...wishes, without: new Set([...without, ...(wishes.without ?? [])]) };
  const { failure, compared, share } = await fuzz(opened, wanted, { seed, count }, manner);
  if (failure) expect.fail(failure);
  if (count >= few) expect(compared, 'elements compared').toBeGreaterThan(0);
  console.log(
    `seed ${seed}: ${count} graphs on ${opened.map((o) => o.name).join(', ')}; ${compared} elements compared (${share.toFixed(0)} %), the rest is up to rounding`,
  );
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
  it('come out right', { timeout: 3_600_000 }, () => run(opened, { dtypes: has }, count, eager));

  // Fewer, since the evaluator takes its time; small devices leave out what they compute one element at a time.
  it('come out right when they are large', { timeout: 3_600_000 }, () =>
    run(opened, { dtypes: has, extent: 'large', maxSteps: 12 }, Math.max(few, Math.ceil(count / 20)), eager),
  );

  it('come out right when compiled, the first time and replayed', { timeout: 3_600_000 }, () =>
    run(opened, { dtypes: has }, Math.max(few, Math.ceil(count / 10)), compiled),
  );

  it(
    'come out right, and leave nothing behind, whatever is disposed of or refused on the way',
    { timeout: 3_600_000 },
    () => run(opened, { dtypes: has }, Math.ceil(count / 4), careless),
  );

  afterAll(() => Promise.all(opened.map((o) => o.rt.close())));
});
