// What the two forms of a reduction share while they are generated: the emitter, the loops over items, the stores at the end.

import type { Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Code } from '../wasm/code.ts';
import type { WasmModule } from '../wasm/module.ts';
import { finished, type Registers, type State, type StateForm, taken } from './accumulator.ts';
import { Emitter } from './emitter.ts';
import { positionOf } from './map.ts';
import { argsLayout, type RenderOptions } from './module.ts';
import { type Counted, countedLoop, type Range, vectorLoop } from './nest.ts';
import { type ReductionPlan, sliceAxis } from './reduce-plan.ts';
import { epilogueDepth, WasmScope } from './scope.ts';
import { storeStates } from './states.ts';
import { emitStores, type Target } from './store.ts';
import { bodiesLoop } from './usual.ts';

/** A kernel with a reduction, and where and how its code is made. */
export interface Reduction {
  readonly kernel: Kernel;
  readonly exprs: Exprs;
  readonly module: WasmModule;
  readonly options: RenderOptions;
  readonly plan: ReductionPlan;
  /** What is kept of each accumulator. */
  readonly forms: readonly StateForm[];
}

export class ReductionFrame {
  readonly kernel: Kernel;
  readonly exprs: Exprs;
  readonly plan: ReductionPlan;
  readonly forms: readonly StateForm[];
  readonly em: Emitter;
  /** The loops over items, and their scopes: the head of the function first. */
  readonly items: readonly Counted[];
  readonly scopes: readonly WasmScope[];
  /** The row-major position within the reduced axes: what argmax counts. */
  readonly position: Expr;
  readonly vectorDepth: number;

  constructor({ kernel, exprs, module, options, plan, forms }: Reduction) {
    this.kernel = kernel;
    this.exprs = exprs;
    this.plan = plan;
    this.forms = forms;
    const depths = new Map<number, number>();
    const order =
      plan.form === 'rows'
        ? [...plan.loops, ...plan.reduced, plan.vector]
        : [...plan.loops, plan.vector, ...plan.reduced];
    order.forEach((a, k) => {
      depths.set(a.axis, k + 1);
    });
    this.vectorDepth = depths.get(plan.vector.axis)!;
    this.em = new Emitter({
      func: module.func(['i32', 'i32', 'i32'], [], 'run'),
      exprs,
      layout: argsLayout(kernel),
      depths,
      vectorAxis: plan.vector.axis,
      accVaries: plan.form === 'columns',
      relaxed: options.relaxed ?? false,
    });
    for (const a of order) this.em.positions.set(a.axis, this.em.local('i32'));
    this.items = plan.loops.map((a) => this.#counted(a));
    const scopes = [new WasmScope(0, null)];
    for (let k = 0; k < plan.loops.length; k++) scopes.push(new WasmScope(k + 1, scopes[k]!));
    this.scopes = scopes;
    this.position = reducedPosition(kernel, exprs);
  }

  /** The scope of the innermost loop over items. */
  get item(): WasmScope {
    return this.scopes[this.scopes.length - 1]!;
  }

  #counted(a: { readonly axis: number; readonly size: number }): Counted {
    return { position: this.em.positions.get(a.axis)!, size: a.size };
  }

  values(): Expr[] {
    return this.kernel.accumulators.map((a, k) => taken(this.exprs, this.forms[k]!, a.value));
  }

  /** The part of an axis that the present item handles: all of it, or its slice. */
  range(axis: number, size: number, out: Code): Range {
    const { em } = this;
    const [lo, hi] = [em.local('i32'), em.local('i32')];
    const { slices, sliced, sliceLength } = this.plan;
    if (slices === 1 || sliced !== axis) {
      out.i32(0).set(lo).i32(size).set(hi);
      return { lo, hi };
    }
    out.get(em.positions.get(sliceAxis)!).i32(sliceLength).op('i32.mul').tee(lo).i32(sliceLength).op('i32.add').set(hi);
    out.i32(size).get(lo).op('i32.sub').i32(sliceLength).op('i32.lt_u').if();
    out.i32(size).set(hi).end();
    return { lo, hi };
  }

