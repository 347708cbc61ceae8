// Products with few rows, where packing would cost more than it saves: B is read once, as it lies.
//
// B as it is: C's rows stay in the cache while rows of B stream past, eight at a time, each scaled and added. B transposed:
// every element of C is the dot product of two rows. A matrix times a vector is the second with the operands exchanged.
// The order of the sums depends on the sizes only. Arguments and items as in gemm.ts.
//
// A long sum in one f32 register forgets what it adds: sums of f32 move to f64 after every `stretch` products.

import type { Code } from '../wasm/code.ts';
import { type Func, WasmModule } from '../wasm/module.ts';
import { address, rising, type VectorMachine, vectorMachines } from './emit.ts';
import type { Gemm, GemmShape } from './gemm.ts';

const fewRows = 4;
const rowsAtOnce = 8;
const streamColumns = 1024;
const dotColumns = 32;
/** Products added up in f32 before the sum moves to f64. */
const stretch = 256;

export interface ThinPlan {
  readonly shape: GemmShape;
  /** Operands exchanged: the buffers come as B, A, C. */
  readonly swapped: boolean;
}

/** How to compute a product without packing; null where packing is the better way. */
export function thinPlan(s: GemmShape): ThinPlan | null {
  if (s.n === 1 && s.m > fewRows) {
    const shape = {
      ...s,
      m: 1,
      n: s.m,
      batchA: s.batchB,
      batchB: s.batchA,
      // A column and a row of one element each lie the same way.
      transposeA: false,
      transposeB: !s.transposeA,
    };
    return { shape, swapped: true };
  }
  if (s.m > fewRows) return null;
  if (s.transposeB && s.transposeA && s.m > 1) return null;
  return { shape: s, swapped: false };
}

export function renderThin(plan: ThinPlan, shared: boolean): Gemm {
  const { shape } = plan;
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const blocks = Math.ceil(shape.n / (shape.transposeB ? dotColumns : streamColumns));
  emitItems(run, plan, blocks);
  const items = shape.batch * blocks;
  return { bytes: module.bytes(), items, scratchBytes: isStretched(shape) ? items * totalsBytes(shape) : 0 };
}

/** Whether rows of C are added up in stretches, with totals in f64 in the scratch. */
const isStretched = (s: GemmShape): boolean => !s.transposeB && s.type === 'f32' && s.k > stretch;

/** The totals of one item: a row for each row of C. */
const totalsBytes = (s: GemmShape): number => s.m * streamColumns * 8;

interface Locals {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  /** Columns of this item, and the first of them. */
  readonly width: number;
  readonly first: number;
  readonly totals: number;
}

function emitItems(run: Func, plan: ThinPlan, blocks: number): void {
  const { shape: s, swapped } = plan;
  const v = vectorMachines[s.type];
  const code = run.code;
  const [args, item, end] = [0, 1, 2];
  const local = (): number => run.local('i32');
  const l: Locals = { a: local(), b: local(), c: local(), width: local(), first: local(), totals: local() };
  const batch = local();
  const columns = s.transposeB ? dotColumns : streamColumns;
  rising(
    code,
    item,
    () => code.get(end),
    1,
    () => {
      code.get(item).i32(blocks).op('i32.div_u').set(batch);
      code.get(item).i32(blocks).op('i32.rem_u').i32(columns).op('i32.mul').set(l.first);
      code.i32(s.n).get(l.first).op('i32.sub').tee(l.width).i32(columns);
      code.get(l.width).i32(columns).ops('i32.lt_u', 'select').set(l.width);
      const pointer = (slot: number, stride: number, into: number): void => {
        code
          .get(args)
          .mem('i32.load', slot * 4)
          .get(batch)
          .i32(stride * v.bytes)
          .ops('i32.mul', 'i32.add')
          .set(into);
      };
      pointer(swapped ? 1 : 0, s.batchA === 1 ? 0 : s.m * s.k, l.a);
      pointer(swapped ? 0 : 1, s.batchB === 1 ? 0 : s.k * s.n, l.b);
      pointer(2, s.m * s.n, l.c);
      if (s.transposeB) dots(run, s, v, l);
      else if (isStretched(s)) {
        code.get(args).mem('i32.load', 12).get(item).i32(totalsBytes(s)).ops('i32.mul', 'i32.add').set(l.totals);
        stretches(run, s, v, l);
      } else streams(run, s, v, l);
    },
  );
}

/** Rows of B, scaled and added to rows of C. */
function streams(f: Func, s: GemmShape, v: VectorMachine, l: Locals): void {
  const c = f.code;
  const x = f.local('i32');
  const add = streaming(f, s, v, l);
  clearRows(f, s, v, l);
  c.i32(0).set(x);
  add(x, () => c.i32(s.k));
}

