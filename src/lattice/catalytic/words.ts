// How the words of a walk lie in borrowed memory, and what a step does to them.
//
// u32      one 32-bit word per vertex, modulo 2^32
// u64      one 64-bit word, on devices that have them
// halves   the low and the high half of a 64-bit word in two pieces of memory, with a carry, on devices without
// gf       elements of GF(2^64) as halves, with weighted edges

import type { Borrowed, InPlaceKernel, MemoryLayout, ReversibleStep, Runtime, Tensor } from '../../index.ts';
import type { Grid } from '../grid.ts';
import type { Mask } from '../mask.ts';
import { neighborSum, shifted } from '../stencil.ts';
import { edgeWeights, mulBits } from './gf64.ts';

export type WordKind = 'u32' | 'u64' | 'halves' | 'gf';

/** One array R_i: the pieces of memory that hold it. */
export type WordArray = readonly Borrowed[];

export interface Words {
  readonly kind: WordKind;
  /** R ± A·S, one launch a step. `spare` is borrowed like the arrays. */
  update(from: WordArray, to: WordArray, sign: 1 | -1, spare: WordArray): readonly ReversibleStep[];
  read(array: WordArray, vertex: number): Promise<bigint>;
  write(array: WordArray, vertex: number, value: bigint): void;
  /** a + b or a − b. */
  plus(a: bigint, b: bigint, sign: 1 | -1): bigint;
}

export interface WordSetup {
  readonly rt: Runtime;
  readonly grid: Grid;
  /** 1 where a vertex is free; null where all are. */
  readonly free: Tensor | null;
  readonly seed: number;
}

export function freeTensor(rt: Runtime, grid: Grid, mask: Mask | null): Tensor | null {
  return mask
    ? rt
        .tensor(
          mask.bytes.map((b) => 1 - b),
          grid.shape,
          { dtype: 'u8' },
        )
        .compute()
    : null;
}

/** Pieces per array, pieces besides, and bytes per vertex of a piece. */
export const layouts: Readonly<
  Record<WordKind, { readonly pieces: number; readonly spare: number; readonly bytes: number }>
> = {
  u32: { pieces: 1, spare: 0, bytes: 4 },
  u64: { pieces: 1, spare: 0, bytes: 8 },
  halves: { pieces: 2, spare: 0, bytes: 4 },
  gf: { pieces: 2, spare: 2, bytes: 4 },
};

export const words: Readonly<Record<WordKind, (setup: WordSetup) => Words>> = {
  u32: (setup) => plainWords(setup, 'u32', 4),
  u64: (setup) => plainWords(setup, 'u64', 8),
  halves: carriedWords,
  gf: fieldWords,
};

/** Blocked vertices keep what they have, and pass nothing on. */
const onlyFree = (rt: Runtime, free: Tensor | null, changed: Tensor, old: Tensor): Tensor =>
  free ? rt.where(free.notEqual(0), changed, old).cast(old.dtype) : changed;

const sources = (rt: Runtime, free: Tensor | null, x: Tensor): Tensor =>
  free ? rt.where(free.notEqual(0), x, 0).cast(x.dtype) : x;

function plainWords({ rt, grid, free }: WordSetup, dtype: 'u32' | 'u64', bytes: 4 | 8): Words {
  const layout: MemoryLayout = { dtype, shape: grid.shape };
  const kernel = (sign: 1 | -1) =>
    rt.inPlaceKernel([layout, layout], (r, s) => {
      const sum = neighborSum<typeof dtype>(sources(rt, free, s) as Tensor<typeof dtype>);
      return onlyFree(rt, free, sign === 1 ? r.add(sum) : r.sub(sum), r);
    });
  const [add, subtract] = [kernel(1), kernel(-1)];
  return {
    kind: dtype,
    update: (from, to, sign) => [signed(add, subtract, sign, [to[0]!, from[0]!])],
    read: ([m], v) => readWord(m!, v, bytes),
    write: ([m], v, value) => writeWord(m!, v, bytes, value),
    plus: (a, b, sign) => BigInt.asUintN(8 * bytes, sign === 1 ? a + b : a - b),
  };
}

/** In two halves, one launch: the high half takes the carry of the old low one, which is read before it is written. */
function carriedWords({ rt, grid, free }: WordSetup): Words {
  const layout: MemoryLayout = { dtype: 'u32', shape: grid.shape };
  const kernel = (sign: 1 | -1) =>
    rt.inPlaceKernel([layout, layout, layout, layout], (low, high, fromLow, fromHigh) => {
      let [l, h]: [Tensor, Tensor] = [low, high];
      for (const [a, b] of pairs(sources(rt, free, fromLow), sources(rt, free, fromHigh))) {
        const next: Tensor = sign === 1 ? l.add(a) : l.sub(a);
        const carry = (sign === 1 ? next.less(a) : l.less(a)).cast('u32');
        h = sign === 1 ? h.add(b).add(carry) : h.sub(b).sub(carry);
        l = next;
      }
      return [onlyFree(rt, free, l, low), onlyFree(rt, free, h, high)];
    });
  const [add, subtract] = [kernel(1), kernel(-1)];
  return {
    ...halves,
    kind: 'halves',
    update: (from, to, sign) => [signed(add, subtract, sign, [...to, ...from])],
    plus: (a, b, sign) => BigInt.asUintN(64, sign === 1 ? a + b : a - b),
  };
}

