// Wrong calls of all public functions: each is refused by an error of the library, none is accepted in silence.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import { makeCalls, problemsOf, type Wrong } from './check.ts';
import { type Opened, openParts, parts } from './parts.ts';

const count = Number(process.env.GPUFORGE_WRONG_CALLS ?? (all ? 20_000 : 3000));
const shown = Number(process.env.GPUFORGE_SHOWN ?? 5);
const only = process.env.GPUFORGE_PART;

let opened: Opened;
let wrong: Wrong;
beforeAll(async () => {
  opened = await openParts();
  wrong = makeCalls(
    parts.filter((p) => !only || p.part === only),
    opened.names,
    count,
  );
  console.log(`seed ${seed}: ${wrong.calls.length} wrong calls of ${wrong.functions.length} functions`);
});
afterAll(() => opened?.close());

describe('wrong calls are refused by name:', () => {
  it.each(parts.map((p) => p.part))('%s', async (part) => {
    const calls = wrong.calls.filter((c) => c.part === part);
    expect(calls.length).toBeGreaterThan(only ? -1 : 5);
    const problems = await problemsOf(calls, opened.names, (call) => opened.rt.scope(call));
    expect(problems.slice(0, shown)).toEqual([]);
  });

  it('as many as there should be', () => {
    expect(wrong.calls.length).toBeGreaterThanOrEqual(count);
  });
});
