// Small building blocks for hand-written WebAssembly: loops, and the instructions of each element type by role.

import type { DType } from '../../../base/dtype.ts';
import type { Code } from '../wasm/code.ts';
import type { LaneOp, MemoryOp, PlainOp } from '../wasm/ops.ts';

/** while (i < end) { body; i += step }, both unsigned. */
export function rising(c: Code, i: number, end: () => void, step: number, body: () => void): void {
  const exit = c.block();
  const top = c.loop();
  c.get(i);
  end();
  c.op('i32.ge_u').brIf(exit);
  body();
  c.get(i).i32(step).op('i32.add').set(i).br(top);
  c.end().end();
}

/**
 * Walks addresses from `at` to `end`, `bytes` apart. Most turns do four of them, which saves the loop's own steps: the body is given how
 * far behind `at` its element lies. `whole` is a local to work in.
 */
export function fourfold(
  c: Code,
  l: { readonly at: number; readonly end: number; readonly whole: number },
  bytes: number,
  body: (offset: number) => void,
): void {
  const turn = 4 * bytes;
  c.get(l.end).get(l.at).op('i32.sub').i32(-turn).op('i32.and').get(l.at).op('i32.add').set(l.whole);
  rising(
    c,
    l.at,
    () => c.get(l.whole),
    turn,
    () => {
      for (let i = 0; i < 4; i++) body(i * bytes);
    },
  );
  rising(
    c,
    l.at,
    () => c.get(l.end),
    bytes,
    () => body(0),
  );
}

/** target = base + index · factor */
export function address(c: Code, base: number, index: number, factor: number): Code {
  return c.get(base).get(index).i32(factor).ops('i32.mul', 'i32.add');
}

/** The next multiple of a cache line. */
export const aligned = (bytes: number): number => (bytes + 63) & ~63;

/** The instructions that handle one element type. */
export interface Machine {
  readonly bytes: 1 | 2 | 4 | 8;
  readonly lanes: number;
  readonly value: 'i32' | 'i64' | 'f32' | 'f64';
  readonly load: MemoryOp;
  readonly store: MemoryOp;
}

/** Types that matrix products are computed in. */
export interface VectorMachine extends Machine {
  readonly splatLoad: MemoryOp;
  readonly extract: LaneOp;
  readonly add: PlainOp;
  readonly scalarAdd: PlainOp;
  readonly scalarMul: PlainOp;
  readonly mul: PlainOp;
  /** a · b + c with one rounding, where the engine has it. */
  readonly fused: PlainOp | null;
}

export const vectorMachines: Readonly<Record<'f32' | 'f64' | 'i32' | 'i64', VectorMachine>> = {
  f32: {
    bytes: 4,
    lanes: 4,
    value: 'f32',
    load: 'f32.load',
    store: 'f32.store',
    splatLoad: 'v128.load32_splat',
    extract: 'f32x4.extract_lane',
    add: 'f32x4.add',
    scalarAdd: 'f32.add',
    scalarMul: 'f32.mul',
    mul: 'f32x4.mul',
    fused: 'f32x4.relaxed_madd',
  },
  f64: {
    bytes: 8,
    lanes: 2,
    value: 'f64',
    load: 'f64.load',
    store: 'f64.store',
    splatLoad: 'v128.load64_splat',
    extract: 'f64x2.extract_lane',
    add: 'f64x2.add',
    scalarAdd: 'f64.add',
    scalarMul: 'f64.mul',
    mul: 'f64x2.mul',
    fused: 'f64x2.relaxed_madd',
  },
  i32: {
    bytes: 4,
    lanes: 4,
    value: 'i32',
    load: 'i32.load',
    store: 'i32.store',
    splatLoad: 'v128.load32_splat',
    extract: 'i32x4.extract_lane',
    add: 'i32x4.add',
    scalarAdd: 'i32.add',
    scalarMul: 'i32.mul',
    mul: 'i32x4.mul',
    fused: null,
  },
  i64: {
    bytes: 8,
    lanes: 2,
    value: 'i64',
    load: 'i64.load',
    store: 'i64.store',
    splatLoad: 'v128.load64_splat',
    extract: 'i64x2.extract_lane',
    add: 'i64x2.add',
    scalarAdd: 'i64.add',
    scalarMul: 'i64.mul',
    mul: 'i64x2.mul',
    fused: null,
  },
};

/** How elements of each type are loaded and stored as they are. */
export const machines: Readonly<Record<DType, Machine>> = {
  bool: { bytes: 1, lanes: 16, value: 'i32', load: 'i32.load8_u', store: 'i32.store8' },
  u8: { bytes: 1, lanes: 16, value: 'i32', load: 'i32.load8_u', store: 'i32.store8' },
  i32: { bytes: 4, lanes: 4, value: 'i32', load: 'i32.load', store: 'i32.store' },
  u32: { bytes: 4, lanes: 4, value: 'i32', load: 'i32.load', store: 'i32.store' },
  i64: { bytes: 8, lanes: 2, value: 'i64', load: 'i64.load', store: 'i64.store' },
  u64: { bytes: 8, lanes: 2, value: 'i64', load: 'i64.load', store: 'i64.store' },
  f16: { bytes: 2, lanes: 8, value: 'i32', load: 'i32.load16_u', store: 'i32.store16' },
  bf16: { bytes: 2, lanes: 8, value: 'i32', load: 'i32.load16_u', store: 'i32.store16' },
  f32: { bytes: 4, lanes: 4, value: 'f32', load: 'f32.load', store: 'f32.store' },
  f64: { bytes: 8, lanes: 2, value: 'f64', load: 'f64.load', store: 'f64.store' },
};
