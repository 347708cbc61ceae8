// Sort keys: values as unsigned integers whose order is the order wanted.
//
// The sign bit of integers flips, negative floats are complemented, -0 counts as 0, a descending sort complements the
// key, and NaN is the largest key in either direction.

import type { DType } from '../../../../base/dtype.ts';
import type { Code } from '../../wasm/code.ts';
import { address, machines } from '../emit.ts';

export interface KeyInfo {
  readonly word: 'i32' | 'i64';
  /** Bits of the value's own type are moved up by this many, so that the sign is on top. */
  readonly shift: number;
  /** The bytes of the key that can differ. */
  readonly digits: readonly number[];
  readonly kind: 'unsigned' | 'signed' | 'float';
  /** The bits of infinity, moved up. */
  readonly infinity?: bigint;
}

export const keys: Readonly<Record<DType, KeyInfo>> = {
  bool: { word: 'i32', shift: 0, digits: [0], kind: 'unsigned' },
  u8: { word: 'i32', shift: 0, digits: [0], kind: 'unsigned' },
  i32: { word: 'i32', shift: 0, digits: [0, 1, 2, 3], kind: 'signed' },
  u32: { word: 'i32', shift: 0, digits: [0, 1, 2, 3], kind: 'unsigned' },
  i64: { word: 'i64', shift: 0, digits: [0, 1, 2, 3, 4, 5, 6, 7], kind: 'signed' },
  u64: { word: 'i64', shift: 0, digits: [0, 1, 2, 3, 4, 5, 6, 7], kind: 'unsigned' },
  f16: { word: 'i32', shift: 16, digits: [2, 3], kind: 'float', infinity: 0x7c000000n },
  bf16: { word: 'i32', shift: 16, digits: [2, 3], kind: 'float', infinity: 0x7f800000n },
  f32: { word: 'i32', shift: 0, digits: [0, 1, 2, 3], kind: 'float', infinity: 0x7f800000n },
  f64: { word: 'i64', shift: 0, digits: [0, 1, 2, 3, 4, 5, 6, 7], kind: 'float', infinity: 0x7ff0000000000000n },
};

export interface KeyOrder {
  readonly type: DType;
  readonly descending: boolean;
}

export interface KeyLocals {
  /** Address of the values, and the position to look at. */
  readonly input: number;
  readonly i: number;
  /** A local of the key's word; holds the value's bits afterwards. */
  readonly bits: number;
}

/** Leaves the key of the value at input[i] on the stack. */
export function emitKey(c: Code, p: KeyOrder, l: KeyLocals): void {
  const { word, kind, shift, infinity } = keys[p.type];
  const load = machines[p.type];
  const number = (v: bigint): Code => (word === 'i64' ? c.i64(v) : c.i32(Number(BigInt.asIntN(32, v))));
  const sign = word === 'i64' ? 1n << 63n : 1n << 31n;
  const flip = (): void => {
    if (p.descending) {
      number(-1n);
      c.op(`${word}.xor`);
    }
  };
  address(c, l.input, l.i, load.bytes);
  if (kind !== 'float') {
    c.mem(load.load);
    if (kind === 'signed') {
      number(sign);
      c.op(`${word}.xor`);
    }
    flip();
    return;
  }
  c.mem(load.bytes === 2 ? 'i32.load16_u' : word === 'i64' ? 'i64.load' : 'i32.load');
  if (shift) c.i32(shift).op('i32.shl');
  c.set(l.bits);
  // -0 counts as 0.
  number(0n);
  c.get(l.bits).get(l.bits);
  number(sign);
  c.ops(`${word}.eq`, 'select').set(l.bits);
  // Negative: bits ^ -1; else bits ^ sign.
  c.get(l.bits);
  number(-1n);
  number(sign);
  c.get(l.bits);
  number(0n);
  c.ops(`${word}.lt_s`, 'select', `${word}.xor`);
  flip();
  // NaN: the largest key.
  number(-1n);
  c.get(l.bits);
  number(sign - 1n);
  c.op(`${word}.and`);
  number(infinity!);
  c.ops(`${word}.le_u`, 'select');
}