/** A launch that another one undoes. */
function signed(
  add: InPlaceKernel,
  subtract: InPlaceKernel,
  sign: 1 | -1,
  memory: readonly Borrowed[],
): ReversibleStep {
  const [act, back] = sign === 1 ? [add, subtract] : [subtract, add];
  return { do: () => act(...memory), undo: () => back(...memory) };
}

/** Low and high words of every neighbour. */
function pairs(low: Tensor, high: Tensor): [Tensor, Tensor][] {
  return low.shape.flatMap((_, axis) =>
    ([-1, 1] as const).map((by): [Tensor, Tensor] => [shifted(low, axis, by), shifted(high, axis, by)]),
  );
}

/** Bits of a weight that one launch multiplies by: more would not fit one kernel. */
const bitsPerLaunch = 8;

/**
 * Weighted edges over GF(2^64): R ^= w ⊗ S, a direction at a time. The weights are not stored: they are added to borrowed memory W for
 * a while, whatever it holds. R ^= W ⊗ S, W ^= w, R ^= W ⊗ S, W ^= w leaves R with w ⊗ S added, and W as it was. Every launch is an
 * XOR of something it does not change, so it undoes itself.
 */
function fieldWords({ rt, grid, free, seed }: WordSetup): Words {
  const layout: MemoryLayout = { dtype: 'u32', shape: grid.shape };
  const directions = grid.strides.flatMap((stride, axis) => ([-1, 1] as const).map((by) => ({ stride, axis, by })));
  const kernels = directions.map(({ stride, axis, by }) => ({
    weigh: (['low', 'high'] as const).map((half) =>
      rt.inPlaceKernel([layout], (word) => {
        const index = rt.iota([grid.vertices], 0).reshape(grid.shape);
        const weight = edgeWeights(rt, seed, by === 1 ? index : index.sub(stride), axis);
        return word.bitwiseXor(weight[half]);
      }),
    ),
    multiply: Array.from({ length: 64 / bitsPerLaunch }, (_, part) =>
      rt.inPlaceKernel(
        Array.from({ length: 6 }, () => layout),
        (low, high, fromLow, fromHigh, weightLow, weightHigh) => {
          const near = {
            low: shifted(sources(rt, free, fromLow!), axis, by),
            high: shifted(sources(rt, free, fromHigh!), axis, by),
          };
          const weight = { low: weightLow!, high: weightHigh! };
          const product = mulBits(weight, near, part * bitsPerLaunch, (part + 1) * bitsPerLaunch);
          const [l, h] = [low!.bitwiseXor(product.low), high!.bitwiseXor(product.high)];
          return [onlyFree(rt, free, l, low!), onlyFree(rt, free, h, high!)];
        },
      ),
    ),
  }));
  const own = (launch: () => void): ReversibleStep => ({ do: launch, undo: launch });
  return {
    ...halves,
    kind: 'gf',
    update: (from, to, _sign, spare) =>
      kernels.flatMap(({ weigh, multiply }) => {
        const times = multiply.map((launch) => own(() => launch(...to, ...from, ...spare)));
        const add = weigh.map((launch, half) => own(() => launch(spare[half]!)));
        return [...times, ...add, ...times, ...add];
      }),
    plus: (a, b) => a ^ b,
  };
}

/** A word in two pieces. */
const halves: Pick<Words, 'read' | 'write'> = {
  read: async ([low, high], v) => ((await readWord(high!, v, 4)) << 32n) | (await readWord(low!, v, 4)),
  write: ([low, high], v, value) => {
    writeWord(low!, v, 4, value);
    writeWord(high!, v, 4, value >> 32n);
  },
};

async function readWord({ device, buffer }: Borrowed, at: number, bytes: 4 | 8): Promise<bigint> {
  const { buffer: read, byteOffset } = await device.read(buffer, at * bytes, bytes);
  const view = new DataView(read, byteOffset);
  return bytes === 4 ? BigInt(view.getUint32(0, true)) : view.getBigUint64(0, true);
}

function writeWord({ device, buffer }: Borrowed, at: number, bytes: 4 | 8, value: bigint): void {
  const view = new DataView(new ArrayBuffer(bytes));
  if (bytes === 4) view.setUint32(0, Number(value & 0xffff_ffffn), true);
  else view.setBigUint64(0, BigInt.asUintN(64, value), true);
  device.write(buffer, new Uint8Array(view.buffer), at * bytes);
}
