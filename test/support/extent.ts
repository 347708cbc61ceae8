// How much of the large suites runs. `npm test` takes a fixed part of what only repeats itself (the same case on the next device, the
// same form in the next dtype), so that it ends in minutes; `npm run test:all` runs everything.

export const all = process.env.GPUFORGE_TEST_ALL === '1';

/** Every n-th of a list, beginning with the first; the whole list in `npm run test:all`. */
export const everyNth = <T>(list: readonly T[], n: number): readonly T[] =>
  all ? list : list.filter((_, i) => i % n === 0);
