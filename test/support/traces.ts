// Allocation traces for tests of the pools: sequences of allocations and releases, made anew from a seed each time.
//
// `dataframe` is like the recorded trace that pools are compared on (rapidsai/rmm issue 1969: about 2,100 events, 73 GiB live at the
// peak): sizes over nine orders of magnitude, most of the bytes in few blocks, waves of use, lives short and long mixed.
// `training` is a loop: weights that stay, activations freed in reverse, temporaries; its sizes may change every time.

export type TraceEvent =
  | { readonly kind: 'allocate'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'release'; readonly id: number };

const GiB = 2 ** 30;

export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function dataframe(seed: number, events = 2100, peak = 73.2 * GiB): TraceEvent[] {
  const random = randomSource(seed);
  const trace: TraceEvent[] = [];
  const live: { id: number; bytes: number }[] = [];
  let held = 0;
  let id = 0;
  const exponent = (u: number): number =>
    u < 0.25 ? 8 + random() * 10 : u < 0.6 ? 20 + random() * 6 : u < 0.9 ? 24 + random() * 5 : 28 + random() * 4.5;
  const release = (at: number): void => {
    const [gone] = live.splice(at, 1);
    held -= gone!.bytes;
    trace.push({ kind: 'release', id: gone!.id });
  };
  while (trace.length < events) {
    const wave = peak * (0.35 + 0.65 * Math.abs(Math.sin(trace.length / 300)));
    if (live.length === 0 || (held < wave && random() < 0.7)) {
      const bytes = Math.ceil((2 ** exponent(random()) * peak) / (73.2 * GiB));
      if (held + bytes > peak) release(Math.floor(random() * live.length));
      else {
        trace.push({ kind: 'allocate', id, bytes });
        live.push({ id: id++, bytes });
        held += bytes;
      }
    } else {
      const recent = live.length - 1 - Math.floor(random() * Math.min(live.length, 8));
      release(random() < 0.5 ? recent : Math.floor(random() * live.length));
    }
  }
  return trace;
}

/** Sizes change by up to ±`jitter` of themselves from use to use. */
export function training(rounds: number, jitter: number, seed: number): { trace: TraceEvent[]; perRound: number } {
  const random = randomSource(seed);
  const sizes = Array.from({ length: 24 }, () => Math.ceil(2 ** (16 + random() * 9)));
  const trace: TraceEvent[] = [];
  let id = 0;
  const allocate = (bytes: number): number => {
    trace.push({ kind: 'allocate', id, bytes: Math.ceil(bytes * (1 + jitter * (2 * random() - 1))) });
    return id++;
  };
  const release = (which: number): void => {
    trace.push({ kind: 'release', id: which });
  };
  for (const bytes of sizes) allocate(bytes);
  const before = trace.length;
  for (let round = 0; round < rounds; round++) {
    const activations = sizes.map((bytes) => {
      const kept = allocate(bytes);
      release(allocate(2 * bytes));
      return kept;
    });
    for (let i = activations.length - 1; i >= 0; i--) {
      const gradient = allocate(sizes[i]!);
      release(activations[i]!);
      release(gradient);
    }
  }
  return { trace, perRound: (trace.length - before) / rounds };
}

export interface Played {
  /** Most bytes live at once, as asked for. */
  readonly peak: number;
  /** Most bytes reserved at once. */
  readonly reserved: number;
  /** Share of allocations that did not ask the driver, after the warm-up. */
  readonly hits: number;
}

/** Plays a trace; `calls` counts what the driver was asked so far. */
export function play<B>(
  trace: readonly TraceEvent[],
  pool: { allocate(bytes: number): B | null; release(block: B): void; reserved(): number },
  calls: () => number,
  warmUp = 0,
): Played {
  const live = new Map<number, { block: B; bytes: number }>();
  let [held, peak, reserved, asked, count] = [0, 0, 0, 0, 0];
  trace.forEach((event, i) => {
    if (event.kind === 'release') {
      const { block, bytes } = live.get(event.id)!;
      live.delete(event.id);
      held -= bytes;
      pool.release(block);
      return;
    }
    const before = calls();
    const block = pool.allocate(event.bytes);
    if (block === null) throw new Error(`no room for ${event.bytes} bytes`);
    live.set(event.id, { block, bytes: event.bytes });
    held += event.bytes;
    peak = Math.max(peak, held);
    reserved = Math.max(reserved, pool.reserved());
    if (i < warmUp) return;
    count++;
    if (calls() !== before) asked++;
  });
  return { peak, reserved, hits: 1 - asked / count };
}
