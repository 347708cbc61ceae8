// Accumulators in registers: where they start, how two are combined, how they travel between threads.
//
// The state of an accumulator is one register, or for argmax and argmin two: the best value and its position. Combining
// is commutative, and associative up to rounding; every order used here is fixed by the kernel's sizes, so results are the
// same on every run.

import type { DType } from '../../../base/dtype.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import { type AluOp, combineOp, type ReduceOp } from '../../../kernel/ops.ts';
import { type AluContext, emitAlu } from './alu.ts';
import type { Block, RegKind } from './code.ts';
import { bitsSuffix, type IndexBits, isFloatType, kindOf, literal, suffixOf } from './types.ts';

export type State = readonly string[];

export const isArg = (op: ReduceOp): op is 'argmax' | 'argmin' => op === 'argmax' || op === 'argmin';

/** The register kinds of an accumulator's state. */
export function stateKinds(acc: Accumulator, bits: IndexBits): readonly RegKind[] {
  const value = kindOf(acc.type, bits);
  return isArg(acc.op) ? [value, kindOf('index', bits)] : [value];
}

/** Registers that hold the identity. */
export function startState(block: Block, acc: Accumulator, bits: IndexBits): State {
  return stateKinds(acc, bits).map((kind, i) => {
    const r = block.entry.reg(kind);
    if (i === 1) block.set(r, `mov.${bitsSuffix[kind]}`, bits === 32 ? 0x7fffffff : '0x7fffffffffffffff');
    else if (kind === 'p') block.set(r, 'setp.ne.u32', identityOf(acc.op, acc.type) ? 1 : 0, 0);
    else block.set(r, `mov.${bitsSuffix[kind]}`, literal(block, acc.type, identityOf(acc.op, acc.type)));
    return r;
  });
}

/** The op that combines two values of an accumulator that has no position. */
export const combineOf = (op: ReduceOp): AluOp => combineOp[op as keyof typeof combineOp];

/** Folds `other` into the registers of `state`. */
export function fold(c: AluContext, acc: Accumulator, state: State, other: State): void {
  const { block } = c;
  const [value, position] = state as [string, string];
  const kind = kindOf(acc.type, c.bits);
  if (!isArg(acc.op)) {
    block.set(value, `mov.${bitsSuffix[kind]}`, emitAlu(c, combineOp[acc.op], acc.type, [value, other[0]!]));
    return;
  }
  const better = isBetter(c, acc.op, acc.type, state, other);
  const chosen =
    kind === 'p'
      ? emitAlu(c, 'where', 'bool', [better, other[0]!, value])
      : block.def(kind, `selp.${bitsSuffix[kind]}`, other[0]!, value, better);
  block.set(value, `mov.${bitsSuffix[kind]}`, chosen);
  const indexKind = kindOf('index', c.bits);
  block.set(position, `selp.${bitsSuffix[indexKind]}`, other[1]!, position, better);
}

/** Whether `other` beats `state`: a more extreme value, a NaN over a number, and the earlier position among equals. */
function isBetter(c: AluContext, op: 'argmax' | 'argmin', type: DType, state: State, other: State): string {
  const { block } = c;
  const [value, position] = state as [string, string];
  const [candidate, at] = other as [string, string];
  const before = block.def('p', `setp.lt.${suffixOf('index', c.bits)}`, at, position);
  const [low, high] = op === 'argmax' ? [value, candidate] : [candidate, value];
  const beats = emitAlu(c, 'lt', type, [low, high]);
  const equal = emitAlu(c, 'eq', type, [value, candidate]);
  if (!isFloatType(type)) return block.def('p', 'or.pred', beats, block.def('p', 'and.pred', equal, before));
  const suffix = suffixOf(type, c.bits);
  const candidateNan = block.def('p', `setp.nan.${suffix}`, candidate, candidate);
  const valueNan = block.def('p', `setp.nan.${suffix}`, value, value);
  const bothNan = block.def('p', 'and.pred', candidateNan, valueNan);
  const tie = block.def('p', 'and.pred', block.def('p', 'or.pred', equal, bothNan), before);
  const onlyCandidate = block.def('p', 'and.pred', candidateNan, block.def('p', 'not.pred', valueNan));
  return block.def('p', 'or.pred', block.def('p', 'or.pred', beats, tie), onlyCandidate);
}

/** The accumulator's result as its `acc` expression has it: positions are i32. */
export function resultOf(block: Block, acc: Accumulator, state: State, bits: IndexBits): string {
  if (!isArg(acc.op)) return state[0]!;
  return bits === 32 ? state[1]! : block.def('r', 'cvt.u32.u64', state[1]!);
}

export const widthOf: Readonly<Record<RegKind, 4 | 8>> = { p: 4, h: 4, r: 4, d: 8, f: 4, g: 8 };

/** Stores one register of a state into memory (`st.shared`, `st.global`). */
export function spill(block: Block, op: string, kind: RegKind, value: string, place: string): void {
  const v = kind === 'p' ? block.def('r', 'selp.b32', 1, 0, value) : value;
  block.emit(`${op}.${kind === 'p' ? 'b32' : bitsSuffix[kind]} ${place}, ${v}`);
}

export function reload(block: Block, op: string, kind: RegKind, place: string): string {
  if (kind !== 'p') return block.def(kind, `${op}.${bitsSuffix[kind]}`, place);
  return block.def('p', 'setp.ne.u32', block.def('r', `${op}.b32`, place), 0);
}

/** The value another lane of the warp holds: across (lane xor distance), below (lane - distance, own at the edge), or lane `distance`. */
export function shuffle(
  block: Block,
  kind: RegKind,
  value: string,
  distance: number,
  mode: 'bfly' | 'up' | 'idx' = 'bfly',
): string {
  const clamp = mode === 'up' ? 0 : 31;
  const move = (r: string): string => block.def('r', `shfl.sync.${mode}.b32`, r, distance, clamp, '0xffffffff');
  switch (kind) {
    case 'p':
      return block.def('p', 'setp.ne.u32', move(block.def('r', 'selp.b32', 1, 0, value)), 0);
    case 'f':
      return block.def('f', 'mov.b32', move(block.def('r', 'mov.b32', value)));
    case 'r':
    case 'h':
      return move(value);
    case 'd':
    case 'g': {
      const [low, high] = [block.entry.reg('r'), block.entry.reg('r')];
      block.emit(`mov.b64 {${low}, ${high}}, ${value}`);
      return block.def(kind, 'mov.b64', `{${move(low)}, ${move(high)}}`);
    }
    default:
      return kind satisfies never;
  }
}

/** The value of the lane whose number differs in the bits of a register, or (`idx`) is in it. */
export function shuffleBy(
  block: Block,
  kind: 'r' | 'd',
  value: string,
  lane: string,
  mode: 'bfly' | 'idx' = 'bfly',
): string {
  const move = (r: string): string => block.def('r', `shfl.sync.${mode}.b32`, r, lane, 31, '0xffffffff');
  if (kind === 'r') return move(value);
  const [low, high] = [block.entry.reg('r'), block.entry.reg('r')];
  block.emit(`mov.b64 {${low}, ${high}}, ${value}`);
  return block.def('d', 'mov.b64', `{${move(low)}, ${move(high)}}`);
}
