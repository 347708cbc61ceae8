// Counting walks on a grid in borrowed memory, as a test of the guard that has oracles.
//
// L + 1 arrays of one word per vertex, with any contents. Arithmetic wraps around, so what is added can be taken away again:
//   up    for i = L … 1:  R[i] -= A·R[i-1]          1 added to R[0] at the start vertex
//   down  for i = 1 … L:  R[i] += A·R[i-1]          now R[i] is what it was plus the walks of length i from there
//   up, take the 1 away, down: everything is as it was.
// Each step is one launch that reads array i-1 and writes array i in place. Its own memory is one word, that of the answer.

import type { Device, Program } from '../../src/devices/device.ts';
import type { Borrowed, ReversibleStep } from '../../src/governor/memory/borrow.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';

export interface Grid {
  readonly dimensions: number;
  readonly size: number;
}

export const verticesOf = ({ dimensions, size }: Grid): number => size ** dimensions;

/** R ± A·S on a grid: buffers S, R, R. */
function stencil({ dimensions, size }: Grid, type: 'u32' | 'u64', op: 'add' | 'sub'): Kernel {
  const b = new Exprs();
  const index = (v: number): Expr => b.const('index', v);
  const axes = Array.from({ length: dimensions }, (_, i) => b.axis(i, size));
  const strides = axes.map((_, i) => size ** (dimensions - 1 - i));
  const here = axes.reduce<Expr>((sum, x, i) => b.alu('add', sum, b.alu('mul', x, index(strides[i]!))), index(0));
  let sum: Expr = b.const(type, 0);
  axes.forEach((x, i) => {
    const below = b.alu('lt', index(0), x);
    const above = b.alu('lt', x, index(size - 1));
    sum = b.alu('add', sum, b.load(type, 0, b.alu('add', here, index(-strides[i]!)), below));
    sum = b.alu('add', sum, b.load(type, 0, b.alu('add', here, index(strides[i]!)), above));
  });
  const elements = size ** dimensions;
  const bytes = elements * (type === 'u32' ? 4 : 8);
  return {
    kind: 'kernel',
    name: `walk_${op}_${type}_${elements}`,
    space: axes.map(() => size),
    reduced: [],
    accumulators: [],
    outputs: [{ type, value: b.alu(op, b.load(type, 1, here), sum) }],
    inputs: [
      { type, elements },
      { type, elements },
    ],
    scalars: [],
    inPlace: [1],
    estimate: { flops: elements * (2 * dimensions + 1), bytesRead: 2 * bytes, bytesWritten: bytes },
  };
}

/** The words of one width: as bigint, at a vertex. */
class Words {
  readonly #type: 'u32' | 'u64';
  readonly #bytes: number;

  constructor(type: 'u32' | 'u64') {
    this.#type = type;
    this.#bytes = type === 'u32' ? 4 : 8;
  }

  async read({ device, buffer }: Borrowed, at: number): Promise<bigint> {
    const { buffer: bytes, byteOffset } = await device.read(buffer, at * this.#bytes, this.#bytes);
    const view = new DataView(bytes, byteOffset);
    return this.#type === 'u32' ? BigInt(view.getUint32(0, true)) : view.getBigUint64(0, true);
  }

  write({ device, buffer }: Borrowed, at: number, value: bigint): void {
    const view = new DataView(new ArrayBuffer(this.#bytes));
    if (this.#type === 'u32') view.setUint32(0, Number(this.wrap(value)), true);
    else view.setBigUint64(0, this.wrap(value), true);
    device.write(buffer, new Uint8Array(view.buffer), at * this.#bytes);
  }

  wrap(value: bigint): bigint {
    return BigInt.asUintN(8 * this.#bytes, value);
  }
}

/** A program that counts the walks of `length` steps from s to t, modulo 2^32 or 2^64, in `length + 1` arrays. */
export function countWalks(device: Device, grid: Grid, s: number, t: number, length: number, type: 'u32' | 'u64') {
  const words = new Words(type);
  const programs = {
    add: device.prepare(stencil(grid, type, 'add')),
    sub: device.prepare(stencil(grid, type, 'sub')),
  };
  const launch = (program: Program, i: number) => (r: readonly Borrowed[]) =>
    device.launch(program, [r[i - 1]!.buffer, r[i]!.buffer, r[i]!.buffer], []);
  const update = (i: number, op: 'add' | 'sub'): ReversibleStep => ({
    name: `R[${i}] ${op} A·R[${i - 1}]`,
    do: launch(programs[op], i),
    undo: launch(programs[op === 'add' ? 'sub' : 'add'], i),
  });
  const bump = (by: bigint): ReversibleStep => {
    const add = (n: bigint) => async (r: readonly Borrowed[]) =>
      words.write(r[0]!, s, (await words.read(r[0]!, s)) + n);
    return { name: `R[0][${s}] += ${by}`, do: add(by), undo: add(-by) };
  };
  return async function* (
    r: readonly Borrowed[],
    clean: (bytes: number) => void,
  ): AsyncGenerator<ReversibleStep, bigint> {
    const saved = await words.read(r[length]!, t);
    clean(8);
    for (let i = length; i >= 1; i--) yield update(i, 'sub');
    yield bump(1n);
    for (let i = 1; i <= length; i++) yield update(i, 'add');
    const answer = words.wrap((await words.read(r[length]!, t)) - saved);
    for (let i = length; i >= 1; i--) yield update(i, 'sub');
    yield bump(-1n);
    for (let i = 1; i <= length; i++) yield update(i, 'add');
    return answer;
  };
}
