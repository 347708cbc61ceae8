// The seed of everything random in the tests. `npm test` uses one that never changes, so that a run passes or fails for everybody
// alike; `npm run fuzz` draws a new one, prints it, and takes it back with `--seed`.

export const seed = Number(process.env.FUZZ_SEED ?? 20_261_115);
