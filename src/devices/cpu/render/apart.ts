// Long work that reads nothing, such as random numbers, computed before the rest of a body and apart from it.
//
// Engines sort the instructions of a stretch without branches anew. They mix the rounds of all draws with the loads of a stencil; then there
// are far more values than registers, and four of ten instructions move values to memory and back (V8, noise and the 27 values around each
// cell: 1,675 instructions for 8 vectors, of which 673 are such moves; apart 1,427 and 372). A branch ends such a stretch. This one is never
// taken, and would change the values: so they are there before it, and nothing behind it is mixed with them.

import type { Expr } from '../../../kernel/expr.ts';
import { below, operands } from '../../../kernel/walk.ts';
import type { Emitter } from './emitter.ts';
import { splatBytes } from './lanes.ts';
import type { WasmScope } from './scope.ts';

/** Shorter work is not worth a branch. */
const longWork = 40;
/** Fewer loads leave enough registers. */
const manyLoads = 8;
/** Pieces that have so much of their work in common are computed together. */
const muchShared = 0.25;

/** Computes the pieces of such work that the roots of a body have in common with nothing else, if there are several. */
export function computeApart(em: Emitter, roots: readonly Expr[], s: WasmScope): void {
  const position = em.positions.get(em.vectorAxis);
  if (roots.length < 2 || position === undefined || em.parts(s, 32) > 1) return;
  const isOwn = (e: Expr): boolean => em.info(e).varying && s.at(em.info(e).depth) === s;
  const loads = [...below(roots)].filter((e) => e.kind === 'load' && isOwn(e));
  if (loads.length < manyLoads) return;
  const groups = grouped(piecesOf(roots, isOwn), isOwn);
  if (groups.length < 2) return;
  for (const group of groups) {
    const locals = group.map((e) => {
      const local = em.temp();
      em.vec(e, 0, s);
      s.code.set(local);
      s.memo.set(`v${e.id}.0`, local);
      return local;
    });
    s.code.get(position).i32(-1).op('i32.eq').if();
    for (const local of locals) s.code.v128(splatBytes('u8', 0)).set(local);
    s.code.end();
  }
}

/** The largest expressions of 32 bits that read nothing and take long. */
function piecesOf(roots: readonly Expr[], isOwn: (e: Expr) => boolean): Expr[] {
  const reading = new Map<Expr, boolean>();
  const reads = (e: Expr): boolean => {
    let known = reading.get(e);
    if (known === undefined) reading.set(e, (known = (e.kind === 'load' && isOwn(e)) || operands(e).some(reads)));
    return known;
  };
  const pieces: Expr[] = [];
  const seen = new Set<Expr>();
  const open = [...roots].reverse();
  for (let e = open.pop(); e; e = open.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    if (e.type === 'f32' && !reads(e)) {
      if (isOwn(e) && workOf(e, isOwn).size >= longWork) pieces.push(e);
    } else open.push(...[...operands(e)].reverse());
  }
  return pieces;
}

const workOf = (e: Expr, isOwn: (e: Expr) => boolean): ReadonlySet<Expr> =>
  new Set([...below([e])].filter((x) => (x.kind === 'alu' || x.kind === 'cast') && isOwn(x)));

/** Pieces that share much of their work, together: two numbers are made of each draw. */
function grouped(pieces: readonly Expr[], isOwn: (e: Expr) => boolean): Expr[][] {
  const groups: { readonly work: ReadonlySet<Expr>; readonly members: Expr[] }[] = [];
  for (const e of pieces) {
    const work = workOf(e, isOwn);
    const like = groups.find((g) => [...work].filter((x) => g.work.has(x)).length >= muchShared * work.size);
    if (like) like.members.push(e);
    else groups.push({ work, members: [e] });
  }
  return groups.map((g) => g.members);
}
