// Wrong calls of all public functions: each is refused by an error of the library, none is accepted in silence.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import { makeCalls, problemsOf } from './check.ts';
import { entries, isErrorClass, notCalled, type Opened, openParts, parts } from './parts.ts';
import type { Surface } from './surface.ts';

const count = Number(process.env.GPUFORGE_WRONG_CALLS ?? (all ? 20_000 : 3000));
const shown = Number(process.env.GPUFORGE_SHOWN ?? 5);
const only = process.env.GPUFORGE_PART;

let opened: Opened;
let wrong: Surface;
beforeAll(async () => {
  opened = await openParts();
  wrong = makeCalls(
    parts.filter((p) => !only || p.part === only),
    opened.names,
    Object.keys(entries),
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

  it('by every function, class and method that a user can reach', () => {
    const { functions, types } = wrong.reach;
    expect(functions.length).toBeGreaterThan(150);
    expect(types.length).toBeGreaterThan(40);
    const called = new Set(wrong.functions);
    const isCalled = (name: string): boolean =>
      called.has(name) || wrong.functions.some((f) => f.startsWith(`${name}.`)) || name in notCalled;
    const uncalled = functions.map((f) => f.name).filter((name) => !isCalled(name) && !isErrorClass(name));
    expect(uncalled).toEqual([]);
    const missed = types.filter((t) => !wrong.covered.has(t.symbol) && !(t.name in notCalled));
    expect(missed.map((t) => `${t.name}, by ${t.way}`)).toEqual([]);
    // What is left out is there.
    const names = new Set([...functions, ...types].map((r) => r.name));
    expect(Object.keys(notCalled).filter((name) => !names.has(name))).toEqual([]);
  });

  it('of every entry of the package', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { exports } = JSON.parse(text) as { exports: Record<string, unknown> };
    const names = Object.keys(exports).map((e) => e.replace(/^\.\/?/, ''));
    // The profiler that is preloaded exports nothing.
    expect(names.filter((n) => !['package.json', 'profile/register'].includes(n)).sort()).toEqual(
      Object.values(entries)
        .map((e) => e.name)
        .sort(),
    );
  });

  it('as many as there should be', () => {
    expect(wrong.calls.length).toBeGreaterThanOrEqual(count);
  });
});
