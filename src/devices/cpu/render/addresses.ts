// Addresses of elements: the parts of a sum, each computed as far out as it is known, and kept there.

import { linear } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { fromLinear } from '../../../kernel/simplify.ts';
import type { Emitter } from './emitter.ts';
import type { WasmScope } from './scope.ts';

/**
 * A distance that an instruction may add to an address by itself. Elements that lie so near have one address then, instead of one each.
 * The address alone may lie before its buffer: every buffer begins further than this from the beginning of the memory.
 */
export const reach = 16384;

/**
 * The byte address of element `index` of a buffer (for the vector axis: of lane 0), each part of the sum computed in the
 * outermost loop that knows it. `bytes` is added at the end. Returns what is left for the instruction to add, at most `within`.
 */
export function emitAddress(
  em: Emitter,
  buffer: number,
  index: Expr,
  shift: number,
  s: WasmScope,
  bytes: number,
  within = 0,
): number {
  const { offset, terms } = linear(index);
  const byDepth = new Map<number, Map<Expr, number>>();
  for (const [term, k] of terms) {
    const depth = em.info(term).depth;
    const group = byDepth.get(depth);
    if (group) group.set(term, k);
    else byDepth.set(depth, new Map([[term, k]]));
  }
  const whole = offset * 2 ** shift + bytes;
  const rest = whole > 0 && whole <= within ? whole : 0;
  const start = whole - rest;
  let key = `a${buffer}.${shift}.${start}`;
  const root = s.at(0);
  let local = root.memo.get(key);
  if (local === undefined) {
    local = em.local('i32');
    root.code.get(0).mem('i32.load', 4 * buffer);
    if (start !== 0) root.code.i32(start).op('i32.add');
    root.code.set(local);
    root.memo.set(key, local);
  }
  for (const depth of [...byDepth.keys()].sort((a, b) => a - b)) {
    const group = byDepth.get(depth)!;
    const t = s.at(depth);
    key += `|${fromLinear(em.exprs, { offset: 0, terms: group }).id}`;
    let next = t.memo.get(key);
    if (next === undefined) {
      t.code.get(local);
      for (const [term, k] of group) {
        scaled(em, term, k * 2 ** shift, t);
        t.code.op('i32.add');
      }
      next = em.local('i32');
      t.code.set(next);
      t.memo.set(key, next);
    }
    local = next;
  }
  s.code.get(local);
  return rest;
}

/** A term times a constant: kept, since addresses of one loop share it. */
function scaled(em: Emitter, term: Expr, whole: number, t: WasmScope): void {
  // Addresses are counted modulo 2^32.
  const factor = whole % 2 ** 32;
  if (factor === 0) {
    t.code.i32(0);
    return;
  }
  if (factor === 1) {
    em.scalar(term, t);
    return;
  }
  const key = `x${term.id}*${factor}`;
  const known = t.memo.get(key);
  if (known !== undefined) {
    t.code.get(known);
    return;
  }
  em.scalar(term, t);
  const log2 = Math.log2(factor);
  if (Number.isInteger(log2)) t.code.i32(log2).op('i32.shl');
  else t.code.i32(factor).op('i32.mul');
  const local = em.local('i32');
  t.code.tee(local);
  t.memo.set(key, local);
}
