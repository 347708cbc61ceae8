// Thin products whose B is transposed: every element of C is the dot product of a row of A and a row of B, both contiguous.
//
// Four rows of B are read at once: they share what is read of A, and the memory is asked for four streams. Each row has sums of
// its own in registers, the same for a row alone, so results do not depend on its neighbours. Sums of f32 move to f64 after every
// `stretch` additions: a long sum in one f32 register forgets what it adds.

import type { Code } from '../wasm/code.ts';
import type { Func } from '../wasm/module.ts';
import { rising, type VectorMachine } from './emit.ts';
import type { GemmShape } from './gemm.ts';
import type { ThinLocals } from './thin.ts';

/** Columns of C of one item. */
export const dotColumns = 32;
const rowsAtOnce = 4;
/** Vectors that a row takes in at one step, each into a sum of its own. */
const vectors = 2;
const stretch = 256;

export function dots(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): void {
  const c = f.code;
  const j = f.local('i32');
  const long = s.type === 'f32' && s.k > stretch;
  const group = new DotGroup(f, s, v, l, j, long);
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
  readonly #x: number;
  readonly #until: number;
  readonly #left: number;
  readonly #right: number;
  readonly #shared: readonly number[];
  /** Of each row: its sums, and the total of its stretches. */
  readonly #sums: readonly (readonly number[])[];
  readonly #totals: readonly number[];

  constructor(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals, j: number, long: boolean) {
    const local = (): number => f.local('i32');
    const vector = (): number => f.local('v128');
    this.#f = f;
    this.#s = s;
    this.#v = v;
    this.#l = l;
    this.#j = j;
    this.#long = long;
    [this.#x, this.#until, this.#left, this.#right] = [local(), local(), local(), local()];
    this.#shared = Array.from({ length: vectors }, vector);
    this.#sums = Array.from({ length: rowsAtOnce }, () => Array.from({ length: vectors }, vector));
    this.#totals = Array.from({ length: rowsAtOnce }, () => f.local(long ? 'f64' : v.value));
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
    const step = v.lanes * vectors;
    c.get(l.a)
      .i32(r * this.#rowBytes)
      .op('i32.add')
      .set(this.#left);
    c.get(l.b).get(l.first).get(this.#j).op('i32.add').i32(this.#rowBytes).ops('i32.mul', 'i32.add').set(this.#right);
    this.#clear(rows);
    c.i32(0).set(this.#x);
    if (this.#long) this.#stretches(rows, step);
    this.#walk(
      () => c.i32(k - (k % step)),
      step,
      () => this.#products(rows, vectors),
    );
    this.#walk(
      () => c.i32(k - (k % v.lanes)),
      v.lanes,
      () => this.#products(rows, 1),
    );
    for (let i = 0; i < rows; i++) {
      if (this.#long) this.#moveUp(i);
      else this.#folded(i).set(this.#totals[i]!);
    }
    this.#walk(
      () => c.i32(k),
      1,
      () => this.#single(rows),
    );
    for (let i = 0; i < rows; i++) {
      c.get(l.c).get(l.first).get(this.#j).op('i32.add').i32(v.bytes).ops('i32.mul', 'i32.add').get(this.#totals[i]!);
      if (this.#long) c.op('f32.demote_f64');
      c.mem(v.store, (r * n + i) * v.bytes);
    }
  }

  #walk(end: () => void, step: number, body: () => void): void {
    rising(this.#f.code, this.#x, end, step, body);
  }

  #clear(rows: number): void {
    const c = this.#f.code;
    for (const sums of this.#sums.slice(0, rows)) for (const sum of sums) c.v128(new Uint8Array(16)).set(sum);
  }

  #advance(bytes: number): void {
    const c = this.#f.code;
    for (const p of [this.#left, this.#right]) c.get(p).i32(bytes).op('i32.add').set(p);
  }

  #products(rows: number, count: number): void {
    const [c, v] = [this.#f.code, this.#v];
    for (let u = 0; u < count; u++) {
      c.get(this.#left)
        .mem('v128.load', u * 16, 2)
        .set(this.#shared[u]!);
      for (let i = 0; i < rows; i++) {
        const sum = this.#sums[i]![u]!;
        c.get(sum).get(this.#shared[u]!).get(this.#right);
        c.mem('v128.load', i * this.#rowBytes + u * 16, 2)
          .ops(v.mul, v.add)
          .set(sum);
      }
    }
    this.#advance(count * 16);
  }

  #single(rows: number): void {
    const [c, v] = [this.#f.code, this.#v];
    for (let i = 0; i < rows; i++) {
      c.get(this.#totals[i]!).get(this.#left).mem(v.load).get(this.#right);
      c.mem(v.load, i * this.#rowBytes).op(v.scalarMul);
      c.ops(...(this.#long ? (['f64.promote_f32', 'f64.add'] as const) : [v.scalarAdd])).set(this.#totals[i]!);
    }
    this.#advance(v.bytes);
  }

  /** All lanes of the sums of a row in one value. */
  #folded(i: number): Code {
    const [c, v] = [this.#f.code, this.#v];
    const [first, ...others] = this.#sums[i]! as [number, ...number[]];
    for (const sum of others) c.get(first).get(sum).op(v.add).set(first);
    c.get(first).lane(v.extract, 0);
    for (let lane = 1; lane < v.lanes; lane++) c.get(first).lane(v.extract, lane).op(v.scalarAdd);
    return c;
  }

  #moveUp(i: number): void {
    this.#f.code.get(this.#totals[i]!);
    this.#folded(i).ops('f64.promote_f32', 'f64.add').set(this.#totals[i]!);
  }

  /** Whole stretches of the depth, each on its own. */
  #stretches(rows: number, step: number): void {
    const c = this.#f.code;
    const length = stretch * step;
    for (let i = 0; i < rows; i++) c.f64(0).set(this.#totals[i]!);
    c.i32(length).set(this.#until);
    rising(
      c,
      this.#until,
      () => c.i32(this.#s.k + 1),
      length,
      () => {
        this.#walk(
          () => c.get(this.#until),
          step,
          () => this.#products(rows, vectors),
        );
        for (let i = 0; i < rows; i++) this.#moveUp(i);
        this.#clear(rows);
      },
    );
  }
}
