// Tiny kernels, interpreted op by op over whole arrays: no code is generated, so a first launch costs microseconds.
//
// A kernel becomes a list of steps; each is one loop over all positions. Everything that depends on axes and constants
// only is computed here, once. Loads of neighbouring elements read the buffer itself, and the last step writes the output
// itself, so a single op over plain operands is a single loop. Results equal the WebAssembly kernel's bit for bit, except
// float sums and products, whose order is their own.

import { byteSize, dtypeInfo, type TypedArray } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { axesOf, strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, ScalarType } from '../../../kernel/expr.ts';
import type { Accumulator, Kernel } from '../../../kernel/kernel.ts';
import { below, operands } from '../../../kernel/walk.ts';
import { folds, longSum } from './folds.ts';
import { aluLoop, castLoop, copyLoop, gatedLoop, gatherLoop, type Loop, narrow, widen } from './loops.ts';
import { type Operand, type TinyKernel, TinyStep, tinyKernel } from './run.ts';

/** Rough count of the loop iterations a kernel would take, without compiling it. */
export function tinyWork(kernel: Kernel): number {
  const seen = new Set<Expr>();
  const count = (e: Expr): number => {
    if (seen.has(e)) return 0;
    seen.add(e);
    let ops = e.kind === 'alu' || e.kind === 'cast' || e.kind === 'load' ? 1 : 0;
    for (const s of operands(e)) ops += count(s);
    return ops;
  };
  const positions = sizeOf(kernel.space);
  let work = 0;
  for (const a of kernel.accumulators) work += (count(a.value) + 1) * positions * sizeOf(kernel.reduced);
  // A constant is stored at every position, too.
  for (const o of kernel.outputs) work += Math.max(1, count(o.value)) * positions;
  return work;
}

/** Halves are computed with as floats, `index` as doubles. */
const arrayFor = (type: ScalarType, n: number): TypedArray => {
  if (type === 'index') return new Float64Array(n);
  const bytes = type === 'f16' || type === 'bf16' ? 4 : byteSize(type);
  const storage = type === 'f16' || type === 'bf16' ? Float32Array : dtypeInfo[type].storage;
  return new storage(new ArrayBuffer(n * bytes), 0, n);
};

const isHalf = (t: ScalarType): boolean => t === 'f16' || t === 'bf16';

const isStatic = (e: Expr, memo: Map<Expr, boolean>): boolean => {
  let known = memo.get(e);
  if (known === undefined) {
    known = e.kind !== 'load' && e.kind !== 'scalar' && e.kind !== 'acc' && operands(e).every((s) => isStatic(s, memo));
    memo.set(e, known);
  }
  return known;
};

