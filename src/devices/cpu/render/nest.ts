// The loops of a generated function, assembled from the inside out.

import { Code } from '../wasm/code.ts';
import type { Emitter } from './emitter.ts';
import type { WasmScope } from './scope.ts';
import type { Case } from './segments.ts';

/** A loop that counts a local from 0 to a fixed size. */
export interface Counted {
  readonly position: number;
  readonly size: number;
}

/**
 * Loops over items: the positions start where item `begin` lies and count up like an odometer, so nothing is divided after
 * the start. `scopes[k+1]` is the head of loop k, `scopes[0]` the head of the function.
 */
export function itemLoops(em: Emitter, loops: readonly Counted[], scopes: readonly WasmScope[], inner: Code): Code {
  const [begin, end] = [1, 2];
  const remaining = em.local('i32');
  const out = new Code();
  out.get(end).get(begin).op('i32.le_u').if();
  out.op('return').end();
  out.get(end).get(begin).op('i32.sub').set(remaining);
  const rest = em.local('i32');
  out.get(begin).set(rest);
  for (let k = loops.length - 1; k >= 0; k--) {
    const { position, size } = loops[k]!;
    if (k === 0) {
      out.get(rest).set(position);
      continue;
    }
    out.get(rest).i32(size).op('i32.rem_u').set(position);
    out.get(rest).i32(size).op('i32.div_u').set(rest);
  }
  out.append(scopes[0]!.code);
  let body = new Code();
  body.append(inner);
  if (loops.length > 0) {
    body.get(remaining).i32(1).op('i32.sub').tee(remaining).op('i32.eqz').if();
    body.op('return').end();
  }
  for (let k = loops.length - 1; k >= 0; k--) {
    const { position, size } = loops[k]!;
    const around = new Code();
    const top = around.loop();
    around.append(scopes[k + 1]!.code).append(body);
    around.get(position).i32(1).op('i32.add').tee(position).i32(size).op('i32.lt_u').brIf(top);
    around.end();
    around.i32(0).set(position);
    body = around;
  }
  return out.append(body);
}

/** A plain loop from 0 to a fixed size around a body, with the scope's code at its head. */
export function countedLoop(loop: Counted, scope: WasmScope, inner: Code): Code {
  const out = new Code();
  out.i32(0).set(loop.position);
  const top = out.loop();
  out.append(scope.code).append(inner);
  out.get(loop.position).i32(1).op('i32.add').tee(loop.position).i32(loop.size).op('i32.lt_u').brIf(top);
  return out.end();
}

/** The range of the vector axis that is being handled: locals, and the fixed count if it is known. */
export interface Range {
  readonly lo: number;
  readonly hi: number;
}

/** Emits a case: branches, splits, and `emitLoop` for each loop with its clipped range. */
export function emitCase(
  em: Emitter,
  c: Case,
  range: Range,
  size: number,
  row: WasmScope,
  out: Code,
  emitLoop: (loop: Extract<Case, { kind: 'loop' }>, range: Range, out: Code) => void,
): void {
  const recurse = (x: Case, r: Range): void => emitCase(em, x, r, size, row, out, emitLoop);
  switch (c.kind) {
    case 'branch': {
      em.scalar(c.condition, row);
      const flag = em.local('i32');
      row.code.set(flag);
      out.get(flag).if();
      recurse(c.yes, range);
      out.else();
      recurse(c.no, range);
      out.end();
      return;
    }
    case 'sequence':
      for (const x of c.cases) recurse(x, range);
      return;
    case 'split': {
      em.scalar(c.at, row);
      const threshold = em.local('i32');
      row.code.set(threshold);
      const at = clamp(em, out, () => out.get(threshold), range, 's');
      recurse(c.below, { lo: range.lo, hi: at });
      recurse(c.above, { lo: at, hi: range.hi });
      return;
    }
    case 'loop': {
      const lo = c.from > 0 ? clamp(em, out, () => out.i32(c.from), range, 'u') : range.lo;
      const hi = c.to < size ? clamp(em, out, () => out.i32(c.to), range, 'u') : range.hi;
      emitLoop(c, { lo, hi }, out);
      return;
    }
    default:
      c satisfies never;
  }
}

/** A local holding a value moved into a range. */
function clamp(em: Emitter, out: Code, push: () => void, range: Range, sign: 's' | 'u'): number {
  const t = em.local('i32');
  push();
  out.set(t);
  out.get(t).get(range.lo).get(t).get(range.lo).op(`i32.gt_${sign}`).op('select').set(t);
  out.get(t).get(range.hi).get(t).get(range.hi).op(`i32.lt_${sign}`).op('select').set(t);
  return t;
}

/** Repeats a body of `lanes` elements while that many are left before `hi`; the position moves along. */
export function vectorLoop(position: number, hi: number, lanes: number, body: Code, out: Code): void {
  const left = (): Code => out.get(hi).get(position).op('i32.sub').i32(lanes).op('i32.ge_u');
  left().if();
  const top = out.loop();
  out.append(body);
  out.get(position).i32(lanes).op('i32.add').set(position);
  left().brIf(top);
  out.end().end();
}
