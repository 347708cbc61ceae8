// Loads and stores of elements, as wide as their alignment allows: up to 16 bytes in one instruction.

import { type DType, dtypeInfo } from '../../../base/dtype.ts';
import { bounds, linear, strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, Load } from '../../../kernel/expr.ts';
import { strideOf, type Together } from '../../../kernel/together.ts';
import { type AluContext, emitAlu, narrow, narrowPair, widen } from './alu.ts';
import type { Block, RegKind } from './code.ts';
import type { PtxScope } from './scope.ts';
import { literal, memorySuffix } from './types.ts';
import { dependencies, lane, type Values } from './values.ts';

const gcd = (a: number, b: number): number => (b === 0 ? Math.abs(a) : gcd(b, a % b));

/** A number that divides every value of an index expression; 0 if it is always 0. */
function divisorOf(e: Expr): number {
  if (e.kind === 'const') return Math.abs(Number(e.value));
  if (e.kind !== 'alu') return 1;
  const [a, b, c] = e.src as [Expr, Expr, Expr];
  switch (e.op) {
    case 'add':
    case 'sub':
    case 'max':
    case 'min':
      return gcd(divisorOf(a), divisorOf(b));
    case 'mul':
      return divisorOf(a) * divisorOf(b);
    case 'where':
      return gcd(divisorOf(b), divisorOf(c));
    default:
      return 1;
  }
}

/** The largest power of two, up to `width`, that divides the index `before` lane 0 (whose own axis gives a multiple of `width`). */
function alignment(index: Expr, laneAxis: number, width: number, before = 0): number {
  const form = linear(index);
  let common = gcd(width, form.offset - before);
  for (const [term, k] of form.terms) {
    if (term.kind === 'axis' && term.axis === laneAxis) continue;
    common = gcd(common, k * divisorOf(term));
  }
  return common & -common;
}

/** Where the first of the neighbours that are computed together lies in an output; `position` is theirs in the kernel's space. */
export function firstOf(scope: PtxScope, near: Together, position: string): string {
  if (near.count === 1) return position;
  const { bits } = scope.bindings;
  const [s, kind] = bits === 32 ? (['s32', 'r'] as const) : (['s64', 'd'] as const);
  return near.kernel.space.reduce<string>((sum, size, axis) => {
    if (size === 1) return sum;
    const [at, stride] = [scope.position(axis), strideOf(near, axis)];
    return sum === '0'
      ? scope.block.def(kind, `mul.lo.${s}`, at, stride)
      : scope.block.def(kind, `mad.lo.${s}`, at, stride, sum);
  }, '0');
}

/** The elements a load gives to each lane. */
export function emitLoad(scope: PtxScope, e: Load): Values {
  const { bindings, width, laneAxis } = scope;
  const size = dtypeInfo[e.type].bytes;
  const pointer = bindings.inputs[e.slot]!;
  const gates = e.gate ? scope.values(e.gate) : null;
  const streaming = scope.block.entry.target.tuning?.streaming === true;
  const op = bindings.readOnly[e.slot] ? 'ld.global.nc' : streaming ? 'ld.global.cs' : 'ld.global';
  const varies = width > 1 && dependencies(e).has(laneAxis);
  if (!varies) {
    const { register, offset } = scope.address(pointer, e.index, size);
    return [loadOne(scope, op, e.type, register, offset, gates && gates[0]!)];
  }
  const stride = strideAlong(e.index, laneAxis);
  if (stride === null) {
    // Looked up or wrapped: every lane has an address of its own.
    const at = scope.values(e.index);
    return Array.from({ length: width }, (_, i) => {
      const address = plainAddress(scope, pointer, lane(at, i), size);
      return loadOne(scope, op, e.type, address, 0, gates && lane(gates, i));
    });
  }
  const { register, offset } = scope.address(pointer, e.index, size);
  const sameGate = !gates || gates.every((g) => g === gates[0]);
  const chunk = stride === 1 && sameGate ? Math.min(alignment(e.index, laneAxis, width), 16 / size) : 1;
  const nameOf = (i: number): string => `${e.slot} ${register} ${offset + i * stride * size}`;
  const gateOf = (i: number): string | null => {
    const gate = gates && lane(gates, i);
    return gate === scope.always ? null : gate;
  };
  if (chunk > 1) {
    const values: string[] = [];
    for (let i = 0; i < width; i += chunk) {
      values.push(...loadChunk(scope, op, e.type, chunk, register, offset + i * size, gateOf(0)));
    }
    for (const [i, value] of values.entries()) scope.elements.set(nameOf(i), { value, gate: gateOf(0) });
    return values;
  }
  if (!gates && stride === 2) loadBetween(scope, e, op, register, offset, nameOf);
  return Array.from({ length: width }, (_, i) => {
    const gate = gateOf(i);
    const known = scope.elements.get(nameOf(i));
    if (known && known.gate === gate) return known.value;
    if (known?.gate === null) return orZero(scope, e.type, known.value, gate!);
    const value = loadOne(scope, op, e.type, register, offset + i * stride * size, gate);
    scope.elements.set(nameOf(i), { value, gate });
    return value;
  });
}

