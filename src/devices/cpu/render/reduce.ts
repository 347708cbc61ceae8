// Kernels with a reduction.
//
//   rows       the vector runs along a reduced axis; lanes are folded at the end of each output
//   columns    the vector runs along an output axis; each lane is an output of its own
//
// If there are few outputs and much to reduce, the longest reduced axis is cut into a fixed number of slices, a function of
// sizes only. Each slice leaves its state in the scratch and `finish` combines them in order.

import type { Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Code } from '../wasm/code.ts';
import type { WasmModule } from '../wasm/module.ts';
import { finished, fold, formOf, mergeInto, type Registers, State, type StateForm, taken } from './accumulator.ts';
import { Emitter } from './emitter.ts';
import { chunkAxis, chunkRange, positionOf, type Rendered } from './map.ts';
import { argsLayout, type RenderOptions } from './module.ts';
import { type Counted, countedLoop, emitCase, itemLoops, type Range, vectorLoop } from './nest.ts';
import { bodiesNeeded, grainOf } from './plan.ts';
import { planReduction, type ReductionPlan, sliceAxis } from './reduce-plan.ts';
import { epilogueDepth, WasmScope } from './scope.ts';
import { isSearched, searchRow } from './search.ts';
import { casesOf, loopsOf } from './segments.ts';
import { loadStates, storeStates } from './states.ts';
import { emitStores, type Target } from './store.ts';

/** Additions of f32 in a row before the sum moves to f64. */
const blockLength = 128;

export function renderReduction(kernel: Kernel, exprs: Exprs, module: WasmModule, options: RenderOptions): Rendered {
  const plan = planReduction(kernel);
  const forms = kernel.accumulators.map((a) => formOf(a, plan.slices > 1 || plan.perLane > blockLength));
  new Reduction(kernel, exprs, module, options, plan, forms).render();
  const slots = forms.reduce((n, f) => n + (f.kind === 'arg' ? 2 : 1), 0);
  const split = plan.slices > 1;
  if (split) renderFinish(kernel, exprs, module, options, plan, forms);
  return {
    items: plan.items,
    grain: grainOf(plan.itemElements, plan.cost),
    parts: split ? plan.items : 0,
    scratchBytes: split ? plan.slices * plan.outputs * slots * 8 : 0,
    lanes: bodiesNeeded(plan.bodies, plan.vector.size)[0]!,
  };
}

class Reduction {
  readonly #kernel: Kernel;
  readonly #exprs: Exprs;
  readonly #plan: ReductionPlan;
  readonly #forms: readonly StateForm[];
  readonly #em: Emitter;
  readonly #items: Counted[];
  readonly #scopes: WasmScope[];
  readonly #position: Expr;
  readonly #vectorDepth: number;

