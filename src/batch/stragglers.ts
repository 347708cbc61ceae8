// Stragglers: chunks that take much longer than the others, near the end of a job, when workers have nothing else to do.
//
// Such a chunk may be started a second time elsewhere. Whoever is done first commits its result, the other one is told to stop and
// discarded. That costs work twice, so a job has to ask for it.

/** Fewer chunks do not tell how long one takes. */
const fewest = 3;
/** The times of so many chunks are kept. */
export const mostTimes = 101;

/** How long a chunk may run before it counts as one, in ms; null if nobody can tell. */
export function straggleMs(times: readonly number[], factor: number): number | null {
  if (times.length < fewest) return null;
  const sorted = [...times].sort((a, b) => a - b);
  return factor * sorted[sorted.length >> 1]!;
}
