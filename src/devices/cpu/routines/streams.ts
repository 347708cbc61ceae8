// Thin products whose B lies as it is: C's rows stay in the cache while rows of B stream past, eight at a time, each scaled and added.
//
// A long sum in one f32 register forgets what it adds: sums of f32 move to f64 after every `stretch` products.

import type { Func } from '../wasm/module.ts';
import { address, rising, type VectorMachine } from './emit.ts';
import type { GemmShape } from './gemm-plan.ts';
import type { ThinLocals } from './thin.ts';

const rowsAtOnce = 8;
/** Columns of one item. */
export const streamColumns = 1024;
/** Products added up in f32 before the sum moves to f64. */
const stretch = 256;

/** Whether rows of C are added up in stretches, with totals in f64 in the scratch. */
export const isStretched = (s: GemmShape): boolean => !s.transposeB && s.type === 'f32' && s.k > stretch;

/** The totals of one item: a row for each row of C. */
export const totalsBytes = (s: GemmShape): number => s.m * streamColumns * 8;

/** Rows of B, scaled and added to rows of C. */
export function streams(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): void {
  const c = f.code;
  const x = f.local('i32');
  const add = streaming(f, s, v, l);
  clearRows(f, s, v, l);
  c.i32(0).set(x);
  add(x, () => c.i32(s.k));
}

/** The same in stretches of the depth: C holds the sums of one, the scratch the totals in f64. */
export function stretches(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): void {
  const c = f.code;
  const local = (): number => f.local('i32');
  const [x, until, from, to, end] = [local(), local(), local(), local(), local()];
  const add = streaming(f, s, v, l);
  c.get(l.totals).i32(0).i32(totalsBytes(s)).memoryFill();
  /** Walks the rows of C and their totals together. */
  const rows = (body: () => void): void => {
    for (let r = 0; r < s.m; r++) {
      c.get(l.c)
        .i32(r * s.n * v.bytes)
        .op('i32.add')
        .tee(from);
      c.get(l.width).i32(v.bytes).ops('i32.mul', 'i32.add').set(end);
      c.get(l.totals)
        .i32(r * streamColumns * 8)
        .op('i32.add')
        .set(to);
      rising(
        c,
        from,
        () => c.get(end),
        v.bytes,
        () => {
          body();
          c.get(to).i32(8).op('i32.add').set(to);
        },
      );
    }
  };
  c.i32(0).set(x).i32(0).set(until);
  rising(
    c,
    until,
    () => c.i32(s.k),
    0,
    () => {
      c.get(until).i32(stretch).op('i32.add').i32(s.k).i32(s.k).get(until).op('i32.sub').i32(stretch);
      c.ops('i32.gt_u', 'select').set(until);
      clearRows(f, s, v, l);
      add(x, () => c.get(until));
      rows(() => {
        c.get(to).get(to).mem('f64.load').get(from).mem('f32.load').ops('f64.promote_f32', 'f64.add').mem('f64.store');
      });
    },
  );
  rows(() => c.get(from).get(to).mem('f64.load').op('f32.demote_f64').mem('f32.store'));
}

/** Zeros in the columns of C that belong to this item. */
function clearRows(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): void {
  const c = f.code;
  for (let r = 0; r < s.m; r++) {
    c.get(l.c)
      .i32(r * s.n * v.bytes)
      .op('i32.add');
    c.i32(0).get(l.width).i32(v.bytes).op('i32.mul').memoryFill();
  }
}

/** Moves the pointers to this item's columns; adds rows of B from depth `x` on, up to an end, each time it is called. */
function streaming(f: Func, s: GemmShape, v: VectorMachine, l: ThinLocals): (x: number, end: () => void) => void {
  const c = f.code;
  const local = (): number => f.local('i32');
  const [from, to, vectorEnd, end] = [local(), local(), local(), local()];
  const scales = Array.from({ length: rowsAtOnce }, () => f.local('v128'));
  const [rowStep, depthStep] = s.transposeA ? [v.bytes, s.m * v.bytes] : [s.k * v.bytes, v.bytes];
  const rowBytes = s.n * v.bytes;
  address(c, l.b, l.first, v.bytes).set(l.b);
  address(c, l.c, l.first, v.bytes).set(l.c);
  const addRows = (rows: number): void => {
    for (let r = 0; r < s.m; r++) {
      for (let u = 0; u < rows; u++)
        c.get(l.a)
          .mem(v.splatLoad, r * rowStep + u * depthStep)
          .set(scales[u]!);
      c.get(l.b).set(from);
      c.get(l.c)
        .i32(r * rowBytes)
        .op('i32.add')
        .tee(to);
      c.get(l.width).i32(-v.lanes).op('i32.and').i32(v.bytes).ops('i32.mul', 'i32.add').set(vectorEnd);
      c.get(l.c)
        .i32(r * rowBytes)
        .op('i32.add')
        .get(l.width)
        .i32(v.bytes)
        .ops('i32.mul', 'i32.add')
        .set(end);
      const advance = (by: number): void => {
        c.get(from).i32(by).op('i32.add').set(from);
      };
      rising(
        c,
        to,
        () => c.get(vectorEnd),
        16,
        () => {
          c.get(to).get(to).mem('v128.load', 0, 2);
          for (let u = 0; u < rows; u++)
            c.get(scales[u]!)
              .get(from)
              .mem('v128.load', u * rowBytes, 2)
              .ops(v.mul, v.add);
          c.mem('v128.store', 0, 2);
          advance(16);
        },
      );
      rising(
        c,
        to,
        () => c.get(end),
        v.bytes,
        () => {
          c.get(to).get(to).mem(v.load);
          for (let u = 0; u < rows; u++) {
            c.get(scales[u]!)
              .lane(v.extract, 0)
              .get(from)
              .mem(v.load, u * rowBytes)
              .ops(v.scalarMul, v.scalarAdd);
          }
          c.mem(v.store);
          advance(v.bytes);
        },
      );
    }
    c.get(l.a)
      .i32(rows * depthStep)
      .op('i32.add')
      .set(l.a);
    c.get(l.b)
      .i32(rows * rowBytes)
      .op('i32.add')
      .set(l.b);
  };
  return (x, last) => {
    rising(
      c,
      x,
      () => {
        // The last whole group of rows; stretches are whole groups but for the end of the depth.
        last();
        c.i32(-rowsAtOnce).op('i32.and');
      },
      rowsAtOnce,
      () => addRows(rowsAtOnce),
    );
    rising(c, x, last, 1, () => addRows(1));
  };
}