  constructor(
    kernel: Kernel,
    exprs: Exprs,
    module: WasmModule,
    options: RenderOptions,
    plan: ReductionPlan,
    forms: readonly StateForm[],
  ) {
    this.#kernel = kernel;
    this.#exprs = exprs;
    this.#plan = plan;
    this.#forms = forms;
    const depths = new Map<number, number>();
    const order =
      plan.form === 'rows'
        ? [...plan.loops, ...plan.reduced, plan.vector]
        : [...plan.loops, plan.vector, ...plan.reduced];
    order.forEach((a, k) => {
      depths.set(a.axis, k + 1);
    });
    this.#vectorDepth = depths.get(plan.vector.axis)!;
    this.#em = new Emitter({
      func: module.func(['i32', 'i32', 'i32'], [], 'run'),
      exprs,
      layout: argsLayout(kernel),
      depths,
      vectorAxis: plan.vector.axis,
      accVaries: plan.form === 'columns',
      relaxed: options.relaxed ?? false,
    });
    for (const a of order) this.#em.positions.set(a.axis, this.#em.local('i32'));
    this.#items = plan.loops.map((a) => this.#counted(a));
    this.#scopes = [new WasmScope(0, null)];
    for (let k = 0; k < plan.loops.length; k++) this.#scopes.push(new WasmScope(k + 1, this.#scopes[k]!));
    this.#position = reducedPosition(kernel, exprs);
  }

  #counted(a: { readonly axis: number; readonly size: number }): Counted {
    return { position: this.#em.positions.get(a.axis)!, size: a.size };
  }

  render(): void {
    const inner = new Code();
    if (this.#plan.form === 'rows') this.#rows(inner);
    else this.#columns(inner);
    this.#em.func.code.append(itemLoops(this.#em, this.#items, this.#scopes, inner));
  }

  #values(): Expr[] {
    return this.#kernel.accumulators.map((a, k) => taken(this.#exprs, this.#forms[k]!, a.value));
  }

  /** The part of an axis that the present item handles: all of it, or its slice. */
  #range(axis: number, size: number, out: Code): Range {
    const em = this.#em;
    const [lo, hi] = [em.local('i32'), em.local('i32')];
    const { slices, sliced, sliceLength } = this.#plan;
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
    const { inputs, outputs } = this.#kernel;
    const index = positionOf(this.#kernel, this.#exprs);
    return outputs.map((o, k) => ({
      output: { type: o.type, value: values[k]! },
      buffer: inputs.length + k,
      index,
    }));
  }

  /** Stores outputs, or the states of a slice, from finished registers. */
  #conclude(results: readonly Registers[], outputs: readonly Expr[], parent: WasmScope, out: Code): void {
    const em = this.#em;
    const s = new WasmScope(epilogueDepth, parent, parent === this.#scopes[this.#scopes.length - 1] ? 1 : parent.lanes);
    if (this.#plan.slices > 1) {
      storeStates(em, this.#kernel, this.#forms, results, this.#plan, s);
    } else {
      em.accumulators = results.map((r, k) => finished(em, s.code, this.#forms[k]!, r));
      emitStores(em, this.#targets(outputs), s);
    }
    out.append(s.code);
  }

  #rows(inner: Code): void {
    const { plan, em } = { plan: this.#plan, em: this.#em };
    const outputs = this.#kernel.outputs.map((o) => o.value);
    const scopes: WasmScope[] = [this.#scopes[this.#scopes.length - 1]!];
    for (const _ of plan.reduced)
      scopes.push(new WasmScope(scopes[0]!.depth + scopes.length, scopes[scopes.length - 1]!));
    const row = scopes[scopes.length - 1]!;
    const v = plan.vector;
    const cases = casesOf(this.#values(), {
      exprs: this.#exprs,
      axis: v.axis,
      size: v.size,
      uniform: (e) => !em.info(e).varying,
      pin: (load) => em.pin(load),
    });
    const loops = loopsOf(cases);
    for (const loop of loops) em.count(loop.roots);
    em.count(outputs);
    const whole = cases.kind === 'loop' && (plan.slices === 1 || plan.sliced !== v.axis) ? v.size : null;
    const bodies = bodiesNeeded(plan.bodies, whole);
    const [form] = this.#forms as [StateForm];
    if (cases.kind === 'loop' && this.#forms.length === 1 && isSearched(form, plan)) {
      const found = searchRow(
        em,
        {
          form,
          value: cases.roots[0]!,
          position: em.positions.get(v.axis)!,
          range: this.#range(v.axis, v.size, inner),
          bodies,
          scope: (lanes) => new WasmScope(this.#vectorDepth, row, lanes),
        },
        inner,
      );
      this.#conclude([found], outputs, scopes[0]!, inner);
      return;
    }
    const states = bodies.map((lanes) => this.#forms.map((form) => new State(em, form, lanes, true)));
    const flush = (out: Code): void => {
      for (const list of states) for (const state of list) state.flush(out);
    };
    const blocked = this.#forms.some((f) => f.kind === 'blocked');
    const position = em.positions.get(v.axis)!;

    let body = new Code();
    const range = this.#range(v.axis, v.size, body);
    emitCase(em, cases, range, v.size, row, body, (loop, { lo, hi }, out) => {
      out.get(lo).set(position);
      bodies.forEach((lanes, k) => {
        const s = new WasmScope(this.#vectorDepth, row, lanes);
        states[k]!.forEach((state, slot) => {
          state.step(loop.roots[slot]!, this.#position, s);
        });
        if (!blocked || k > 0 || v.size <= blockLength * lanes) {
          vectorLoop(position, hi, lanes, s.code, out);
          return;
        }
        this.#inBlocks(position, hi, lanes, s.code, out, (c) => {
          for (const state of states[k]!) state.flush(c);
        });
      });
    });
    if (blocked && plan.reduced.length > 0) {
      const steps = Math.ceil(v.size / plan.bodies[0]!) + 8;
      this.#flushEvery(Math.max(1, Math.floor(blockLength / steps)), flush, body);
    }
    for (let k = plan.reduced.length - 1; k >= 0; k--) body = this.#reducedLoop(plan.reduced[k]!, scopes[k + 1]!, body);
    for (const list of states) for (const state of list) state.init(inner);
    inner.append(body);
    for (const list of states) for (const state of list) state.settle(inner);
    const results = this.#forms.map((form, slot) => {
      const lists = states.map((list) => fold(em, inner, form, list[slot]!.registers()));
      const [first, ...others] = lists as [Registers, ...Registers[]];
      for (const other of others) mergeInto(em, inner, form, first, other);
      return first;
    });
    this.#conclude(results, outputs, scopes[0]!, inner);
  }

  #columns(inner: Code): void {
    const { plan, em } = { plan: this.#plan, em: this.#em };
    const accs = this.#kernel.accumulators.length;
    const row = this.#scopes[this.#scopes.length - 1]!;
    const v = plan.vector;
    const roots = [...this.#values(), ...this.#kernel.outputs.map((o) => o.value)];
    const cases = casesOf(roots, {
      exprs: this.#exprs,
      axis: v.axis,
      size: v.size,
      // A split happens outside the reduction, so it cannot use what changes within.
      uniform: (e) => !em.info(e).varying && em.info(e).depth < this.#vectorDepth,
      pin: (load) => em.pin(load),
    });
    for (const loop of loopsOf(cases)) em.count(loop.roots);
    const whole = cases.kind === 'loop' ? v.size : null;
    const position = em.positions.get(v.axis)!;
    const range = chunkRange(em, v.size, plan.chunks, inner);
    emitCase(em, cases, range, v.size, row, inner, (loop, { lo, hi }, out) => {
      out.get(lo).set(position);
      for (const lanes of bodiesNeeded(plan.bodies, whole)) {
        const s = new WasmScope(this.#vectorDepth, row, lanes);
        const body = this.#column(loop.roots.slice(0, accs), loop.roots.slice(accs), s);
        vectorLoop(position, hi, lanes, body, out);
      }
    });
  }

  /** The whole reduction for the lanes of one body. */
  #column(values: readonly Expr[], outputs: readonly Expr[], s: WasmScope): Code {
    const { plan, em } = { plan: this.#plan, em: this.#em };
    const states = this.#forms.map((form) => new State(em, form, s.lanes, false));
    const scopes: WasmScope[] = [s];
    for (const _ of plan.reduced) scopes.push(new WasmScope(s.depth + scopes.length, scopes[scopes.length - 1]!));
    const deepest = plan.reduced.length > 0 ? scopes[scopes.length - 1]! : new WasmScope(s.depth + 1, s);
    states.forEach((state, slot) => {
      state.step(values[slot]!, this.#position, deepest);
    });
    const flush = (c: Code): void => {
      for (const state of states) state.flush(c);
    };
    const blocked = this.#forms.some((f) => f.kind === 'blocked');
    let body = new Code();
    if (plan.reduced.length === 0) body.append(deepest.code);
    for (let k = plan.reduced.length - 1; k >= 0; k--) {
      const loop = plan.reduced[k]!;
      const innermost = k === plan.reduced.length - 1;
      if (innermost && blocked && loop.size > blockLength) {
        const out = new Code();
        const { lo, hi } = this.#range(loop.axis, loop.size, out);
        const position = em.positions.get(loop.axis)!;
        out.get(lo).set(position);
        this.#inBlocks(position, hi, 1, scopes[k + 1]!.code, out, flush);
        body = out;
        continue;
      }
      if (k === plan.reduced.length - 2 && blocked) {
        this.#flushEvery(Math.max(1, Math.floor(blockLength / plan.reduced[k + 1]!.size)), flush, body);
      }
      body = this.#reducedLoop(loop, scopes[k + 1]!, body);
    }
    const whole = new Code();
    for (const state of states) state.init(whole);
    whole.append(body);
    for (const state of states) state.settle(whole);
    this.#conclude(
      states.map((state) => state.registers()),
      outputs,
      s,
      whole,
    );
    return new Code().append(s.code).append(whole);
  }

  /** Runs a loop in blocks of `blockLength` steps, with something to do after each. */
  #inBlocks(position: number, hi: number, lanes: number, body: Code, out: Code, after: (c: Code) => void): void {
    const end = this.#em.local('i32');
    const block = blockLength * lanes;
    const left = (): Code => out.get(hi).get(position).op('i32.sub');
    left().i32(lanes).op('i32.ge_u').if();
    const top = out.loop();
    out.get(position).i32(block).op('i32.add').get(hi);
    left().i32(block).op('i32.gt_u').op('select').set(end);
    vectorLoop(position, end, lanes, body, out);
    after(out);
    left().i32(lanes).op('i32.ge_u').brIf(top);
    out.end().end();
  }

  #flushEvery(times: number, flush: (c: Code) => void, out: Code): void {
    if (times === 1) {
      flush(out);
      return;
    }
    const count = this.#em.local('i32');
    out.get(count).i32(1).op('i32.add').tee(count).i32(times).op('i32.ge_u').if();
    out.i32(0).set(count);
    flush(out);
    out.end();
  }

  #reducedLoop(loop: { readonly axis: number; readonly size: number }, scope: WasmScope, inner: Code): Code {
    if (this.#plan.slices === 1 || this.#plan.sliced !== loop.axis)
      return countedLoop(this.#counted(loop), scope, inner);
    const out = new Code();
    const { lo, hi } = this.#range(loop.axis, loop.size, out);
    const position = this.#em.positions.get(loop.axis)!;
    out.get(lo).set(position);
    const body = new Code();
    body.append(scope.code).append(inner);
    vectorLoop(position, hi, 1, body, out);
    return out;
  }
}

/** The row-major position within the reduced axes: what argmax counts. */
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

/** finish(args): for each output, the states of all slices in order, then the epilogue. */
function renderFinish(
  kernel: Kernel,
  exprs: Exprs,
  module: WasmModule,
  options: RenderOptions,
  plan: ReductionPlan,
  forms: readonly StateForm[],
): void {
  const axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1);
  const depths = new Map(axes.map((a, k) => [a.axis, k + 1]));
  depths.set(sliceAxis, axes.length + 1);
  const em = new Emitter({
    func: module.func(['i32'], [], 'finish'),
    exprs,
    layout: argsLayout(kernel),
    depths,
    vectorAxis: chunkAxis,
    accVaries: false,
    relaxed: options.relaxed ?? false,
  });
  const scopes = [new WasmScope(0, null)];
  for (let k = 0; k < axes.length; k++) scopes.push(new WasmScope(k + 1, scopes[k]!));
  for (const a of [...axes, { axis: sliceAxis }]) em.positions.set(a.axis, em.local('i32'));
  const outputs = kernel.outputs.map((o) => o.value);
  em.count(outputs);
  const row = scopes[scopes.length - 1]!;
  const slice = new WasmScope(row.depth + 1, row);
  const { running, init } = loadStates(em, kernel, forms, plan, slice);
  const inner = new Code();
  init(inner);
  inner.append(countedLoop({ position: em.positions.get(sliceAxis)!, size: plan.slices }, slice, new Code()));
  const s = new WasmScope(epilogueDepth, row, 1);
  em.accumulators = running.map((r, k) => finished(em, s.code, forms[k]!, r));
  const index = positionOf(kernel, exprs);
  emitStores(
    em,
    kernel.outputs.map((output, k) => ({ output, buffer: kernel.inputs.length + k, index })),
    s,
  );
  inner.append(s.code);
  let body = inner;
  for (let k = axes.length - 1; k >= 0; k--) {
    body = countedLoop({ position: em.positions.get(axes[k]!.axis)!, size: axes[k]!.size }, scopes[k + 1]!, body);
  }
  em.func.code.append(scopes[0]!.code).append(body);
}