  #targets(values: readonly Expr[]): Target[] {
    const { inputs, outputs } = this.kernel;
    const index = positionOf(this.kernel, this.exprs);
    return outputs.map((o, k) => ({
      output: { type: o.type, value: values[k]! },
      buffer: inputs.length + k,
      index,
    }));
  }

  /** Stores outputs, or the states of a slice, from finished registers. */
  conclude(results: readonly Registers[], outputs: readonly Expr[], parent: WasmScope, out: Code): void {
    const { em } = this;
    const s = new WasmScope(epilogueDepth, parent, parent === this.item ? 1 : parent.lanes);
    if (this.plan.slices > 1) {
      storeStates(em, this.kernel, this.forms, results, this.plan, s);
    } else {
      em.accumulators = results.map((r, k) => finished(em, s.code, this.forms[k]!, r));
      emitStores(em, this.#targets(outputs), s);
    }
    out.append(s.code);
  }

  /**
   * A loop of steps that take values into states: up to `hi`, `lanes` positions a step. `whole`: all lanes are folded into one result, so a
   * loop ends where that is known.
   */
  steps(
    position: number,
    lanes: number,
    scope: (rare: Set<Expr> | null) => WasmScope,
    values: readonly Expr[],
    states: readonly State[],
    whole = false,
  ): (hi: number, out: Code) => void {
    const { em } = this;
    const [only] = states;
    const ends = whole && states.length === 1 && only!.mayEnd;
    const emit =
      (hi: number) =>
      (s: WasmScope, between: () => void): void => {
        if (s.rare) em.ready(values, s);
        between();
        states.forEach((state, slot) => {
          state.step(values[slot]!, this.position, s);
        });
        // The body for rare elements has an end of its own: it goes back to the other.
        if (ends && s.rare) {
          only!.isKnown(s.code);
          s.code.if();
          s.code.get(hi).i32(lanes).op('i32.sub').set(position).end();
        }
      };
    return (hi, out) => bodiesLoop(em, { position, hi, lanes, scope, emit: emit(hi) }, out);
  }

  /** Runs a loop in blocks of `plan.block` steps, with something to do after each. */
  inBlocks(
    position: number,
    hi: number,
    lanes: number,
    loop: (hi: number, out: Code) => void,
    out: Code,
    after: (c: Code) => void,
  ): void {
    const end = this.em.local('i32');
    const block = this.plan.block * lanes;
    const left = (): Code => out.get(hi).get(position).op('i32.sub');
    left().i32(lanes).op('i32.ge_u').if();
    const top = out.loop();
    out.get(position).i32(block).op('i32.add').get(hi);
    left().i32(block).op('i32.gt_u').op('select').set(end);
    loop(end, out);
    after(out);
    left().i32(lanes).op('i32.ge_u').brIf(top);
    out.end().end();
  }

  flushEvery(times: number, flush: (c: Code) => void, out: Code): void {
    if (times === 1) {
      flush(out);
      return;
    }
    const count = this.em.local('i32');
    out.get(count).i32(1).op('i32.add').tee(count).i32(times).op('i32.ge_u').if();
    out.i32(0).set(count);
    flush(out);
    out.end();
  }

  reducedLoop(loop: { readonly axis: number; readonly size: number }, scope: WasmScope, inner: Code): Code {
    if (this.plan.slices === 1 || this.plan.sliced !== loop.axis) return countedLoop(this.#counted(loop), scope, inner);
    const out = new Code();
    const { lo, hi } = this.range(loop.axis, loop.size, out);
    const position = this.em.positions.get(loop.axis)!;
    out.get(lo).set(position);
    const body = new Code();
    body.append(scope.code).append(inner);
    vectorLoop(position, hi, 1, body, out);
    return out;
  }
}

function reducedPosition(kernel: Kernel, exprs: Exprs): Expr {
  let index: Expr = exprs.const('index', 0);
  let stride = 1;
  for (let k = kernel.reduced.length - 1; k >= 0; k--) {
    const size = kernel.reduced[k]!;
    const axis = exprs.axis(kernel.space.length + k, size);
    index = exprs.alu('add', index, exprs.alu('mul', axis, exprs.const('index', stride)));
    stride *= size;
  }
  return index;
}