/**
 * Every other element: those between are loaded along, in vectors, if they are in the buffer. They lie in the same lines of memory, and
 * something else often wants them, as in a window of 2.
 */
function loadBetween(
  scope: PtxScope,
  { type, slot, index }: Load,
  op: string,
  register: string,
  offset: number,
  nameOf: (lane: number) => string,
): void {
  const { width, laneAxis, bindings, elements } = scope;
  const all = bindings.readOnly[slot] ? bindings.elements?.[slot] : undefined;
  const lanes = Array.from({ length: width }, (_, i) => nameOf(i));
  if (all === undefined || lanes.some((name) => elements.has(name))) return;
  const size = dtypeInfo[type].bytes;
  const { min, max } = bounds(index);
  // From an even place on.
  const before = Math.abs(linear(index).offset % 2);
  if (min - before < 0 || max + 1 - before >= all) return;
  const chunk = Math.min(alignment(index, laneAxis, 2 * width, before), 16 / size);
  if (chunk < 2) return;
  for (let i = 0; i < 2 * width; i += chunk) {
    const place = offset + (i - before) * size;
    loadChunk(scope, op, type, chunk, register, place, null).forEach((value, k) => {
      elements.set(`${slot} ${register} ${place + k * size}`, { value, gate: null });
    });
  }
}

/** Whether a load gives a whole vector at once. */
export function isWholeVector({ gate, index, type }: Load, laneAxis: number, width: number): boolean {
  if (width === 1 || strideAlong(index, laneAxis) !== 1 || (gate && !lanesAgree(gate, laneAxis, width))) return false;
  return alignment(index, laneAxis, width) >= Math.min(width, 16 / dtypeInfo[type].bytes);
}

/** Whether a condition is the same in all lanes, although it may depend on their axis: lane 0 lies at a multiple of `width`. */
function lanesAgree(e: Expr, laneAxis: number, width: number): boolean {
  if (!dependencies(e).has(laneAxis)) return true;
  if (e.kind !== 'alu' || (e.op !== 'lt' && e.op !== 'le')) return false;
  const [a, b] = e.src as [Expr, Expr];
  const isAxis = (x: Expr): boolean => x.kind === 'axis' && x.axis === laneAxis;
  const limit = isAxis(a) ? b : isAxis(b) ? a : null;
  return limit?.kind === 'const' && (Number(limit.value) + Number((e.op === 'lt') === isAxis(b))) % width === 0;
}

/** A value that another load has brought already, or zero where the gate is closed. */
function orZero(scope: PtxScope, type: DType, value: string, gate: string): string {
  return emitAlu(scope.context, 'where', type, [gate, value, literal(scope.block, type, 0)]);
}

function plainAddress(scope: PtxScope, pointer: string, index: string, size: number): string {
  return scope.bindings.bits === 32
    ? scope.block.def('d', 'mad.wide.s32', index, size, pointer)
    : scope.block.def('d', 'mad.lo.s64', index, size, pointer);
}

