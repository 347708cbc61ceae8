// argmax and argmin of a row in two passes: its extreme first, then the first position that holds it.
//
// Keeping a position beside every lane's best value takes four times as many instructions as the best value alone, and the
// second pass ends where it finds what it looks for. It reads the row again, so this is for values that cost little.

import type { Expr } from '../../../kernel/expr.ts';
import type { Code } from '../wasm/code.ts';
import { combine, fold, identityBytes, mergeInto, type Registers, type StateForm } from './accumulator.ts';
import type { Emitter } from './emitter.ts';
import { notesOf } from './extremes.ts';
import { type LaneType, partsFor, shapeOf, shuffleOf } from './lanes.ts';
import { type Range, vectorLoop } from './nest.ts';
import type { ReductionPlan } from './reduce-plan.ts';
import type { WasmScope } from './scope.ts';

/** The most work of a value that is computed twice. */
const mostWork = 6;

/** Whether a row is searched in two passes. */
export function isSearched(form: StateForm, plan: ReductionPlan): boolean {
  return form.kind === 'arg' && plan.reduced.length === 0 && plan.cost <= mostWork;
}

export interface Row {
  readonly form: StateForm;
  readonly value: Expr;
  /** The local that counts along the row. */
  readonly position: number;
  readonly range: Range;
  /** Elements of the bodies of the loop, largest first. */
  readonly bodies: readonly number[];
  readonly scope: (lanes: number) => WasmScope;
}

/** Emits both passes; the extreme and its position are left as a fold would leave them. */
export function searchRow(em: Emitter, row: Row, out: Code): Registers {
  const { form, range, position, bodies } = row;
  const extreme = firstPass(em, row, out);
  const best = em.temp();
  out
    .get(extreme.values[0]!)
    .get(extreme.values[0]!)
    .shuffle(shuffleOf(form.width, [0, 0, 0, 0].slice(0, 128 / form.width)));
  out.set(best);

  // The long body finds the block, the shorter ones the place in it.
  const found = em.local('i32');
  const vector = 128 / form.width;
  const lengths = [...new Set([bodies[0]!, Math.min(vector, bodies[0]!), 1])];
  out.get(range.lo).set(position);
  const done = out.block();
  for (const lanes of lengths) {
    const s = row.scope(lanes);
    const parts = partsFor(lanes, form.width);
    for (let p = 0; p < parts; p++) {
      holds(em, row, p, best, s);
      if (p > 0) s.code.op('v128.or');
    }
    const passed = out.block();
    const top = out.loop();
    out.get(range.hi).get(position).op('i32.sub').i32(lanes).op('i32.lt_u').brIf(passed);
    out.append(s.code);
    if (lanes > vector) out.op('v128.any_true').brIf(passed);
    else {
      out
        .op(form.width === 64 ? 'i64x2.bitmask' : 'i32x4.bitmask')
        .i32(2 ** lanes - 1)
        .op('i32.and')
        .tee(found)
        .if();
      out.get(position).get(found).op('i32.ctz').op('i32.add').set(found).br(done);
      out.end();
    }
    out.get(position).i32(lanes).op('i32.add').set(position).br(top);
    out.end().end();
  }
  out.end();
  const at = em.temp();
  out.get(found);
  if (form.width === 64) out.op('i64.extend_i32_u').op('i64x2.splat');
  else out.op('i32x4.splat');
  out.set(at);
  return { ...extreme, positions: [at] };
}

/** Pushes the lanes of part `p` that hold the extreme: it, or the first NaN if there is one, since nothing equals NaN. */
function holds(em: Emitter, { form, value }: Row, p: number, best: number, s: WasmScope): void {
  const shape = shapeOf[form.lane!];
  const v = em.vecLocal(value, p, s);
  s.code.get(v).get(best).op(`${shape}.eq`);
  if (shape === 'f32x4' || shape === 'f64x2') s.code.get(v).get(v).op(`${shape}.ne`).op('v128.or');
}

/** The extreme of the row in lane 0; NaN if there is one. */
function firstPass(em: Emitter, row: Row, out: Code): Registers {
  const { form, value, range, position } = row;
  const { lane, op } = form as { lane: LaneType; op: 'argmax' | 'argmin' };
  const whole: StateForm = { ...form, kind: 'plain', op: op === 'argmax' ? 'max' : 'min' };
  out.get(range.lo).set(position);
  const folded = row.bodies.map((lanes) => {
    const values = Array.from({ length: partsFor(lanes, form.width) }, () => em.local('v128'));
    // Zeros of both signs are found alike.
    const notes = isFloat(lane) ? notesOf(lane, whole.op as 'max' | 'min', em.temp, true, false) : null;
    for (const v of values) out.v128(identityBytes(form)).set(v);
    notes?.init(out);
    const s = row.scope(lanes);
    const taken = values.map((_, p) => em.vecLocal(value, p, s));
    if (notes) notes.step(s.code, values, taken);
    else
      values.forEach((best, p) => {
        combine(em, s.code, whole, lane, best, taken[p]!);
        s.code.set(best);
      });
    vectorLoop(position, range.hi, lanes, s.code, out);
    notes?.settle(out, values[0]!);
    return fold(em, out, whole, { lane, width: form.width, lanes, values, positions: [] });
  });
  const [first, ...others] = folded as [Registers, ...Registers[]];
  for (const other of others) mergeInto(em, out, whole, first, other);
  return first;
}

const isFloat = (lane: string): lane is 'f32' | 'f64' => lane === 'f32' || lane === 'f64';
