// Frontier search with one bit per vertex, in words of 32: for lattices whose distances would not fit.
//
// The last axes are packed together into whole words (a block), the others stay axes of the field. A level is one kernel: a step along
// an outer axis is a shifted load of words; a step along a packed axis shifts bits within the block, and constant masks take away
// what crossed a border. Along the first packed axis, what crosses the upper border comes into the padding of the block, as if the grid
// went on there. It needs no mask: within the padding there is no step along the other packed axes, so no way through it is
// shorter than the same way along the border. It is not counted in the end.

import { type Runtime, type Tensor, throwIfAborted } from '../../index.ts';
import type { Grid, Reach } from '../grid.ts';
import type { Mask } from '../mask.ts';
import { moved, shifted } from '../stencil.ts';
import type { Pinned } from './rounds.ts';

/** Vertices that a block should have at least: its last words are padded. */
const leastBlock = 512;

/** Words that a device loads at once: blocks are whole numbers of them where that costs little. */
const wordsAtOnce = 4;

export interface BitLayout {
  /** Axes within a block, and vertices of one. */
  readonly packed: number;
  readonly block: number;
  /** Words of a block, and of the whole field. */
  readonly width: number;
  readonly words: number;
  /** The outer axes, then the words of a block. */
  readonly shape: readonly number[];
}

export function bitLayout({ dimensions: d, size: n }: Grid): BitLayout {
  let packed = 1;
  while (packed < d && n ** packed < leastBlock) packed++;
  const block = n ** packed;
  const words = Math.ceil(block / 32);
  const width = words < wordsAtOnce ? words : wordsAtOnce * Math.ceil(words / wordsAtOnce);
  const shape = [...new Array<number>(d - packed).fill(n), width];
  return { packed, block, width, words: n ** (d - packed) * width, shape };
}

export interface BitSearch {
  readonly grid: Grid;
  readonly mask: Mask | null;
  readonly source: number;
  /** Ends after this level. */
  readonly most: number;
  readonly signal?: AbortSignal | undefined;
  readonly onLevel?: (() => void) | undefined;
}

/** Levels between two questions to the device. */
const levelsPerWait = 16;

export async function searchBits(rt: Runtime, pinned: Pinned, search: BitSearch): Promise<Reach> {
  const { grid, mask, source, most, signal, onLevel } = search;
  const layout = bitLayout(grid);
  const { start, free, borders } = pinned(() => ({
    start: startField(rt, layout, source),
    free: mask && rt.tensor(freeWords(layout, mask), layout.shape, { dtype: 'u32' }).compute(),
    borders: borderMasks(grid, layout).map((m) => rt.tensor(m, [layout.width], { dtype: 'u32' }).compute()),
  }));
  const step = rt.compile((x: Tensor) => {
    const near = spread(grid, layout, x, borders);
    return x.bitwiseOr(free ? near.bitwiseAnd(free) : near);
  });
  const held = new Set<Tensor>([start, ...borders, ...(free ? [free] : [])]);
  const drop = (t: Tensor): void => {
    held.delete(t);
    t.dispose();
  };
  /** So many levels on. `x` stays; `before` is the field a level earlier. */
  const advance = (x: Tensor, levels: number): { readonly before: Tensor; readonly now: Tensor } => {
    let [before, now] = [x, x];
    for (let i = 0; i < levels; i++) {
      throwIfAborted(signal, 'reach');
      if (before !== x) drop(before);
      before = now;
      now = pinned(() => step(before));
      held.add(now);
      onLevel?.();
    }
    return { before, now };
  };
  const differ = async (a: Tensor, b: Tensor): Promise<boolean> => {
    using flag = pinned(() => a.notEqual(b).any().compute());
    return Boolean((await flag.data({ signal }))[0]);
  };
  try {
    if (!mask) return { reached: await countBits(rt, pinned, layout, advance(start, most).now, signal), levels: most };
    let [kept, level] = [start, 0];
    while (level < most) {
      const levels = Math.min(levelsPerWait, most - level);
      const { before, now } = advance(kept, levels);
      const more = await differ(before, now);
      if (before !== kept) drop(before);
      if (more) {
        drop(kept);
        [kept, level] = [now, level + levels];
        continue;
      }
      drop(now);
      // It ended among these levels: once more, one at a time.
      for (let after = advance(kept, 1).now; await differ(kept, after); after = advance(kept, 1).now) {
        drop(kept);
        [kept, level] = [after, level + 1];
      }
      break;
    }
    return { reached: await countBits(rt, pinned, layout, kept, signal), levels: level };
  } finally {
    step.dispose();
    for (const t of held) t.dispose();
  }
}