const at = (register: string, offset: number): string => (offset === 0 ? `[${register}]` : `[${register}+${offset}]`);

const memoryKind: Readonly<Record<DType, RegKind>> = {
  bool: 'r',
  u8: 'r',
  i32: 'r',
  u32: 'r',
  i64: 'd',
  u64: 'd',
  f16: 'h',
  bf16: 'h',
  f32: 'f',
  f64: 'g',
};

const zeroOf: Readonly<Record<RegKind, string>> = {
  p: '0',
  h: '0',
  r: '0',
  d: '0',
  f: '0f00000000',
  g: '0d0000000000000000',
};

const moveOf: Readonly<Record<RegKind, string>> = {
  p: 'mov.pred',
  h: 'mov.b16',
  r: 'mov.b32',
  d: 'mov.b64',
  f: 'mov.f32',
  g: 'mov.f64',
};

/** Addresses may not carry offsets beyond 32 bits: larger ones are added. */
function reach(block: Block, register: string, offset: number): { register: string; offset: number } {
  if (offset >= -(2 ** 31) && offset < 2 ** 31) return { register, offset };
  return { register: block.def('d', 'add.s64', register, offset), offset: 0 };
}

function loadOne(
  scope: PtxScope,
  op: string,
  type: DType,
  register: string,
  offset: number,
  gate: string | null,
): string {
  return loadElement(scope.context, op, type, register, offset, gate);
}

/** One element as its type lives in registers; zero where the gate is false. */
export function loadElement(
  c: AluContext,
  op: string,
  type: DType,
  register: string,
  offset = 0,
  gate: string | null = null,
): string {
  const { block } = c;
  const kind = memoryKind[type];
  const r = block.entry.reg(kind);
  const place = reach(block, register, offset);
  if (gate) block.set(r, moveOf[kind], zeroOf[kind]);
  block.emit(`${gate ? `@${gate} ` : ''}${op}.${memorySuffix[type]} ${r}, ${at(place.register, place.offset)}`);
  return fromMemory(c, type, r);
}

export function storeElement(
  c: AluContext,
  type: DType,
  value: string,
  register: string,
  offset = 0,
  op = globalStore(c.block),
): void {
  storeChunk(c.block, type, [toMemory(c, type, value)], register, offset, op);
}

const globalStore = ({ entry }: Block): string =>
  entry.writesPast || entry.target.tuning?.streaming ? 'st.global.cs' : 'st.global';

function loadChunk(
  scope: PtxScope,
  op: string,
  type: DType,
  count: number,
  register: string,
  offset: number,
  gate: string | null,
): string[] {
  const { block, context } = scope;
  const size = dtypeInfo[type].bytes;
  const place = reach(block, register, offset);
  if (size * count < 4) {
    // Two bytes: one 16-bit load.
    const h = block.entry.reg('h');
    if (gate) block.set(h, 'mov.b16', 0);
    block.emit(`${gate ? `@${gate} ` : ''}${op}.b16 ${h}, ${at(place.register, place.offset)}`);
    return unpackBytes(context, type, block.def('r', 'cvt.u32.u16', h), 2);
  }
  const kind: RegKind = size >= 4 ? memoryKind[type] : 'r';
  const suffix = size >= 4 ? memorySuffix[type] : 'b32';
  const words = size >= 4 ? count : (size * count) / 4;
  const registers = Array.from({ length: words }, () => block.entry.reg(kind));
  if (gate) for (const r of registers) block.set(r, moveOf[kind], zeroOf[kind]);
  const list = words === 1 ? registers[0]! : `{${registers.join(', ')}}`;
  const wide = words === 1 ? '' : `.v${words}`;
  block.emit(`${gate ? `@${gate} ` : ''}${op}${wide}.${suffix} ${list}, ${at(place.register, place.offset)}`);
  if (size >= 4) return registers.map((r) => fromMemory(context, type, r));
  if (size === 2) {
    return registers.flatMap((r) => {
      const [low, high] = [block.entry.reg('h'), block.entry.reg('h')];
      block.emit(`mov.b32 {${low}, ${high}}, ${r}`);
      return [fromMemory(context, type, low), fromMemory(context, type, high)];
    });
  }
  return registers.flatMap((r) => unpackBytes(context, type, r, 4));
}

