// Thin products whose B is transposed: every element of C is the dot product of a row of A and a row of B, both contiguous.
//
// Four rows of B are read at once, from their beginnings to their ends: they share what is read of A, and processors fetch each of a few
// streams ahead. Each row has two sums, which vectors are added to in turns, so that an addition need not wait for the one before; they are
// the same for a row alone, so results do not depend on its neighbours. Sums of f32 move to f64 after every `stretch` additions: a long
// sum in one f32 register forgets what it adds.

import type { Code } from '../wasm/code.ts';
import type { Func } from '../wasm/module.ts';
import { rising, type VectorMachine } from './emit.ts';
import type { GemmShape } from './gemm-plan.ts';
import type { ThinLocals } from './thin.ts';

/** Columns of C of one item. */
export const dotColumns = 32;
const rowsAtOnce = 4;
const sumsPerRow = 2;
const stretch = 256;

export function dots(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): void {
  const c = f.code;
  const j = f.local('i32');
  const group = new DotGroup(f, s, v, l, j);
  c.i32(0).set(j);
  rising(
    c,
    j,
    () => c.get(l.width).i32(-rowsAtOnce).op('i32.and'),
    rowsAtOnce,
    () => group.emit(rowsAtOnce),
  );
  rising(
    c,
    j,
    () => c.get(l.width),
    1,
    () => group.emit(1),
  );
}

/** The code for some rows of B at once, and the locals it works in. */
class DotGroup {
  readonly #f: Func;
  readonly #s: GemmShape;
  readonly #v: VectorMachine;
  readonly #l: ThinLocals;
  readonly #j: number;
  /** Sums go to f64 in stretches. */
  readonly #long: boolean;
  /** Where the next vector of A is, where whole vectors end, where this walk ends; what B is further on. */
  readonly #left: number;
  readonly #vectorEnd: number;
  readonly #until: number;
  readonly #apart: number;
  readonly #right: number;
  readonly #shared: number;
  /** Of each row: its sums, and their total. */
  readonly #sums: readonly (readonly number[])[];
  readonly #totals: readonly number[];

  constructor(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals, j: number) {
    const local = (): number => f.local('i32');
    const vector = (): number => f.local('v128');
    this.#f = f;
    this.#s = s;
    this.#v = v;
    this.#l = l;
    this.#j = j;
    this.#long = s.type === 'f32' && s.k > stretch;
    [this.#left, this.#vectorEnd, this.#until, this.#apart, this.#right] = [
      local(),
      local(),
      local(),
      local(),
      local(),
    ];
    this.#shared = vector();
    this.#sums = Array.from({ length: rowsAtOnce }, () => Array.from({ length: sumsPerRow }, vector));
    this.#totals = this.#sums.map(() => f.local(this.#long ? 'f64' : v.value));
  }

  emit(rows: number): void {
    for (let r = 0; r < this.#s.m; r++) this.#rowOfA(r, rows);
  }

  get #rowBytes(): number {
    return this.#s.k * this.#v.bytes;
  }

