// Conditions as masks of lanes: all bits of a lane set, or none.
//
// A condition comes for free at the width of what was compared. Wider and narrower masks are made from it, in halves.

import type { Expr } from '../../../kernel/expr.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { emitToBool } from './casts.ts';
import type { Emitter } from './emitter.ts';
import { shuffleOf, splatBytes, type Width } from './lanes.ts';
import { emitLoadMask } from './load.ts';
import { isPositional } from './positions.ts';
import type { WasmScope } from './scope.ts';
import { emitCompare } from './vector-ops.ts';

/** Part `p` of a condition as a mask of `w`-bit lanes. */
export function emitMask(em: Emitter, e: Expr, p: number, w: Width, s: WasmScope): void {
  if (e.kind === 'const') {
    s.code.v128(splatBytes('bool', e.value));
    return;
  }
  const { varying } = em.info(e);
  if (!varying) p = 0;
  if (e.kind === 'acc') {
    // Finished accumulators of bools are kept as byte masks.
    convertMask(8, w, p, s, varying, (q, t) => t.code.get(em.accumulators[e.slot]![q]!));
    return;
  }
  em.keep(e, `m${e.id}.${p}.${w}`, 'v128', s, em.isShared(e), (t) => {
    if (!varying && isPositional(e)) {
      t.code.i32(0);
      em.scalar(e, t);
      t.code.op('i32.sub').op('i32x4.splat');
      return;
    }
    const natural = em.naturalWidth(e);
    if (natural === w) return makeMask(em, e, p, w, t);
    if (natural < w) {
      em.mask(e, varying ? p >> 1 : 0, (w / 2) as Width, t);
      widen(w, p & 1, t);
      return;
    }
    narrow(em, w, varying && em.parts(t, 2 * w) > 1, (half, u) => em.mask(e, 2 * p + half, (2 * w) as Width, u), t);
  });
}

function widen(w: number, high: number, t: WasmScope): void {
  const half = high ? 'high' : 'low';
  t.code.op(
    w === 16
      ? `i16x8.extend_${half}_i8x16_s`
      : w === 32
        ? `i32x4.extend_${half}_i16x8_s`
        : `i64x2.extend_${half}_i32x4_s`,
  );
}

function narrow(
  em: Emitter,
  w: number,
  two: boolean,
  source: (half: number, t: WasmScope) => void,
  t: WasmScope,
): void {
  source(0, t);
  if (two) source(1, t);
  else {
    const local = em.temp();
    t.code.tee(local).get(local);
  }
  if (w === 8) t.code.op('i8x16.narrow_i16x8_s');
  else if (w === 16) t.code.op('i16x8.narrow_i32x4_s');
  else t.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
}

function convertMask(
  from: Width,
  to: Width,
  p: number,
  s: WasmScope,
  varying: boolean,
  source: (q: number, t: WasmScope) => void,
): void {
  if (from === to) {
    source(p, s);
    return;
  }
  convertMask(from, (to / 2) as Width, varying ? p >> 1 : 0, s, varying, source);
  widen(to, varying ? p & 1 : 0, s);
}

function makeMask(em: Emitter, e: Expr, p: number, w: Width, t: WasmScope): void {
  switch (e.kind) {
    case 'scalar':
      t.code
        .get(0)
        .mem('v128.load8_splat', em.layout.scalars + 8 * e.slot)
        .v128(splatBytes('u8', 0))
        .op('i8x16.ne');
      return;
    case 'load': {
      emitLoadMask(em, e, p, t);
      return;
    }
    case 'cast': {
      emitToBool(em, e, p, t);
      return;
    }
    case 'alu':
      if (e.src[0]!.type !== 'bool') {
        emitCompare(em, e, p, t);
        return;
      }
      {
        makeLogic(em, e.op, e.src, p, w, t);
        return;
      }
    default:
      throw new Error(`cpu: ${e.kind} is no condition`);
  }
}

function makeLogic(em: Emitter, op: string, src: readonly Expr[], p: number, w: Width, t: WasmScope): void {
  const row = logicOps[op];
  if (!row) throw new Error(`cpu: ${op} on bool`);
  for (const i of row.order) em.mask(src[i]!, p, w, t);
  t.code.ops(...row.ops);
}

/** Ops on masks: the order in which operands are pushed, and what follows. */
const logicOps: Readonly<Record<string, { readonly order: readonly number[]; readonly ops: readonly PlainOp[] }>> = {
  and: { order: [0, 1], ops: ['v128.and'] },
  or: { order: [0, 1], ops: ['v128.or'] },
  xor: { order: [0, 1], ops: ['v128.xor'] },
  not: { order: [0], ops: ['v128.not'] },
  eq: { order: [0, 1], ops: ['v128.xor', 'v128.not'] },
  ne: { order: [0, 1], ops: ['v128.xor'] },
  lt: { order: [1, 0], ops: ['v128.andnot'] },
  le: { order: [0, 1], ops: ['v128.andnot', 'v128.not'] },
  where: { order: [1, 2, 0], ops: ['v128.bitselect'] },
};
