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

type Value = Machine['value'];

const machine = (
  bytes: Machine['bytes'],
  value: Value,
  load: MemoryOp = `${value}.load`,
  store: MemoryOp = `${value}.store`,
): Machine => ({ bytes, lanes: 16 / bytes, value, load, store });

const [byte, half] = [machine(1, 'i32', 'i32.load8_u', 'i32.store8'), machine(2, 'i32', 'i32.load16_u', 'i32.store16')];
const [word, long] = [machine(4, 'i32'), machine(8, 'i64')];

/** How elements of each type are loaded and stored as they are. */
export const machines: Readonly<Record<DType, Machine>> = {
  bool: byte,
  u8: byte,
  i32: word,
  u32: word,
  i64: long,
  u64: long,
  f16: half,
  bf16: half,
  f32: machine(4, 'f32'),
  f64: machine(8, 'f64'),
};

function vectorMachine(value: Value, shape: `${Value}x4` | `${Value}x2`, fused: PlainOp | null): VectorMachine {
  const of = machines[value];
  return {
    ...of,
    splatLoad: of.bytes === 4 ? 'v128.load32_splat' : 'v128.load64_splat',
    extract: `${shape}.extract_lane` as LaneOp,
    add: `${shape}.add` as PlainOp,
    scalarAdd: `${value}.add`,
    scalarMul: `${value}.mul`,
    mul: `${shape}.mul` as PlainOp,
    fused,
  };
}

export const vectorMachines: Readonly<Record<Value, VectorMachine>> = {
  f32: vectorMachine('f32', 'f32x4', 'f32x4.relaxed_madd'),
  f64: vectorMachine('f64', 'f64x2', 'f64x2.relaxed_madd'),
  i32: vectorMachine('i32', 'i32x4', null),
  i64: vectorMachine('i64', 'i64x2', null),
};
