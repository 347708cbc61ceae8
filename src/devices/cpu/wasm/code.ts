// Instructions of one function, or of a part of one.
//
// `Code` is a straight sequence that can be spliced into another with `append`, so a caller may fill several parts in any
// order (a loop's head while its body is being written). Blocks give a label when opened; branches name the label and the
// nesting depth is worked out here. A label holds only within the part that opened it.

import { Bytes } from './bytes.ts';
import {
  blockOps,
  type LaneOp,
  laneOps,
  type MemoryLaneOp,
  type MemoryOp,
  memoryLaneOps,
  memoryOps,
  numberOps,
  type PlainOp,
  plainOps,
  specialOps,
} from './ops.ts';

export type ValType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

export const valTypes: Readonly<Record<ValType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b };

/** An open block: its nesting depth. */
export type Label = number;

export class Code {
  readonly #bytes = new Bytes();
  #depth = 0;

  get length(): number {
    return this.#bytes.length;
  }

  /** The encoded instructions, without the function's final `end`. */
  bytes(): Uint8Array {
    if (this.#depth !== 0) throw new Error(`wasm: ${this.#depth} blocks are still open`);
    return this.#bytes.view();
  }

  #opcode(code: number): void {
    if (code < 0x10000) this.#bytes.u8(code);
    else {
      this.#bytes.u8(code >> 16);
      this.#bytes.unsigned(code & 0xffff);
    }
  }

  op(name: PlainOp): this {
    this.#opcode(plainOps[name]);
    return this;
  }

  /** Several instructions without immediates, one after the other. */
  ops(...names: readonly PlainOp[]): this {
    for (const name of names) this.#opcode(plainOps[name]);
    return this;
  }

  /** A load or store. `align` is log2 of the promised alignment, a hint that must not exceed the natural one. */
  mem(name: MemoryOp, offset = 0, align: number = memoryOps[name].align): this {
    this.#opcode(memoryOps[name].code);
    this.#bytes.unsigned(align);
    this.#bytes.unsigned(offset);
    return this;
  }

  memLane(name: MemoryLaneOp, lane: number, offset = 0, align: number = memoryLaneOps[name].align): this {
    this.#opcode(memoryLaneOps[name].code);
    this.#bytes.unsigned(align);
    this.#bytes.unsigned(offset);
    this.#bytes.u8(lane);
    return this;
  }

  lane(name: LaneOp, lane: number): this {
    this.#opcode(laneOps[name]);
    this.#bytes.u8(lane);
    return this;
  }

  #number(name: keyof typeof numberOps, value: number): this {
    this.#opcode(numberOps[name]);
    this.#bytes.unsigned(value);
    return this;
  }

  get(local: number): this {
    return this.#number('local.get', local);
  }

  set(local: number): this {
    return this.#number('local.set', local);
  }

  tee(local: number): this {
    return this.#number('local.tee', local);
  }

  call(func: number): this {
    return this.#number('call', func);
  }

  memoryFill(): this {
    return this.#number('memory.fill', 0);
  }

  fence(): this {
    return this.#number('atomic.fence', 0);
  }

  memoryCopy(): this {
    this.#opcode(specialOps['memory.copy']);
    this.#bytes.u8(0);
    this.#bytes.u8(0);
    return this;
  }

  i32(value: number): this {
    this.#opcode(specialOps['i32.const']);
    this.#bytes.signed(value);
    return this;
  }

  i64(value: bigint): this {
    this.#opcode(specialOps['i64.const']);
    this.#bytes.signed64(value);
    return this;
  }

  f32(value: number): this {
    this.#opcode(specialOps['f32.const']);
    this.#bytes.f32(value);
    return this;
  }

  f64(value: number): this {
    this.#opcode(specialOps['f64.const']);
    this.#bytes.f64(value);
    return this;
  }

  /** A vector constant: 16 bytes. */
  v128(bytes: ArrayLike<number>): this {
    this.#opcode(specialOps['v128.const']);
    this.#bytes.raw(bytes);
    return this;
  }

  /** Picks 16 bytes out of two vectors: 0–15 from the first, 16–31 from the second. */
  shuffle(lanes: readonly number[]): this {
    this.#opcode(specialOps['i8x16.shuffle']);
    this.#bytes.raw(lanes);
    return this;
  }

  #open(kind: keyof typeof blockOps, result?: ValType): Label {
    this.#opcode(blockOps[kind]);
    this.#bytes.u8(result ? valTypes[result] : 0x40);
    return this.#depth++;
  }

  block(result?: ValType): Label {
    return this.#open('block', result);
  }

  loop(result?: ValType): Label {
    return this.#open('loop', result);
  }

  if(result?: ValType): Label {
    return this.#open('if', result);
  }

  else(): this {
    this.#opcode(specialOps.else);
    return this;
  }

  end(): this {
    this.#depth--;
    this.#opcode(specialOps.end);
    return this;
  }

  br(label: Label): this {
    return this.#number('br', this.#depth - 1 - label);
  }

  brIf(label: Label): this {
    return this.#number('br_if', this.#depth - 1 - label);
  }

  /** Leaves the part itself: for the block around the place where it is spliced in, or for one further out. */
  leaveIf(levels: number): this {
    return this.#number('br_if', this.#depth + levels);
  }

  /** Splices in a part whose blocks are all closed. */
  append(part: Code): this {
    this.#bytes.raw(part.bytes());
    return this;
  }
}
