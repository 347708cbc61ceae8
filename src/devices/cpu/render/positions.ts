// Positions and conditions on them, as i32 scalars: what addresses, branches and splits are computed from.

import { bounds } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { PlainOp } from '../wasm/ops.ts';
import type { Emitter } from './emitter.ts';
import { widthOf } from './lanes.ts';
import type { WasmScope } from './scope.ts';

/** Leaves an index, or a condition that is the same in all lanes (0 or 1), on the stack. */
export function emitPosition(em: Emitter, e: Expr, t: WasmScope): void {
  if (e.kind === 'cast' && e.type === 'index') {
    const from = e.src[0];
    if (from.type === 'bool') {
      em.scalar(from, t);
      return;
    }
    em.vec(from, 0, t);
    if (widthOf(from.type) === 8) t.code.lane('i8x16.extract_lane_u', 0);
    else t.code.lane('i32x4.extract_lane', 0);
    return;
  }
  if (e.type === 'bool' && !isPositional(e)) {
    em.mask(e, 0, 8, t);
    t.code.lane('i8x16.extract_lane_u', 0).i32(1).op('i32.and');
    return;
  }
  if (e.kind !== 'alu') throw new Error(`cpu: ${e.kind} of type ${e.type} is no scalar`);
  const [a, b, d] = e.src as [Expr, Expr, Expr];
  const unsigned = e.src.every((x) => x.type !== 'index' || bounds(x).min >= 0) ? 'u' : 's';
  switch (e.op) {
    case 'where':
      em.scalar(b, t);
      em.scalar(d, t);
      em.scalar(a, t);
      t.code.op('select');
      return;
    case 'not':
      em.scalar(a, t);
      t.code.op('i32.eqz');
      return;
    case 'max':
    case 'min': {
      const [x, y] = [em.local('i32'), em.local('i32')];
      em.scalar(a, t);
      t.code.set(x);
      em.scalar(b, t);
      t.code.set(y);
      t.code
        .get(x)
        .get(y)
        .get(x)
        .get(y)
        .op(`i32.${e.op === 'max' ? 'gt' : 'lt'}_${unsigned}`)
        .op('select');
      return;
    }
    case 'lt':
    case 'le':
      em.scalar(a, t);
      em.scalar(b, t);
      t.code.op(`i32.${e.op}_${a.type === 'bool' ? 'u' : unsigned}`);
      return;
    default: {
      const op = scalarOps[e.op];
      if (!op) throw new Error(`cpu: ${e.op} on positions`);
      em.scalar(a, t);
      em.scalar(b, t);
      t.code.op(op);
    }
  }
}

const scalarOps: Readonly<Record<string, PlainOp>> = {
  add: 'i32.add',
  sub: 'i32.sub',
  mul: 'i32.mul',
  idiv: 'i32.div_u',
  imod: 'i32.rem_u',
  eq: 'i32.eq',
  ne: 'i32.ne',
  and: 'i32.and',
  or: 'i32.or',
  xor: 'i32.xor',
};

const positional = new WeakMap<Expr, boolean>();

/** A condition on positions alone, so that it is computed with scalars. */
export function isPositional(e: Expr): boolean {
  const known = positional.get(e);
  if (known !== undefined) return known;
  const made =
    e.kind === 'const' ||
    (e.kind === 'alu' && e.src.every((x) => x.type === 'index' || (x.type === 'bool' && isPositional(x))));
  positional.set(e, made);
  return made;
}