/** The same in stretches of the depth: C holds the sums of one, the scratch the totals in f64. */
function stretches(f: Func, s: GemmShape, v: VectorMachine, l: Locals): void {
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
function clearRows(f: Func, s: GemmShape, v: VectorMachine, l: Locals): void {
  const c = f.code;
  for (let r = 0; r < s.m; r++) {
    c.get(l.c)
      .i32(r * s.n * v.bytes)
      .op('i32.add');
    c.i32(0).get(l.width).i32(v.bytes).op('i32.mul').memoryFill();
  }
}

/** Moves the pointers to this item's columns; adds rows of B from depth `x` on, up to an end, each time it is called. */
function streaming(f: Func, s: GemmShape, v: VectorMachine, l: Locals): (x: number, end: () => void) => void {
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

/** Dot products of rows of A with rows of B; A's rows are contiguous here. */
function dots(f: Func, s: GemmShape, v: VectorMachine, l: Locals): void {
  const c = f.code;
  const local = (): number => f.local('i32');
  const [j, x, left, right] = [local(), local(), local(), local()];
  const sums = Array.from({ length: 4 }, () => f.local('v128'));
  const blocked = s.type === 'f32' && s.k > stretch;
  const total = f.local(blocked ? 'f64' : v.value);
  const until = local();
  c.i32(0).set(j);
  const step = v.lanes * sums.length;
  const products = (count: number): void => {
    for (let u = 0; u < count; u++) {
      c.get(sums[u]!)
        .get(left)
        .mem('v128.load', u * 16, 2)
        .get(right)
        .mem('v128.load', u * 16, 2);
      c.ops(v.mul, v.add).set(sums[u]!);
    }
    for (const p of [left, right])
      c.get(p)
        .i32(count * 16)
        .op('i32.add')
        .set(p);
  };
  /** All lanes of all sums in one value. */
  const folded = (): Code => {
    c.get(sums[0]!).get(sums[1]!).op(v.add).get(sums[2]!).get(sums[3]!).op(v.add).op(v.add).set(sums[0]!);
    c.get(sums[0]!).lane(v.extract, 0);
    for (let lane = 1; lane < v.lanes; lane++) c.get(sums[0]!).lane(v.extract, lane).op(v.scalarAdd);
    return c;
  };
  const moveUp = (): void => {
    c.get(total);
    folded().ops('f64.promote_f32', 'f64.add').set(total);
  };
  /** Whole stretches of the depth, each on its own. */
  const inStretches = (): void => {
    const length = stretch * step;
    c.f64(0).set(total).i32(length).set(until);
    rising(
      c,
      until,
      () => c.i32(s.k + 1),
      length,
      () => {
        rising(
          c,
          x,
          () => c.get(until),
          step,
          () => products(sums.length),
        );
        moveUp();
        for (const sum of sums) c.v128(new Uint8Array(16)).set(sum);
      },
    );
  };
  rising(
    c,
    j,
    () => c.get(l.width),
    1,
    () => {
      for (let r = 0; r < s.m; r++) {
        c.get(l.a)
          .i32(r * s.k * v.bytes)
          .op('i32.add')
          .set(left);
        c.get(l.b)
          .get(l.first)
          .get(j)
          .op('i32.add')
          .i32(s.k * v.bytes)
          .ops('i32.mul', 'i32.add')
          .set(right);
        for (const sum of sums) c.v128(new Uint8Array(16)).set(sum);
        c.i32(0).set(x);
        if (blocked) inStretches();
        rising(
          c,
          x,
          () => c.i32(s.k - (s.k % step)),
          step,
          () => products(sums.length),
        );
        rising(
          c,
          x,
          () => c.i32(s.k - (s.k % v.lanes)),
          v.lanes,
          () => products(1),
        );
        if (blocked) moveUp();
        else folded().set(total);
        rising(
          c,
          x,
          () => c.i32(s.k),
          1,
          () => {
            c.get(total).get(left).mem(v.load).get(right).mem(v.load).op(v.scalarMul);
            c.ops(...(blocked ? (['f64.promote_f32', 'f64.add'] as const) : [v.scalarAdd])).set(total);
            for (const p of [left, right]) c.get(p).i32(v.bytes).op('i32.add').set(p);
          },
        );
        c.get(l.c).get(l.first).get(j).op('i32.add').i32(v.bytes).ops('i32.mul', 'i32.add').get(total);
        if (blocked) c.op('f32.demote_f64');
        c.mem(v.store, r * s.n * v.bytes);
      }
    },
  );
}