/** Turns the key in a local back into the value's bits and leaves them on the stack. Not for NaN, nor for what was -0. */
export function emitValue(c: Code, p: KeyOrder, key: number): void {
  const { word, kind, shift } = keys[p.type];
  const number = (v: bigint): Code => (word === 'i64' ? c.i64(v) : c.i32(Number(BigInt.asIntN(32, v))));
  const sign = word === 'i64' ? 1n << 63n : 1n << 31n;
  if (p.descending) {
    c.get(key);
    number(-1n);
    c.op(`${word}.xor`).set(key);
  }
  c.get(key);
  if (kind === 'signed') {
    number(sign);
    c.op(`${word}.xor`);
  } else if (kind === 'float') {
    number(sign);
    number(-1n);
    c.get(key);
    number(0n);
    c.ops(`${word}.lt_s`, 'select', `${word}.xor`);
  }
  if (shift) c.i32(shift).op('i32.shr_u');
}

/** Whether keys can be made several at a time: the value fills its key. */
export const inVectors = (type: DType): boolean => keys[type].shift === 0 && machines[type].bytes >= 4;

const sameBytes = (word: 'i32' | 'i64', v: bigint): Uint8Array => {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < 16; at += word === 'i64' ? 8 : 4) {
    if (word === 'i64') view.setBigInt64(at, BigInt.asIntN(64, v), true);
    else view.setInt32(at, Number(BigInt.asIntN(32, v)), true);
  }
  return bytes;
};

/** Constants and comparisons of vectors of keys. */
function vectorKeys(word: 'i32' | 'i64') {
  const shape = word === 'i64' ? 'i64x2' : 'i32x4';
  return {
    sign: sameBytes(word, word === 'i64' ? 1n << 63n : 1n << 31n),
    ones: sameBytes(word, -1n),
    zero: new Uint8Array(16),
    eq: `${shape}.eq`,
    lt: `${shape}.lt_s`,
    differs: word === 'i64' ? 'f64x2.ne' : 'f32x4.ne',
  } as const;
}

/**
 * Leaves the keys of a vector of values on the stack. `bits` holds the values and is changed; what a key does not keep, NaN and -0,
 * is noted in `lost`.
 */
export function emitVectorKeys(c: Code, p: KeyOrder, bits: number, lost: number): void {
  const { word, kind } = keys[p.type];
  const v = vectorKeys(word);
  const turn = (): void => {
    if (p.descending) c.v128(v.ones).op('v128.xor');
  };
  if (kind !== 'float') {
    c.get(bits);
    if (kind === 'signed') c.v128(v.sign).op('v128.xor');
    turn();
    return;
  }
  // -0 becomes 0.
  c.get(lost).get(bits).v128(v.sign).op(v.eq).op('v128.or').set(lost);
  c.get(bits).get(bits).v128(v.sign).ops(v.eq, 'v128.andnot').set(bits);
  c.get(bits).get(bits).v128(v.zero).op(v.lt).v128(v.sign).ops('v128.or', 'v128.xor');
  turn();
  c.get(bits).get(bits).op(v.differs).op('v128.or');
  c.get(lost).get(bits).get(bits).op(v.differs).op('v128.or').set(lost);
}

/** Leaves the values of a vector of keys on the stack. */
export function emitVectorValues(c: Code, p: KeyOrder, key: number): void {
  const { word, kind } = keys[p.type];
  const v = vectorKeys(word);
  if (p.descending) c.get(key).v128(v.ones).op('v128.xor').set(key);
  c.get(key);
  if (kind === 'signed') c.v128(v.sign).op('v128.xor');
  else if (kind === 'float') c.get(key).v128(v.zero).ops(v.lt, 'v128.not').v128(v.sign).ops('v128.or', 'v128.xor');
}

/** The key of zero. */
export function zeroKey(p: KeyOrder): bigint {
  const sign = keys[p.type].word === 'i64' ? 1n << 63n : 1n << 31n;
  return p.descending ? sign - 1n : sign;
}
