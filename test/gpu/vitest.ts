// What test files import from vitest, for machines that have only a bundle: `expect` is vitest's own, tests run one after another.
//
// scripts/test-gpu.mjs bundles test files with this module in the place of vitest. Only what the bundled files use is here.

import { ASYMMETRIC_MATCHERS_OBJECT, chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';

type Body = (...args: never[]) => unknown;
interface Case {
  readonly name: string;
  readonly run: () => unknown;
}

const cases: Case[] = [];
const after: (() => unknown)[] = [];
const afterOne: (() => unknown)[] = [];
const groups: string[] = [];

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);
export const expect = Object.assign(
  (value: unknown, message?: string) => chai.expect(value, message),
  chai.expect,
  (globalThis as never)[ASYMMETRIC_MATCHERS_OBJECT],
);

/** `%s` and the like are filled in, in their order; `%%` is a percent sign. */
function title(name: string, values: readonly unknown[]): string {
  let next = 0;
  return name.replace(/%[a-z%]/gi, (mark) =>
    mark === '%%' ? '%' : mark === '%o' ? JSON.stringify(values[next++]) : String(values[next++]),
  );
}

const spread = (row: unknown): readonly unknown[] => (Array.isArray(row) ? row : [row]);

/** Adds `.each` to a function that takes a name and a body. */
function withEach<F extends (name: string, body: Body) => void>(define: F) {
  const each =
    (rows: readonly unknown[]) =>
    (name: string, body: Body): void => {
      for (const row of rows) define(title(name, spread(row)), () => body(...(spread(row) as never[])));
    };
  return Object.assign(define, { each });
}

export const describe = withEach((name: string, body: Body): void => {
  groups.push(name);
  body();
  groups.pop();
});

/** Time limits of tests are left to whoever runs the bundle. */
export const it = withEach((name: string, ...rest: readonly [Body] | readonly [object, Body]): void => {
  const body = rest[rest.length - 1] as Body;
  cases.push({ name: [...groups, name].join(' > '), run: () => body() });
});

export const afterAll = (body: () => unknown): void => void after.push(body);

/** After every test of every file: such bodies tidy up what their own file's tests left, and find nothing behind others. */
export const afterEach = (body: () => unknown): void => void afterOne.push(body);

/** Runs what the imported files defined; `wanted`: only names that contain it. Prints each failure, and the counts last. */
export async function runTests(wanted = ''): Promise<boolean> {
  let [passed, failed] = [0, 0];
  const start = performance.now();
  const chosen = cases.filter((c) => c.name.includes(wanted));
  for (const { name, run } of chosen) {
    const began = performance.now();
    try {
      await run();
      for (const body of afterOne) await body();
      passed++;
      const ms = performance.now() - began;
      if (ms > 1000) console.log(`slow ${name}: ${ms.toFixed(0)} ms`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}: ${error instanceof Error ? (error.stack ?? error.message).slice(0, 2000) : error}`);
    }
  }
  for (const body of after) await body();
  console.log(`${passed} passed, ${failed} failed in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  // Nothing chosen is no success.
  return failed === 0 && passed > 0;
}