function unpackBytes(c: AluContext, type: DType, word: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => fromMemory(c, type, c.block.def('r', 'bfe.u32', word, 8 * i, 8)));
}

/** What was loaded, as this type lives in registers. */
function fromMemory(c: AluContext, type: DType, r: string): string {
  if (type === 'bool') return c.block.def('p', 'setp.ne.u32', r, 0);
  return type === 'f16' || type === 'bf16' ? widen(c, type, r) : r;
}

/** A value as it would come back from a buffer of its type. */
export const throughMemory = (c: AluContext, type: DType, value: string): string =>
  type === 'f16' || type === 'bf16' ? fromMemory(c, type, toMemory(c, type, value)) : value;

function toMemory(c: AluContext, type: DType, value: string): string {
  if (type === 'bool') return c.block.def('r', 'selp.b32', 1, 0, value);
  return type === 'f16' || type === 'bf16' ? narrow(c, type, value) : value;
}

/** Stores `width` neighbours, the first at a multiple of `width` elements. */
export function emitStore(
  scope: PtxScope,
  type: DType,
  values: Values,
  width: number,
  register: string,
  offset: number,
): void {
  const { block, context } = scope;
  const size = dtypeInfo[type].bytes;
  const chunk = Math.min(width, 16 / size);
  const each = Array.from({ length: width }, (_, i) => lane(values, i));
  for (let i = 0; i < width; i += chunk) {
    const place = offset + i * size;
    const some = each.slice(i, i + chunk);
    if (chunk > 1 && (type === 'f16' || type === 'bf16')) {
      const words = Array.from({ length: chunk / 2 }, (_, k) =>
        narrowPair(context, type, some[2 * k]!, some[2 * k + 1]!),
      );
      storeWords(block, 'b32', words, register, place, globalStore(block));
    } else {
      const stored = some.map((v) => toMemory(context, type, v));
      storeChunk(block, type, stored, register, place);
    }
  }
}

function storeChunk(
  block: Block,
  type: DType,
  values: readonly string[],
  register: string,
  offset: number,
  op = globalStore(block),
): void {
  const size = dtypeInfo[type].bytes;
  const place = at(register, offset);
  if (values.length === 1) {
    block.emit(`${op}.${memorySuffix[type]} ${place}, ${values[0]}`);
    return;
  }
  if (size * values.length < 4) {
    const word = packWord(block, values);
    block.emit(`${op}.b16 ${place}, ${block.def('h', 'cvt.u16.u32', word)}`);
    return;
  }
  const perWord = size >= 4 ? 1 : 4 / size;
  const words: string[] = [];
  for (let i = 0; i < values.length; i += perWord) {
    words.push(perWord === 1 ? values[i]! : packWord(block, values.slice(i, i + perWord)));
  }
  storeWords(block, size >= 4 ? memorySuffix[type] : 'b32', words, register, offset, op);
}

function storeWords(
  block: Block,
  suffix: string,
  words: readonly string[],
  register: string,
  offset: number,
  op: string,
): void {
  const wide = words.length === 1 ? '' : `.v${words.length}`;
  const value = words.length === 1 ? words[0] : `{${words.join(', ')}}`;
  block.emit(`${op}${wide}.${suffix} ${at(register, offset)}, ${value}`);
}

function packWord(block: Block, values: readonly string[]): string {
  // Constant bytes come as immediates; bfi wants registers or immediates alike.
  let word = values[0]!;
  for (let i = 1; i < values.length; i++) word = block.def('r', 'bfi.b32', values[i]!, word, 8 * i, 8);
  return word;
}