class Compiler {
  readonly steps: TinyStep[] = [];
  readonly arrays: (TypedArray | null)[] = [];
  readonly #kernel: Kernel;
  readonly #scalars: number;
  readonly #accumulators = new Map<number, Operand>();
  readonly #static = new Map<Expr, boolean>();
  readonly #acc = new Map<Expr, boolean>();
  readonly #nothing: Operand;
  work = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    const buffers = kernel.inputs.length + kernel.outputs.length;
    for (let i = 0; i < buffers; i++) this.arrays.push(null);
    this.#scalars = this.arrays.length;
    for (const type of kernel.scalars) this.arrays.push(arrayFor(type, 1));
    this.#nothing = this.#temp(new Uint8Array(1), 0);
  }

  compile(): void {
    const kernel = this.#kernel;
    const rows = sizeOf(kernel.space);
    const length = sizeOf(kernel.reduced);
    if (kernel.accumulators.length > 0) {
      const order = orderOf(kernel);
      const inner = this.#stage(order.axes);
      kernel.accumulators.forEach((acc, slot) => {
        const type = acc.op === 'argmax' || acc.op === 'argmin' ? 'i32' : acc.type;
        const to = this.#temp(arrayFor(type, rows), 1);
        this.#accumulators.set(slot, to);
        this.work += rows * length;
        const product = length >= longSum && !order.columns ? productOf(acc, inner) : null;
        if (product) {
          this.steps.push(new TinyStep({}, rows, length, to, [...product, this.#nothing]));
          return;
        }
        const found = inner(acc.value);
        // Sums of values side by side are quick, and always in the same order; so are those down columns, however far these are apart.
        const apart = !order.columns && found.step !== 0 && found.step !== 1;
        const from = apart ? this.#into(acc.type, rows * length, copyLoop, found) : found;
        const fold = folds[acc.op](acc.type);
        const values = order.columns
          ? { ...from, step: rows * from.step, apart: from.step }
          : { ...from, apart: length * from.step };
        this.steps.push(new TinyStep({ fold }, rows, length, to, [values, this.#nothing, this.#nothing]));
      });
    }
    const outer = this.#stage(axesFrom(kernel.space, 0));
    // All outputs are computed before any is stored: an output may share its buffer with an input.
    const results = kernel.outputs.map((o) => outer(o.value));
    kernel.outputs.forEach((o, i) => {
      const to: Operand = { table: kernel.inputs.length + i, base: 0, step: 1 };
      const from = results[i]!;
      const last = this.steps[this.steps.length - 1];
      // A fold stores while it reads.
      const direct =
        kernel.outputs.length === 1 &&
        !isHalf(o.type) &&
        last?.to.table === from.table &&
        last.n === rows &&
        (last.loop !== null || kernel.inPlace.length === 0);
      if (direct) this.steps[this.steps.length - 1] = last.storing(to);
      else this.#emit(narrow[o.type] ?? copyLoop, rows, to, from);
    });
  }

  /** An evaluator of expressions over all positions of some axes, the last of which counts fastest. */
  #stage(axes: readonly Axis[]): (e: Expr) => Operand {
    const n = sizeOf(axes.map((a) => a.size));
    const known = new Map<Expr, Operand>();
    const evaluate = (e: Expr): Operand => {
      let made = known.get(e);
      if (!made) {
        made = isStatic(e, this.#static) ? this.#fixed(e, axes, n) : this.#build(e, n, evaluate);
        known.set(e, made);
      }
      return made;
    };
    return evaluate;
  }

  #build(e: Expr, n: number, evaluate: (e: Expr) => Operand): Operand {
    // What is the same at every position is computed once.
    const count = axesOf(e).size === 0 && !this.#readsAcc(e) ? 1 : n;
    switch (e.kind) {
      case 'scalar':
        return { table: this.#scalars + e.slot, base: 0, step: 0 };
      case 'acc':
        return this.#accumulators.get(e.slot)!;
      case 'load':
        return this.#load(e, count, n, evaluate);
      case 'cast': {
        const from = e.src[0].type;
        const a = evaluate(e.src[0]);
        return this.#into(e.type, count, castLoop(from, e.type, e.bits), a);
      }
      case 'alu': {
        const type = e.src[e.src.length - 1]!.type;
        const loop = aluLoop(e.op, type);
        if (!loop) throw new Error(`cpu: ${this.#kernel.name}: ${e.op} has no meaning for ${type}`);
        const [a, b, c] = e.src.map(evaluate) as [Operand, Operand?, Operand?];
        return this.#into(e.type, count, loop, a, b, c);
      }
      case 'const':
      case 'axis':
        throw new Error('cpu: constants and axes are static');
      default:
        return e satisfies never;
    }
  }

  #load(e: Expr & { kind: 'load' }, count: number, n: number, evaluate: (e: Expr) => Operand): Operand {
    const at = evaluate(e.index);
    const gate = e.gate && evaluate(e.gate);
    const fixed = this.arrays[at.table];
    const half = widen[e.type];
    if (!gate && fixed && isStatic(e.index, this.#static)) {
      const first = whole(Number(fixed[at.base]));
      const step = at.step === 0 ? 0 : spacing(fixed, n);
      if (step !== null) {
        const direct: Operand = { table: e.slot, base: first, step };
        return half ? this.#into(e.type, at.step === 0 ? 1 : n, half, direct) : direct;
      }
    }
    const source: Operand = { table: e.slot, base: 0, step: 1 };
    const storage = half ? new Uint16Array(count) : arrayFor(e.type, count);
    const to = this.#temp(storage, count === 1 ? 0 : 1);
    this.#emit(gate ? gatedLoop : gatherLoop, count, to, source, at, gate ?? this.#nothing);
    return half ? this.#into(e.type, count, half, to) : to;
  }

  #readsAcc(e: Expr): boolean {
    let known = this.#acc.get(e);
    if (known === undefined) {
      known = e.kind === 'acc' || operands(e).some((s) => this.#readsAcc(s));
      this.#acc.set(e, known);
    }
    return known;
  }

  /** A static expression, computed now. */
  #fixed(e: Expr, axes: readonly Axis[], n: number): Operand {
    const isOne = axesOf(e).size === 0;
    const count = isOne ? 1 : n;
    const known = new Map<Expr, TypedArray>();
    // Shared parts once: a random number is static if its seed is, and its expression is a web of shared parts.
    const value = (x: Expr): TypedArray => {
      let made = known.get(x);
      if (!made) known.set(x, (made = compute(x)));
      return made;
    };
    const compute = (x: Expr): TypedArray => {
      const out = arrayFor(x.type, count);
      if (x.kind === 'const') out.fill(x.value as never);
      else if (x.kind === 'axis') fillAxis(out, axes, x.axis);
      else if (x.kind === 'cast') {
        const a = value(x.src[0]);
        castLoop(x.src[0].type, x.type, x.bits)(count, out, 0, a, 0, 1, a, 0, 0, a, 0, 0);
      } else if (x.kind === 'alu') {
        const [a, b, c] = x.src.map(value) as [TypedArray, TypedArray?, TypedArray?];
        aluLoop(x.op, x.src[x.src.length - 1]!.type)!(count, out, 0, a, 0, 1, b ?? a, 0, 1, c ?? a, 0, 1);
      }
      return out;
    };
    return this.#temp(value(e), isOne ? 0 : 1);
  }

  #into(type: ScalarType, n: number, loop: Loop, a: Operand, b?: Operand, c?: Operand): Operand {
    const to = this.#temp(arrayFor(type, n), n === 1 ? 0 : 1);
    this.#emit(loop, n, to, a, b, c);
    return to;
  }

  #emit(loop: Loop, n: number, to: Operand, a: Operand, b = this.#nothing, c = this.#nothing): void {
    this.steps.push(new TinyStep({ loop }, n, 1, to, [a, b, c]));
    this.work += n;
  }

  #temp(array: TypedArray, step: 0 | 1): Operand {
    return { table: this.arrays.push(array) - 1, base: 0, step };
  }
}

/** The factors whose products a sum adds up, if both lie side by side; null elsewhere. */
function productOf(
  { op, type, value }: Accumulator,
  evaluate: (e: Expr) => Operand,
): readonly [Operand, Operand] | null {
  if (op !== 'sum' || type !== 'f32' || value.kind !== 'alu' || value.op !== 'mul') return null;
  const [first, second] = value.src as readonly [Expr, Expr];
  // A number and its size have the same square.
  const isSize = first === second && first.kind === 'alu' && first.op === 'abs';
  const [a, b] = (isSize ? [first.src[0]!, first.src[0]!] : [first, second]).map(evaluate) as [Operand, Operand];
  return a.step === 1 && b.step === 1 ? [a, b] : null;
}

/** A whole number as the engine holds those it counts with, not as the double it was computed as: a loop over doubles takes four times as long. */
const whole = (v: number): number => (v === (v | 0) ? v | 0 : v);

/** How far apart positions are, if all are equally far; else null. */
function spacing(at: TypedArray, n: number): number | null {
  const [first, step] = [Number(at[0]), n > 1 ? Number(at[1]) - Number(at[0]) : 1];
  for (let i = 2; i < n; i++) if (Number(at[i]) !== first + i * step) return null;
  return whole(step);
}

function fillAxis(out: TypedArray, axes: readonly Axis[], axis: number): void {
  const at = axes.findIndex((a) => a.axis === axis);
  let inner = 1;
  for (let d = at + 1; d < axes.length; d++) inner *= axes[d]!.size;
  const { size } = axes[at]!;
  for (let i = 0; i < out.length; i++) out[i] = Math.floor(i / inner) % size;
}

interface Axis {
  readonly axis: number;
  readonly size: number;
}

const axesFrom = (sizes: readonly number[], first: number): Axis[] =>
  sizes.map((size, k) => ({ axis: first + k, size }));

/**
 * In which order the values of reductions are computed: row by row, each of them reduced to one result; or the first values of all results,
 * then the second of all, where more is read in the order it lies in that way.
 */
function orderOf(kernel: Kernel): { readonly axes: readonly Axis[]; readonly columns: boolean } {
  const [space, reduced] = [axesFrom(kernel.space, 0), axesFrom(kernel.reduced, kernel.space.length)];
  const rowwise = [...space, ...reduced];
  const down = [...reduced, ...space];
  if (sizeOf(kernel.space) === 1 || sizeOf(kernel.reduced) === 1) return { axes: rowwise, columns: false };
  let more = 0;
  for (const e of below(kernel.accumulators.map((a) => a.value)))
    if (e.kind === 'load') more += Number(isEven(e.index, down)) - Number(isEven(e.index, rowwise));
  return more > 0 ? { axes: down, columns: true } : { axes: rowwise, columns: false };
}

/** Whether an index moves by the same distance from each position to the next. */
function isEven(index: Expr, axes: readonly Axis[]): boolean {
  let next: number | null = null;
  for (const { axis, size } of [...axes].reverse()) {
    if (size === 1) continue;
    const stride = strideAlong(index, axis);
    if (stride === null || (next !== null && stride !== next)) return false;
    next = stride * size;
  }
  return true;
}

export function compileTiny(kernel: Kernel): TinyKernel {
  const compiler = new Compiler(kernel);
  compiler.compile();
  return tinyKernel(kernel, compiler);
}
