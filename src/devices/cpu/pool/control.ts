// The words through which the calling thread and its workers agree on a job, in shared memory.
//
// A job is open or closed. A worker marks itself inside, then looks whether the job is open; the caller closes the job,
// then waits until nobody is inside. Atomics are sequentially consistent, so either the worker sees the job closed or the
// caller sees the worker inside: the job's fields never change under a worker that reads them. Chunks are claimed by
// one counter, so a worker that never wakes costs nothing.

/** Words of the job, as indices into an Int32Array that starts at the control address. */
export const word = {
  /** Counts jobs; workers sleep on it. */
  epoch: 0,
  /** 1 while chunks of the job may be claimed. */
  open: 1,
  /** The next chunk to claim. */
  next: 2,
  chunks: 3,
  chunkItems: 4,
  items: 5,
  args: 6,
  /** The module of the job: its number, and where its bytes are. */
  code: 7,
  codeAddress: 8,
  codeBytes: 9,
  /** 1: workers end when they wake. */
  stop: 10,
  /** Fault injection for tests: the worker that claims a chunk while this is set ends (1), traps (2) or stalls (3). */
  fault: 11,
  /** 1: workers note when they were at work. */
  timed: 12,
  /** 1: workers that wait for the next job go to sleep. */
  rest: 13,
} as const;

/** Words of one worker, from `slotWord(i)` on. */
export const slot = {
  state: 0,
  /** Chunks of the current job that this worker has finished. */
  done: 1,
  /** When the worker entered the current job and when it left, as doubles: milliseconds of the clock all threads share. */
  start: 2,
  end: 4,
} as const;

export const state = {
  /** Not started yet, or ended. */
  absent: 0,
  asleep: 1,
  inside: 2,
  /** A chunk trapped; the worker has left the job. */
  failed: 3,
} as const;

export const maxWorkers = 255;
const firstSlot = 32;
const slotWords = 32;

/** One slot per pair of cache lines, so that workers do not disturb each other. */
export const slotWord = (worker: number): number => firstSlot + worker * slotWords;
export const controlWords = slotWord(maxWorkers);

/**
 * Turns of the loop in which a worker looks for the next job before it goes to sleep: about 50 µs. To wake one takes 10 to 20 µs, and programs
 * do something of their own between two jobs.
 */
export const spins = 12_000;
