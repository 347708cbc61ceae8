// Turns graph vertices into scalar expressions: the value of a vertex at a position.
//
// Movement ops only change the position; nothing is copied. A vertex that is stored becomes a load, everything else is
// computed in place. `evaluations` remembers at how many different positions each vertex was needed, from which the
// fusion decides what is worth storing after all.

import { type DType, intRange, isSigned } from '../base/dtype.ts';
import { stridesOf } from '../base/shape.ts';
import { bounds, integerBounds } from '../kernel/bounds.ts';
import { type Expr, Exprs } from '../kernel/expr.ts';
import type { Accumulator, BufferParam } from '../kernel/kernel.ts';
import { args } from './args.ts';
import type { Vertex } from './canonical.ts';

/** Raised when a value of the kernel itself is needed at another position, or before its loop has ended. */
export class PositionConflict extends Error {}

export interface LowerContext {
  /** Vertices that have, or will have, a buffer. */
  readonly stored: ReadonlySet<Vertex>;
  /** Stored by this very kernel. */
  readonly roots: ReadonlySet<Vertex>;
  /** Reductions computed by this very kernel. */
  readonly reduces: ReadonlySet<Vertex>;
  readonly space: readonly number[];
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export class Lowering {
  readonly b = new Exprs();
  readonly inputs: Vertex[] = [];
  /** Numbers of the program's launch scalars, by kernel slot. */
  readonly scalars: number[] = [];
  readonly scalarTypes: DType[] = [];
  readonly accumulators: Accumulator[] = [];
  readonly evaluations = new Map<Vertex, Set<Expr>>();
  readonly #context: LowerContext;
  readonly #memo = new Map<string, Expr>();
  readonly #reduceSlots = new Map<Vertex, number>();
  /** Positions that are others moved around their axis. */
  readonly #rolls = new Map<Expr, { readonly base: Expr; readonly shift: number; readonly size: number }>();
  /** The position in a root's shape of the element that is written: its linear position is known, and found again. */
  #written: { readonly at: readonly Expr[]; readonly shape: readonly number[] } | null = null;
  readonly #here: Expr;
  #inLoop = false;

  constructor(context: LowerContext) {
    this.#context = context;
    this.#here = this.linear(this.spacePosition(), context.space);
  }

  get params(): BufferParam[] {
    return this.inputs.map((v) => ({ type: v.dtype, elements: v.size }));
  }

  spacePosition(): Expr[] {
    return this.#context.space.map((size, i) => this.b.axis(i, size));
  }

  /** The value that is written for a root. */
  root(v: Vertex): Expr {
    if (v.op === 'const') return this.#constant(v);
    const at = this.reshaped(this.spacePosition(), this.#context.space, v.shape);
    this.#written = { at, shape: v.shape };
    return this.#compute(v, at, null);
  }

  linear(position: readonly Expr[], shape: readonly number[]): Expr {
    const written = this.#written;
    if (written && sameItems(written.at, position) && sameItems(written.shape, shape)) return this.#here;
    const strides = stridesOf(shape);
    let sum: Expr = this.b.const('index', 0);
    position.forEach((p, i) => {
      sum = this.#plus(sum, this.#times(p, strides[i]!));
    });
    return sum;
  }

  /** The same element's position in another shape of the same size. */
  reshaped(position: readonly Expr[], from: readonly number[], to: readonly number[]): Expr[] {
    if (from.length === to.length && from.every((d, i) => d === to[i])) return [...position];
    const flat = this.linear(position, from);
    return stridesOf(to).map((stride, i) => {
      const q = this.b.alu('idiv', flat, this.#index(stride));
      return i === 0 ? (to[0] === 1 ? this.#index(0) : q) : this.b.alu('imod', q, this.#index(to[i]!));
    });
  }

  #value(v: Vertex, position: readonly Expr[], gate: Expr | null): Expr {
    if (v.op === 'const') return this.#constant(v);
    const { stored, roots, reduces } = this.#context;
    // Inside the loop nothing is known yet of what the loop is for.
    if (this.#inLoop && (reduces.has(v) || roots.has(v))) throw new PositionConflict();
    if (reduces.has(v)) return this.#reduction(v, position);
    if (v.op === 'leaf' || (stored.has(v) && !roots.has(v))) return this.#load(v, position, gate);
    if (roots.has(v) && this.linear(position, v.shape) !== this.#here) throw new PositionConflict();
    return this.#compute(v, position, gate);
  }

  #compute(v: Vertex, position: readonly Expr[], gate: Expr | null): Expr {
    if (v.op === 'reduce' && this.#context.reduces.has(v)) return this.#reduction(v, position);
    const key = `${v.id}|${position.map((p) => p.id).join()}|${gate?.id ?? ''}`;
    let known = this.#memo.get(key);
    if (!known) {
      let seen = this.evaluations.get(v);
      if (!seen) this.evaluations.set(v, (seen = new Set()));
      this.#memo.set(key, (known = this.#build(v, position, gate)));
      seen.add(known);
    }
    return known;
  }

  #build(v: Vertex, at: readonly Expr[], gate: Expr | null): Expr {
    const b = this.b;
    const [first] = v.sources as [Vertex];
    switch (v.op) {
      case 'iota':
        return b.cast(v.dtype, at[args.axisOf(v)]!);
      case 'alu':
        // A source of rank 0 serves every position.
        return b.alu(args.aluOf(v), ...v.sources.map((s) => this.#value(s, s.shape.length === 0 ? [] : at, gate)));
      case 'cast':
        return b.cast(v.dtype, this.#value(first, at, gate));
      case 'bitcast':
        return b.bitcast(v.dtype, this.#value(first, at, gate));
      case 'first':
        return this.#value(first, at, gate);
      case 'reshape':
        return this.#value(first, this.reshaped(at, v.shape, first.shape), gate);
      case 'permute': {
        const position = new Array<Expr>(at.length);
        args.listOf(v).forEach((from, to) => {
          position[from] = at[to]!;
        });
        return this.#value(first, position, gate);
      }
      case 'expand': {
        const lead = at.length - first.shape.length;
        const position = first.shape.map((size, i) => (size === 1 ? this.#index(0) : at[i + lead]!));
        return this.#value(first, position, gate);
      }
      case 'slice': {
        const { starts, steps } = args.sliceOf(v);
        // Where the whole axis is taken there is only one place to start.
        const told = (i: number) => v.slot >= 0 && v.shape[i] !== first.shape[i];
        const position = at.map((p, i) =>
          this.#plus(this.#times(p, steps[i]!), told(i) ? this.#told(v, i) : this.#index(starts[i]!)),
        );
        return this.#value(first, position, gate);
      }
      case 'roll': {
        const shifts = args.listOf(v);
        const position = at.map((p, i) => {
          if (v.slot >= 0) return this.#turned(p, this.#told(v, i), v.shape[i]!);
          return this.#rolled(p, shifts[i]!, v.shape[i]!);
        });
        return this.#value(first, position, gate);
      }
      case 'window': {
        const rank = first.shape.length;
        const position = at.slice(0, rank);
        args.windowOf(v).forEach((w, i) => {
          position[w.axis] = this.#plus(this.#times(at[w.axis]!, w.stride), this.#times(at[rank + i]!, w.dilation));
        });
        return this.#value(first, position, gate);
      }
      case 'pad':
        return this.#pad(v, at, gate);
      case 'concat':
        return this.#concat(v, at, gate);
      case 'gather': {
        const axis = args.axisOf(v);
        const [, indices] = v.sources as [Vertex, Vertex];
        const rank = indices.shape.length;
        const index = this.#lookup(indices, at.slice(axis, axis + rank), first.shape[axis]!, gate);
        return this.#value(first, [...at.slice(0, axis), index, ...at.slice(axis + rank)], gate);
      }
      case 'takeAlong': {
        const axis = args.axisOf(v);
        const position = [...at];
        position[axis] = this.#lookup(v.sources[1]!, at, first.shape[axis]!, gate);
        return this.#value(first, position, gate);
      }
      case 'leaf':
      case 'const':
      case 'reduce':
      case 'matmul':
      case 'attention':
      case 'topk':
      case 'compact':
      case 'scan':
      case 'sort':
      case 'second':
      case 'scatter':
      case 'fourier':
        throw new Error(`lower: ${v.op} has to be stored before it is used`);
      default:
        return v.op satisfies never;
    }
  }

  // Rolls of one axis add up, so a stencil of a stencil reads each neighbour once, however it is reached.
  #rolled(position: Expr, shift: number, size: number): Expr {
    const before = this.#rolls.get(position);
    const base = before?.size === size ? before.base : position;
    const sum = before?.size === size ? (before.shift + shift) % size : shift;
    if (sum === 0) return base;
    const b = this.b;
    const wraps = b.alu('lt', base, this.#index(sum));
    const made = this.#plus(base, b.alu('where', wraps, this.#index(size - sum), this.#index(-sum)));
    // Beside a border a position may lie outside, where nothing is read: it wraps around like no other, and may be another's by chance.
    const { min, max } = bounds(base);
    if (min >= 0 && max < size) this.#rolls.set(made, { base, shift: sum, size });
    return made;
  }

  // A roll by a number of the launch: 0 ≤ shift < size.
  #turned(position: Expr, shift: Expr, size: number): Expr {
    if (size === 1) return position;
    const b = this.b;
    const back = b.alu('sub', position, shift);
    return b.alu('where', b.alu('lt', position, shift), this.#plus(back, this.#index(size)), back);
  }

  /** Number `i` of the launch scalars of a slice or roll, as a position. */
  #told(v: Vertex, i: number): Expr {
    return this.b.cast('index', this.#scalar('i32', v.slot + i));
  }

  #pad(v: Vertex, at: readonly Expr[], gate: Expr | null): Expr {
    const b = this.b;
    const [source, fill] = v.sources as [Vertex, Vertex];
    const before = args.listOf(v);
    let inside: Expr = b.const('bool', 1);
    const position = at.map((p, i) => {
      const end = before[i]! + source.shape[i]!;
      inside = b.alu('and', inside, b.alu('le', this.#index(before[i]!), p));
      inside = b.alu('and', inside, b.alu('lt', p, this.#index(end)));
      return this.#plus(p, this.#index(-before[i]!));
    });
    if (source.size === 0) return this.#value(fill, [], gate);
    const value = this.#value(source, position, this.#both(gate, inside));
    return b.alu('where', inside, value, this.#value(fill, [], gate));
  }

  #concat(v: Vertex, at: readonly Expr[], gate: Expr | null): Expr {
    const b = this.b;
    const axis = args.axisOf(v);
    const pieces: { start: number; end: number; source: Vertex }[] = [];
    let start = 0;
    for (const source of v.sources) {
      const end = start + source.shape[axis]!;
      if (end > start) pieces.push({ start, end, source });
      start = end;
    }
    let result: Expr | undefined;
    for (const piece of pieces.reverse()) {
      const below = b.alu('lt', at[axis]!, this.#index(piece.end));
      const inside = b.alu('and', b.alu('le', this.#index(piece.start), at[axis]!), below);
      const position = [...at];
      position[axis] = this.#plus(at[axis]!, this.#index(-piece.start));
      const value = this.#value(piece.source, position, this.#both(gate, inside));
      result = result ? b.alu('where', below, value, result) : value;
    }
    return result!;
  }

  // Indices are checked before the kernel runs; clamping here only keeps a bad one from touching foreign memory.
  #lookup(indices: Vertex, at: readonly Expr[], size: number, gate: Expr | null): Expr {
    const b = this.b;
    const type = indices.dtype;
    // A size that the index type cannot hold: the rest is arithmetic on positions, which are as wide as it takes.
    const beyond = BigInt(size) > intRange[type as keyof typeof intRange][1];
    let value = this.#value(indices, at, gate);
    const { min, max } = integerBounds(value);
    if (min >= 0 && max < size) return b.cast('index', value);
    if (beyond) value = b.cast('index', value);
    if (isSigned(type)) {
      const zero = b.const(value.type, 0);
      value = b.alu('where', b.alu('lt', value, zero), b.alu('add', value, b.const(value.type, size)), value);
      value = b.alu('max', value, zero);
    }
    if (!beyond) value = b.alu('min', value, b.const(type, size - 1));
    return b.cast('index', value);
  }

  #reduction(v: Vertex, position: readonly Expr[]): Expr {
    if (this.linear(position, v.shape) !== this.#here) throw new PositionConflict();
    const { op, axes } = args.reduceOf(v);
    const source = v.sources[0]!;
    const type = op === 'argmax' || op === 'argmin' ? 'i32' : source.dtype;
    let slot = this.#reduceSlots.get(v);
    if (slot === undefined) {
      slot = this.accumulators.length;
      this.#reduceSlots.set(v, slot);
      const kept = this.reshaped(this.spacePosition(), this.#context.space, v.shape);
      let k = 0;
      const at = source.shape.map((size, i) => {
        const r = axes.indexOf(i);
        return r >= 0 ? this.b.axis(this.#context.space.length + r, size) : kept[k++]!;
      });
      this.#inLoop = true;
      const value = this.#value(source, at, null);
      this.#inLoop = false;
      this.accumulators.push({ op, type: source.dtype, value });
    }
    return this.b.acc(type, slot);
  }

  #constant(v: Vertex): Expr {
    return v.slot < 0 ? this.b.const(v.dtype, v.value) : this.#scalar(v.dtype, v.slot);
  }

  #scalar(type: DType, number: number): Expr {
    let slot = this.scalars.indexOf(number);
    if (slot < 0) {
      slot = this.scalars.length;
      this.scalars.push(number);
      this.scalarTypes.push(type);
    }
    return this.b.scalar(type, slot);
  }

  #load(v: Vertex, position: readonly Expr[], gate: Expr | null): Expr {
    let slot = this.inputs.indexOf(v);
    if (slot < 0) {
      slot = this.inputs.length;
      this.inputs.push(v);
    }
    const index = this.linear(position, v.shape);
    const range = bounds(index);
    const safe = range.min >= 0 && range.max < v.size;
    return this.b.load(v.dtype, slot, index, safe ? null : gate);
  }

  #both(a: Expr | null, b: Expr): Expr {
    return a ? this.b.alu('and', a, b) : b;
  }

  #index(n: number): Expr {
    return this.b.const('index', n);
  }

  #plus(a: Expr, b: Expr): Expr {
    return this.b.alu('add', a, b);
  }

  #times(a: Expr, k: number): Expr {
    return this.b.alu('mul', a, this.#index(k));
  }
}
