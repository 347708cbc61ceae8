// Loops over usual elements, which leave for rare ones.
//
// Functions have ways that few elements take: huge angles, subnormal numbers, infinities (`kernel/arms.ts`). A branch around such a way within
// the loop costs more than its test: whatever is alive at it goes to memory, each time. So the loop has two bodies. The first is made
// as if no element took such a way; it tests that before it stores anything, and leaves for the second if one does. That one
// takes every way, for some elements, and goes back.

import type { Expr } from '../../../kernel/expr.ts';
import type { Code } from '../wasm/code.ts';
import type { Emitter } from './emitter.ts';
import { vectorLoop } from './nest.ts';
import type { WasmScope } from './scope.ts';

/** Bodies that take every way before usual elements are expected again. */
const stretch = 4;

/** From the body of the first loop to the block around it: past the loop, and the test before it. */
const outOfLoop = 2;

/** A loop of bodies, as `vectorLoop` makes them. */
export interface Bodies {
  readonly position: number;
  readonly hi: number;
  readonly lanes: number;
  /** A new scope for a body. */
  readonly scope: (rare: Set<Expr> | null) => WasmScope;
  /** Computes, calls `between`, and stores or takes in what was computed. */
  readonly emit: (s: WasmScope, between: () => void) => void;
}

/** Emits the loop, with two bodies if there is anything rare. */
export function bodiesLoop(em: Emitter, b: Bodies, out: Code): void {
  const { position, hi, lanes } = b;
  const rare = new Set<Expr>();
  const usual = b.scope(rare);
  let tested = 0;
  b.emit(usual, () => {
    if (rare.size > 0) {
      em.anyRare(usual);
      usual.code.leaveIf(outOfLoop);
    }
    tested = rare.size;
  });
  if (rare.size > tested) throw new Error('cpu: a condition came up after the test for rare elements');
  if (rare.size === 0) {
    vectorLoop(position, hi, lanes, usual.code, out);
    return;
  }
  const every = b.scope(null);
  b.emit(every, () => {});
  const end = em.local('i32');
  const done = out.block();
  const again = out.loop();
  out.block();
  vectorLoop(position, hi, lanes, usual.code, out);
  out.br(done).end();
  // No further than the loop goes.
  out
    .get(position)
    .i32(stretch * lanes)
    .op('i32.add')
    .get(hi);
  out
    .get(hi)
    .get(position)
    .op('i32.sub')
    .i32(stretch * lanes)
    .ops('i32.ge_u', 'select')
    .set(end);
  vectorLoop(position, end, lanes, every.code, out);
  out.br(again).end().end();
}
