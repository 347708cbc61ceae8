// argmax and argmin of a row: the block that holds its extreme first, then the position in that block.
//
// Keeping a position beside every lane's best value takes many instructions. Here a block is only asked whether anything in it beats the
// best so far, which few blocks of values in no order do. One that does leaves its extreme and where it begins. Nothing beats a NaN.

import type { Expr } from '../../../kernel/expr.ts';
import type { Code } from '../wasm/code.ts';
import { combine, identityBytes, less, type Registers, type StateForm } from './accumulator.ts';
import type { Emitter } from './emitter.ts';
import { partsFor, shapeOf, shuffleOf, splatBytes } from './lanes.ts';
import { type Range, vectorLoop } from './nest.ts';
import type { ReductionPlan } from './reduce-plan.ts';
import type { WasmScope } from './scope.ts';

/** The most work of a value that is computed again where the extreme was found. */
const mostWork = 6;

/** Whether a row is searched block by block. */
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

/** Emits the search; the extreme and its position are left as a fold would leave them. */
export function searchRow(em: Emitter, row: Row, out: Code): Registers {
  const { form, range, position, bodies } = row;
  const best = em.temp();
  const begin = em.local('i32');
  out.v128(identityBytes(form)).set(best).get(range.lo).tee(begin).set(position);
  const main = bodies[0]!;
  for (const lanes of main > 1 ? [2 * main, ...bodies] : bodies) takeBlocks(em, row, lanes, best, begin, out);

  // It is in a block from there on. The long body finds which, the shorter ones the place in it.
  const found = em.local('i32');
  const vector = 128 / form.width;
  const lengths = [...new Set([bodies[0]!, Math.min(vector, bodies[0]!), 1])];
  out.get(begin).set(position);
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
  return { lane: form.lane, width: form.width, lanes: 1, values: [best], positions: [at] };
}

/** Pushes the lanes of part `p` that hold the extreme: it, or the first NaN if there is one, since nothing equals NaN. */
function holds(em: Emitter, { form, value }: Row, p: number, best: number, s: WasmScope): void {
  const shape = shapeOf[form.lane!];
  const v = em.vecLocal(value, p, s);
  s.code.get(v).get(best).op(`${shape}.eq`);
  if (shape === 'f32x4' || shape === 'f64x2') s.code.get(v).get(v).op(`${shape}.ne`).op('v128.or');
}

/** A loop over blocks. The extreme of one that beats `best` takes its place, in all lanes, and its position that of `begin`. */
function takeBlocks(em: Emitter, row: Row, lanes: number, best: number, begin: number, out: Code): void {
  const { form, value, range, position } = row;
  const lane = form.lane!;
  const shape = shapeOf[lane];
  const isFloat = shape === 'f32x4' || shape === 'f64x2';
  const isMost = form.op === 'argmax';
  const s = row.scope(lanes);
  const c = s.code;
  const values = Array.from({ length: partsFor(lanes, form.width) }, (_, p) => em.vecLocal(value, p, s));
  /** Pushes whether any lane of a mask is set. */
  const any = (): Code => (lanes === 1 ? c.op('i32x4.bitmask').i32(1).op('i32.and') : c.op('v128.any_true'));
  /** Pushes the better lanes of two vectors. NaN is another matter. */
  const better = (x: number, y: number): number => {
    const t = em.temp();
    if (isFloat)
      c.get(x)
        .get(y)
        .op(`${shape}.${isMost ? 'pmax' : 'pmin'}`);
    else combine(em, c, { ...form, op: isMost ? 'max' : 'min' }, lane, x, y);
    c.set(t);
    return t;
  };
  const each = 128 / form.width;
  const turned = (v: number, by: number): number => {
    const t = em.temp();
    const order = Array.from({ length: each }, (_, i) => (lanes === 1 ? 0 : (i + by) % each));
    c.get(v).get(v).shuffle(shuffleOf(form.width, order)).set(t);
    return t;
  };
  const folded = (list: readonly number[]): number => {
    const half = list.length / 2;
    return half < 1 ? list[0]! : folded(list.slice(0, half).map((v, p) => better(v, list[p + half]!)));
  };
  // Whole numbers of 32 bits have an instruction for the better of two.
  const early = lane === 'i32' || lane === 'u32' ? folded(values) : null;
  // Of floats those that do not beat it: NaN is none of these.
  (early === null ? values : [early]).forEach((v, p) => {
    const [x, y] = isMost === isFloat ? [v, best] : [best, v];
    if (isFloat) c.get(x).get(y).op(`${shape}.le`);
    else less(c, lane, x, y);
    if (p > 0) c.op(isFloat ? 'v128.and' : 'v128.or');
  });
  if (isFloat) c.op('v128.not');
  any().if();
  c.get(position).set(begin);
  let extreme = early ?? folded(values);
  if (lanes === 1) extreme = turned(extreme, 0);
  else for (let by = each / 2; by >= 1; by /= 2) extreme = better(extreme, turned(extreme, by));
  c.get(extreme).set(best);
  if (isFloat) {
    values.forEach((v, p) => {
      c.get(v).get(v).op(`${shape}.ne`);
      if (p > 0) c.op('v128.or');
    });
    any().if();
    c.v128(splatBytes(lane, Number.NaN)).set(best).get(range.hi).i32(lanes).op('i32.sub').set(position);
    c.end();
  }
  c.end();
  vectorLoop(position, range.hi, lanes, c, out);
}
