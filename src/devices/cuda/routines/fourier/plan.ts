// How a transform is cut: into stages that a block does in registers, with shared memory between them, and into passes of blocks.
//
// Stages are Stockham's (Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992): before a stage of radix r there are r·m
// rows of s values, and all frequencies are in order behind the last one:
//   out[(p·r + k)·s + q] = root(r·m)^(p·k) · Σ_j in[(j·m + p)·s + q] · root(r)^(j·k)

/** The largest number of values that a thread transforms by itself. */
const largest = 16;
/** Shared memory of a block, of every architecture, without asking for more. */
export const sharedBytes = 48 * 1024;
const banks = 32;

/** Factors of at most 16: as few as there can be, as even as they can be, the largest first. */
export function radicesOf(length: number): readonly number[] {
  for (let count = 1; ; count++) {
    const found = factors(length, count, largest);
    if (found) return found;
  }
}

/** So many factors of at most `most`, none above the one before it; null if there are none. */
function factors(n: number, count: number, most: number): readonly number[] | null {
  if (count === 1) return n <= most ? [n] : null;
  for (let first = 2; first <= most; first++) {
    if (n % first !== 0 || first ** count < n) continue;
    const rest = factors(n / first, count - 1, first);
    if (rest) return [first, ...rest];
  }
  return null;
}

export interface Stage {
  readonly radix: number;
  readonly m: number;
  readonly s: number;
}

export function stagesOf(length: number): readonly Stage[] {
  let [rest, s] = [length, 1];
  return radicesOf(length).map((radix) => {
    const stage = { radix, m: rest / radix, s };
    [rest, s] = [stage.m, s * radix];
    return stage;
  });
}

/** Whose neighbours are next to each other in memory: those of one transform, or those of neighbouring transforms. */
export type Order = 'along' | 'across';

/** Item `n` of so many for each of `transforms`: which transform, and which of its items. */
export function itemOf(
  order: Order,
  n: number,
  each: number,
  transforms: number,
): readonly [transform: number, item: number] {
  return order === 'along' ? [Math.floor(n / each), n % each] : [n % transforms, Math.floor(n / transforms)];
}

/** Where values lie in shared memory, in elements: position i of transform g at g·apart + i·step + ⌊i / stretch⌋·gap. */
export interface Places {
  readonly apart: number;
  readonly step: number;
  readonly stretch: number;
  readonly gap: number;
  readonly size: number;
}

const placeOf = (p: Places, g: number, i: number): number =>
  g * p.apart + i * p.step + Math.floor(i / p.stretch) * p.gap;

export interface Block {
  readonly length: number;
  readonly transforms: number;
  readonly threads: number;
  readonly bytes: number;
}

/** One access of the first warp: item and position that its k-th value has. */
export interface Access {
  readonly order: Order;
  readonly each: number;
  readonly position: (item: number) => number;
}

const gaps = [0, 1, 2, 3, 4, 8, 16, 32];

/** The places that make the threads of a warp meet in as few banks as possible; of equal ones those that take the least memory. */
export function placesFor(
  block: Block,
  order: Order,
  stretch: number,
  accesses: readonly Access[],
  room = Number.POSITIVE_INFINITY,
): Places {
  const { length, transforms } = block;
  let best: Places | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const gap of stretch < length ? gaps : [0]) {
    for (const more of order === 'along' && transforms > 1 ? gaps : [0]) {
      const own = (length - 1) * (order === 'along' ? 1 : transforms) + Math.floor((length - 1) / stretch) * gap + 1;
      const places =
        order === 'along'
          ? { apart: own + more, step: 1, stretch, gap, size: (own + more) * transforms }
          : { apart: 1, step: transforms, stretch, gap, size: own + transforms - 1 };
      if (places.size > room) continue;
      const cost = accesses.reduce((sum, a) => sum + turnsOf(block, places, a), 0) + places.size * 1e-6;
      if (cost < least) [best, least] = [places, cost];
    }
  }
  if (!best) throw new Error(`${transforms} transforms of ${length} do not fit in shared memory`);
  return best;
}

/** How many turns the first warp takes. */
function turnsOf({ bytes, transforms }: Block, places: Places, { order, each, position }: Access): number {
  const words = bytes / 4;
  const lanes = banks / words;
  let turns = 0;
  for (let first = 0; first < banks; first += lanes) {
    const seen = new Map<number, Set<number>>();
    for (let lane = first; lane < first + lanes; lane++) {
      const [g, item] = itemOf(order, lane, each, transforms);
      if (g >= transforms || item >= each) continue;
      const place = placeOf(places, g, position(item));
      const bank = place % lanes;
      if (!seen.has(bank)) seen.set(bank, new Set());
      seen.get(bank)!.add(place);
    }
    turns += Math.max(0, ...[...seen.values()].map((s) => s.size));
  }
  return turns;
}

/** Threads that a block should have, where there is work for them. */
const fewThreads = 128;
const mostThreads = 512;

/** The longest transform that one block does by itself: its parts go through shared memory one after the other. */
export const longestIn = (bytes: number): number => (bytes === 4 ? 8192 : 4096);

/** A block that does whole rows: several of short ones. */
export function rowsBlock(length: number, rows: number, processors: number, bytes: number): Block {
  const wide = radicesOf(length)[0]!;
  const each = length / wide;
  const wanted = Math.max(1, Math.floor(fewThreads / each));
  // With few rows more blocks do better than larger ones.
  const most = Math.max(1, Math.floor(rows / processors));
  const fitting = Math.max(1, Math.floor((0.8 * sharedBytes) / (length * bytes)));
  const transforms = Math.min(wanted, most, fitting);
  return { length, transforms, threads: threadsFor(transforms * each), bytes };
}

/** A block that does neighbouring columns, or rows whose results lie side by side: `count` of them in all, as many as fill a sector of memory at least. */
export function columnsBlock(length: number, count: number, rows: number, processors: number, bytes: number): Block {
  const wide = radicesOf(length)[0]!;
  const fitting = Math.max(1, Math.floor((0.9 * sharedBytes) / (length * bytes)));
  let transforms = 16;
  while (transforms > 1 && (transforms > fitting || transforms > count || (transforms * length) / wide > mostThreads))
    transforms /= 2;
  const sector = 32 / (2 * bytes);
  while (transforms > sector && (rows * count) / transforms < processors) transforms /= 2;
  return { length, transforms, threads: threadsFor((transforms * length) / wide), bytes };
}

const threadsFor = (items: number): number => Math.min(1024, Math.ceil(items / 32) * 32);

/** Two factors of a length, as near to each other as can be; the second is the larger one. */
export function halvesOf(length: number): readonly [number, number] {
  let a = Math.floor(Math.sqrt(length));
  while (length % a !== 0) a--;
  return [a, length / a];
}

/** From how many values on few rows are better done by many blocks in two passes. */
const longRow = 4096;

/** Whether a block does a row by itself. */
export const inOneBlock = (length: number, rows: number, processors: number, bytes: number): boolean =>
  length <= (rows * 2 >= processors ? longestIn(bytes) : Math.min(longRow, longestIn(bytes)));
