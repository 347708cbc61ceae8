// Runs in a browser, where spans are not followed through an `await`: 50 scopes at the same time, each with one inside.

import { Profiler } from '../../src/profile/profiler.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** With `run`, scopes are entered again after they waited. */
async function program(run: boolean): Promise<{ wrong: number; orphans: number; entries: number }> {
  const profiler = new Profiler();
  await profiler.profile('root', () =>
    Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        profiler.profile(`outer ${i}`, async (span) => {
          await sleep(i % 5);
          const inner = (): number => profiler.profile(`inner ${i}`, () => i);
          return run ? span.run(inner) : inner();
        }),
      ),
    ),
  );
  const { entries, orphans } = profiler.toProfile();
  const byName = new Map(entries.map((e) => [e.operation, e]));
  let wrong = 0;
  for (let i = 0; i < 50; i++) {
    if (byName.get(`inner ${i}`)!.parentId !== byName.get(`outer ${i}`)!.id) wrong++;
    if (byName.get(`outer ${i}`)!.parentId !== byName.get('root')!.id) wrong++;
  }
  return { wrong, orphans, entries: entries.length };
}

(globalThis as { scopes?: typeof program }).scopes = program;