/** Everything one step away from the bits of x. */
function spread(grid: Grid, { packed, shape }: BitLayout, x: Tensor, borders: readonly Tensor[]): Tensor {
  const outer = shape.length - 1;
  const steps: Tensor[] = [];
  for (let axis = 0; axis < outer; axis++) for (const by of [-1, 1] as const) steps.push(shifted(x, axis, by));
  for (let k = 0; k < packed; k++) {
    const stride = grid.size ** (packed - 1 - k);
    [1, -1].forEach((sign, i) => {
      const near = movedBits(x, outer, sign * stride);
      // Along the first of them what crosses a border leaves the vertices of the block.
      steps.push(k === 0 ? near : near.bitwiseAnd(borders[2 * k - 2 + i]!));
    });
  }
  return steps.reduce((a, b) => a.bitwiseOr(b) as Tensor);
}

/** Bit i of the result is bit i - by of x, along the words of a block; zeros come in. */
function movedBits(x: Tensor, axis: number, by: number): Tensor {
  const [words, bits] = [Math.floor(Math.abs(by) / 32), Math.abs(by) % 32];
  const sign = by > 0 ? -1 : 1;
  const here = moved(x, axis, sign * words);
  if (bits === 0) return here;
  const beside = moved(x, axis, sign * (words + 1));
  return (
    by > 0
      ? here.leftShift(bits).bitwiseOr(beside.rightShift(32 - bits))
      : here.rightShift(bits).bitwiseOr(beside.leftShift(32 - bits))
  ) as Tensor;
}

/** Per packed axis but the first: the bits that something below may have come to, then those from above. */
function borderMasks({ size }: Grid, layout: BitLayout): Uint32Array[] {
  return Array.from({ length: 2 * (layout.packed - 1) }, (_, i) => {
    const stride = size ** (layout.packed - 2 - (i >> 1));
    const border = i % 2 === 0 ? 0 : size - 1;
    return bitsWhere(layout, (v) => Math.floor(v / stride) % size !== border);
  });
}

/** A block with ones at some of its vertices, and none in the padding. */
function bitsWhere({ block, width }: BitLayout, has: (v: number) => boolean): Uint32Array {
  const words = new Uint32Array(width);
  for (let v = 0; v < block; v++) if (has(v)) words[v >> 5] = words[v >> 5]! | (1 << (v & 31));
  return words;
}

/** One bit, made on the device: an array of the host may be too small for all words. */
function startField(rt: Runtime, { block, width, words, shape }: BitLayout, source: number): Tensor {
  const within = source % block;
  const word = Math.floor(source / block) * width + (within >> 5);
  const bit = rt.tensor(Uint32Array.of((1 << (within & 31)) >>> 0), [1], { dtype: 'u32' });
  return rt
    .where(rt.iota([words], 0).equal(word), bit, 0)
    .cast('u32')
    .reshape(shape)
    .compute();
}

function freeWords({ block, width, words }: BitLayout, { bytes }: Mask): Uint32Array {
  const free = new Uint32Array(words);
  for (let v = 0; v < bytes.length; v++) {
    if (bytes[v]) continue;
    const within = v % block;
    const at = ((v - within) / block) * width + (within >> 5);
    free[at] = free[at]! | (1 << (within & 31));
  }
  return free;
}

/** Vertices in all words: within each first coordinate in 32 bits on the device, over all of them on the host. */
async function countBits(
  rt: Runtime,
  pinned: Pinned,
  layout: BitLayout,
  x: Tensor,
  signal: AbortSignal | undefined,
): Promise<number> {
  using sums = pinned(() => {
    const vertices = rt.tensor(
      bitsWhere(layout, () => true),
      [layout.width],
      { dtype: 'u32' },
    );
    const bits = x.bitwiseAnd(vertices);
    const pairs = bits.sub(bits.rightShift(1).bitwiseAnd(0x5555_5555));
    const fours = pairs.bitwiseAnd(0x3333_3333).add(pairs.rightShift(2).bitwiseAnd(0x3333_3333));
    const bytes = fours.add(fours.rightShift(4)).bitwiseAnd(0x0f0f_0f0f);
    const ones = bytes.mul(0x0101_0101).rightShift(24);
    const axis = x.rank === 1 ? [0] : x.shape.map((_, k) => k).slice(1);
    return ones.sum({ axis, dtype: 'u32' }).compute();
  });
  return Array.from(await sums.data({ signal }), Number).reduce((a, b) => a + b, 0);
}
