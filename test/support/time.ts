// Bounds on time in the tests. They tell work that ends from work that waits for a timeout or for ever, also on a machine that is busy
// with other things; how fast something is belongs to `npm run bench`. GPUFORGE_TEST_TIMES=strict takes the bounds as they are written.

const stretch = process.env.GPUFORGE_TEST_TIMES === 'strict' ? 1 : 10;

/** The milliseconds that something may take which takes at most `ms` on a machine that does nothing else. */
export const within = (ms: number): number => ms * stretch;

/** Waits for at least so many milliseconds: a timer may fire a little before its time. */
export async function sleep(ms: number): Promise<void> {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now())
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(left)));
}
