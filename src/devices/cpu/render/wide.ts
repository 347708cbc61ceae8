// Kernels whose positions do not fit 32 bits: what is compared, divided or turned into a value is computed in i64 instead.
//
// A memory of less than 4 GiB is addressed modulo 2^32, so the linear part of an address may wrap; everything else may not. A
// reduced axis of 2^31 steps or more becomes two. Axes of the output stay: what is stored has fewer elements than bytes.

import type { DType } from '../../../base/dtype.ts';
import { type Bounds, cutOf, intervalOf, linear } from '../../../kernel/bounds.ts';
import type { Alu, Expr, Exprs } from '../../../kernel/expr.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { rewriter } from '../../../kernel/rewrite.ts';
import { below } from '../../../kernel/walk.ts';

const limit = 2 ** 31;

const anything: Bounds = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };
const fits = ({ min, max }: Bounds): boolean => min >= -limit && max < limit;
const rangeOfType: Readonly<Partial<Record<DType, Bounds>>> = {
  bool: { min: 0, max: 1 },
  u8: { min: 0, max: 255 },
  i32: { min: -limit, max: limit - 1 },
  u32: { min: 0, max: 2 * limit - 1 },
};

/** Unlike `bounds`, knows what an integer that became a position can be. */
class Ranges {
  readonly #known = new Map<Expr, Bounds>();

  of(e: Expr): Bounds {
    let known = this.#known.get(e);
    if (!known) this.#known.set(e, (known = this.#compute(e)));
    return known;
  }

  #compute(e: Expr): Bounds {
    if (e.kind === 'const') return { min: Number(e.value), max: Number(e.value) };
    if (e.kind === 'axis') return { min: 0, max: e.size - 1 };
    if (e.kind === 'cast') {
      const cut = cutOf(e.src[0]);
      // What is looked up is cut to its axis, from below too.
      return cut === undefined ? (rangeOfType[e.src[0].type as DType] ?? anything) : { min: 0, max: cut };
    }
    if (e.kind !== 'alu') return anything;
    const list = (e.op === 'where' ? e.src.slice(1) : e.src).map((s) => this.of(s));
    const [a, b] = list as [Bounds, Bounds];
    switch (e.op) {
      case 'idiv':
        return b.min > 0 ? { min: 0, max: Math.max(0, Math.floor(a.max / b.min)) } : anything;
      case 'imod':
        return b.min > 0 ? { min: 0, max: Math.min(b.max - 1, Math.max(0, a.max)) } : anything;
      default:
        return intervalOf(e.op, a, b);
    }
  }
}

const rootsOf = (k: Kernel): Expr[] => [...k.accumulators.map((a) => a.value), ...k.outputs.map((o) => o.value)];

/** The kernel with positions that 32 bits hold; the kernel itself if they all do. */
export function fitPositions(given: Kernel, b: Exprs): Kernel {
  const kernel = shortenAxes(given, b);
  const ranges = new Ranges();
  if (!needsWidth(kernel, ranges)) return kernel;
  const copy = widener(b, ranges);
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a) => ({ ...a, value: copy(a.value) })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: copy(o.value) })),
  };
}

/** Operands that have to be known in full, whoever asks: of comparisons, divisions and choices, and what becomes a value. */
function needsWidth(kernel: Kernel, ranges: Ranges): boolean {
  for (const e of below(rootsOf(kernel))) {
    const whole = e.kind === 'cast' || (e.kind === 'alu' && e.op !== 'add' && e.op !== 'sub' && e.op !== 'mul');
    if (whole && e.src.some((s) => s.type === 'index' && !fits(ranges.of(s)))) return true;
  }
  return false;
}

function widener(b: Exprs, ranges: Ranges): (e: Expr) => Expr {
  const wides = new Map<Expr, Expr>();
  const narrow = (e: Expr): boolean => fits(ranges.of(e));
  /** A position as an i64. */
  const wide = (e: Expr): Expr => {
    let made = wides.get(e);
    if (!made) wides.set(e, (made = build(e)));
    return made;
  };
  const build = (e: Expr): Expr => {
    if (e.kind === 'const') return b.const('i64', BigInt(e.value));
    if (e.kind === 'cast') return b.cast('i64', copy(e.src[0]));
    if (e.kind !== 'alu' || (narrow(e) && e.src.every((s) => s.type !== 'index' || narrow(s)))) {
      return b.cast('i64', copy(e));
    }
    return b.alu(e.op, ...e.src.map((s) => (s.type === 'index' ? wide(s) : copy(s))));
  };
  const arithmetic = (e: Alu): Expr | undefined => {
    if (!e.src.some((s) => s.type === 'index' && !narrow(s))) return undefined;
    return e.type === 'index'
      ? b.cast('index', wide(e))
      : b.alu(e.op, ...e.src.map((s) => (s.type === 'index' ? wide(s) : s)));
  };
  /** Each term in full, their sum modulo 2^32. */
  const address = (e: Expr): Expr => {
    const { offset, terms } = linear(e);
    let sum: Expr = b.const('index', offset);
    for (const [term, k] of terms) {
      const value = term.kind === 'axis' || narrow(term) ? copy(term) : b.cast('index', wide(term));
      sum = b.alu('add', sum, b.alu('mul', value, b.const('index', k)));
    }
    return sum;
  };
  const copy = rewriter(b, (e, again) => {
    if (e.kind === 'load') return b.load(e.type, e.slot, address(e.index), e.gate && again(e.gate));
    if (e.kind === 'alu') return arithmetic(e);
    if (e.kind === 'cast' && e.src[0].type === 'index' && !narrow(e.src[0])) return b.cast(e.type, wide(e.src[0]));
    return undefined;
  });
  return copy;
}

/** Reduced axes of 2^31 steps or more as two axes each. */
function shortenAxes(kernel: Kernel, b: Exprs): Kernel {
  const at = kernel.reduced.findIndex((size) => size >= limit);
  if (at < 0) return kernel;
  const size = kernel.reduced[at]!;
  const outer = splitOf(size);
  const inner = Math.ceil(size / outer);
  const first = kernel.space.length + at;
  const reduced = [...kernel.reduced.slice(0, at), outer, inner, ...kernel.reduced.slice(at + 1)];
  const [o, i] = [b.axis(first, outer), b.axis(first + 1, inner)];
  // The last round of the inner axis is shorter where the size has no divisor.
  const rest = size - (outer - 1) * inner;
  const whole = b.alu('or', b.alu('lt', o, b.const('index', outer - 1)), b.alu('lt', i, b.const('index', rest)));
  const inside = rest === inner ? null : whole;
  const copy = rewriter(b, (e, again) => {
    if (e.kind === 'axis' && e.axis === first) return b.alu('add', b.alu('mul', o, b.const('index', inner)), i);
    if (e.kind === 'axis' && e.axis > first) return b.axis(e.axis + 1, e.size);
    if (e.kind !== 'load' || !inside) return undefined;
    return b.load(e.type, e.slot, again(e.index), e.gate ? b.alu('and', inside, again(e.gate)) : inside);
  });
  const accumulators = kernel.accumulators.map((a) => {
    const value = copy(a.value);
    return { ...a, value: inside ? b.alu('where', inside, value, b.const(a.type, identityOf(a.op, a.type))) : value };
  });
  return shortenAxes({ ...kernel, reduced, accumulators }, b);
}

/** Rounds of the outer axis: as few as make the inner one short enough, evenly if a small number does it. */
function splitOf(size: number): number {
  const least = Math.ceil(size / (limit - 1));
  for (let n = least; n <= least + 64; n++) if (size % n === 0) return n;
  return least;
}