  #rowOfA(r: number, rows: number): void {
    const { k, n } = this.#s;
    const [c, v, l] = [this.#f.code, this.#v, this.#l];
    c.get(l.a)
      .i32(r * this.#rowBytes)
      .op('i32.add')
      .tee(this.#left)
      .i32((k - (k % v.lanes)) * v.bytes)
      .op('i32.add')
      .set(this.#vectorEnd);
    c.get(l.b).get(l.first).get(this.#j).op('i32.add').i32(this.#rowBytes).ops('i32.mul', 'i32.add');
    c.get(this.#left).op('i32.sub').set(this.#apart);
    this.#clear(rows);
    if (this.#long) this.#stretches(rows);
    else {
      if (k >= v.lanes) this.#vectors(rows, this.#vectorEnd);
      for (let i = 0; i < rows; i++) this.#folded(i).set(this.#totals[i]!);
    }
    for (let x = k - (k % v.lanes); x < k; x++) this.#single(rows);
    for (let i = 0; i < rows; i++) {
      c.get(l.c).get(l.first).get(this.#j).op('i32.add').i32(v.bytes).ops('i32.mul', 'i32.add').get(this.#totals[i]!);
      if (this.#long) c.op('f32.demote_f64');
      c.mem(v.store, (r * n + i) * v.bytes);
    }
  }

  #clear(rows: number): void {
    for (const sums of this.#sums.slice(0, rows))
      for (const sum of sums) this.#f.code.v128(new Uint8Array(16)).set(sum);
  }

  /** Sets `right` to where A's neighbour in the first row of B is. */
  #opposite(): Code {
    return this.#f.code.get(this.#left).get(this.#apart).op('i32.add').set(this.#right);
  }

  /**
   * Vectors up to an end, at least one, each added to a sum of its own. Every one may be the last: the sums leave the loop there, so the engine
   * does not put the loads of all of them first and run out of registers.
   */
  #vectors(rows: number, end: number): void {
    const [c, v] = [this.#f.code, this.#v];
    const exit = c.block();
    const top = c.loop();
    for (let u = 0; u < sumsPerRow; u++) {
      this.#opposite();
      c.get(this.#left).mem('v128.load', 0, 2).set(this.#shared);
      for (let i = 0; i < rows; i++) {
        const sum = this.#sums[i]![u]!;
        c.get(sum).get(this.#shared).get(this.#right);
        c.mem('v128.load', i * this.#rowBytes, 2)
          .ops(v.mul, v.add)
          .set(sum);
      }
      c.get(this.#left).i32(16).op('i32.add').tee(this.#left).get(end).op('i32.eq').brIf(exit);
    }
    c.br(top).end().end();
  }

  #single(rows: number): void {
    const [c, v] = [this.#f.code, this.#v];
    this.#opposite();
    for (let i = 0; i < rows; i++) {
      c.get(this.#totals[i]!).get(this.#left).mem(v.load).get(this.#right);
      c.mem(v.load, i * this.#rowBytes).op(v.scalarMul);
      c.ops(...(this.#long ? (['f64.promote_f32', 'f64.add'] as const) : [v.scalarAdd])).set(this.#totals[i]!);
    }
    c.get(this.#left).i32(v.bytes).op('i32.add').set(this.#left);
  }

  /** All lanes of the sums of a row in one value. */
  #folded(i: number): Code {
    const [c, v] = [this.#f.code, this.#v];
    const [first, ...others] = this.#sums[i]!;
    if (others.length > 0) {
      c.get(first!);
      for (const sum of others) c.get(sum).op(v.add);
      c.set(first!);
    }
    c.get(first!).lane(v.extract, 0);
    for (let lane = 1; lane < v.lanes; lane++) c.get(first!).lane(v.extract, lane).op(v.scalarAdd);
    return c;
  }

  #moveUp(i: number): void {
    this.#folded(i).op('f64.promote_f32').get(this.#totals[i]!).op('f64.add').set(this.#totals[i]!);
  }

  /** Stretches of the depth, each on its own. */
  #stretches(rows: number): void {
    const c = this.#f.code;
    const bytes = stretch * sumsPerRow * 16;
    for (let i = 0; i < rows; i++) c.f64(0).set(this.#totals[i]!);
    const top = c.loop();
    c.get(this.#left).i32(bytes).op('i32.add').get(this.#vectorEnd);
    c.get(this.#vectorEnd).get(this.#left).op('i32.sub').i32(bytes).ops('i32.gt_u', 'select').set(this.#until);
    this.#vectors(rows, this.#until);
    for (let i = 0; i < rows; i++) this.#moveUp(i);
    this.#clear(rows);
    c.get(this.#left).get(this.#vectorEnd).op('i32.lt_u').brIf(top).end();
  }
}
