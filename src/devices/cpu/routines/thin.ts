// Products with few rows, where packing would cost more than it saves: B is read once, as it lies.
//
// B as it is: C's rows stay in the cache while rows of B stream past (streams.ts). B transposed: every element of C is the dot
// product of two rows (dots.ts). A matrix times a vector is the second with the operands exchanged. The order of the sums depends
// on the sizes only. Arguments and items as in gemm.ts.

import { type Func, WasmModule } from '../wasm/module.ts';
import { dotColumns, dots } from './dots.ts';
import { rising, vectorMachines } from './emit.ts';
import type { Gemm } from './gemm.ts';
import { type GemmShape, isSmall } from './gemm-plan.ts';
import { isStretched, streamColumns, streams, stretches, totalsBytes } from './streams.ts';

const fewRows = 4;

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
  if (s.m > fewRows || (s.m > 1 && isSmall(s))) return null;
  // One column lies as one row does.
  if (s.n === 1 && (s.m === 1 || !s.transposeA))
    return { shape: { ...s, transposeA: false, transposeB: true }, swapped: false };
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

/** Locals of an item of a thin product. */
export interface ThinLocals {
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
  const l: ThinLocals = { a: local(), b: local(), c: local(), width: local(), first: local(), totals: local() };
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
