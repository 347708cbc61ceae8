// Float arithmetic whose rounding must stay as written, although WGSL lets compilers change it.
//
// WGSL permits reassociation: (x + c) - c may become x, x - n·a - n·b may become x - n·(a + b), x · 2^p · 2^q may become
// x · (2^p · 2^q). Drivers do all of this, and hiding a constant does not stop them: (x + c) - k is also x + (c - k). What
// stops them is a value whose bits pass through an integer operation that only the running GPU can carry out (the veil, see
// literals.ts): it has to be rounded first, and nothing behind it can be merged with anything before it.
//
// So sums are looked at as lists of terms. Two terms that were computed from the same data, or two that are fixed, may cancel
// or merge; a sum with such a pair is delicate, and is veiled if it becomes a term of another sum or meets a constant
// factor. Independent terms and polynomials by Horner's rule are left to the compiler, whose fused multiply-adds are welcome.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import { operands } from '../../../kernel/walk.ts';

function isAlu<Op extends AluOp>(e: Expr, ...ops: readonly Op[]): e is Alu & { readonly op: Op } {
  return e.kind === 'alu' && e.type === 'f32' && (ops as readonly AluOp[]).includes(e.op);
}
const isConst = (e: Expr): boolean => e.kind === 'const';
const isInteger = (e: Expr): boolean => e.type !== 'f32' && e.type !== 'f16';

interface Sum {
  /** Terms that the compiler may regroup: veiled sums count as one. */
  readonly count: number;
  /** Sources of all terms. */
  readonly sources: bigint;
  /** Some term does not change from element to element. */
  readonly fixed: boolean;
  /** Terms may cancel or merge. */
  readonly delicate: boolean;
}

interface Product {
  readonly factors: readonly Expr[];
  /** Factors that would be multiplied first if they met: constants, and powers of two made of bits. */
  readonly rigid: boolean;
}

export class Hazards {
  readonly #veiled = new Set<Expr>();
  readonly #sources = new Map<Expr, bigint>();
  readonly #sums = new Map<Expr, Sum>();
  readonly #products = new Map<Expr, Product>();
  #known = 0;
  /** Sources that differ between elements: all but the scalars of a launch. */
  #varying = 0n;

  /** Looks at everything that is to be computed. */
  constructor(roots: readonly Expr[]) {
    for (const e of operandsFirst(roots)) {
      this.#sourcesOf(e);
      if (!isAlu(e, 'add', 'sub', 'mul', 'div')) continue;
      const [a, b] = e.src as [Expr, Expr];
      const [p, q] = e.op === 'add' || e.op === 'sub' ? this.#inSum(a, b) : this.#inProduct(e, a, b);
      if (p) this.#veiled.add(a);
      if (q) this.#veiled.add(b);
    }
  }

  /** Whether a value must be rounded and hidden before anything uses it: then for all its uses, so that they agree. */
  veils(e: Expr): boolean {
    return this.#veiled.has(e) && e.kind !== 'const';
  }

  /**
   * Whether an operand must be hidden for this op alone: x - x is not 0 for infinities, x + 0 not x for -0, x · 0 not 0 for NaN,
   * x / c not x · (1/c); and two constants would be a constant expression, which WGSL evaluates itself and may refuse.
   */
  veilsOperand(e: Alu, operand: number): boolean {
    if (!isAlu(e, 'add', 'sub', 'mul', 'div')) return false;
    const [own, other] = [e.src[operand]!, e.src[1 - operand]!];
    const divisor = operand === 1 && e.op === 'div';
    if (own.kind === 'const') return own.value === 0 || isConst(other) || divisor;
    return own === other && operand === 1 && (e.op === 'sub' || e.op === 'div');
  }

  #inSum(a: Expr, b: Expr): readonly boolean[] {
    const [s, t] = [this.#sum(a), this.#sum(b)];
    const delicate = s.delicate || t.delicate || this.#meet(s, t);
    if (s.count + t.count > 2) return [delicate && s.count > 1, delicate && t.count > 1];
    // n·a + n·b
    const shared = this.#product(a).factors.some((f) => !isConst(f) && this.#product(b).factors.includes(f));
    return [false, shared && isAlu(a, 'mul') && isAlu(b, 'mul')];
  }

  #inProduct(e: Alu, a: Expr, b: Expr): readonly boolean[] {
    const [p, q] = [this.#product(a), this.#product(b)];
    const rigid = e.op === 'mul' && p.rigid && q.rigid;
    const own = (x: Expr, px: Product, other: Expr): boolean =>
      (rigid && px.factors.length > 1) || this.#undoes(e, x, other) || (isConst(other) && this.#sum(x).delicate);
    return [own(a, p, b), own(b, q, a)];
  }

  /** (a/b)·b, (a·b)/b, (x/c)·k and the like. */
  #undoes(e: Alu, own: Expr, other: Expr): boolean {
    if (!isAlu(own, 'mul', 'div')) return false;
    if (e.op === 'mul' && own.op === 'mul') return false;
    return own.src.includes(other) || (isConst(other) && own.src.some(isConst));
  }

  #meet(s: Sum, t: Sum): boolean {
    return (s.sources & t.sources) !== 0n || (s.fixed && t.fixed);
  }

  #sum(e: Expr): Sum {
    if (this.#veiled.has(e)) return this.#term(e);
    let known = this.#sums.get(e);
    if (!known) this.#sums.set(e, (known = this.#makeSum(e)));
    return known;
  }

  #makeSum(e: Expr): Sum {
    if (isAlu(e, 'neg')) return this.#sum(e.src[0]!);
    const sources = this.#sourcesOf(e);
    if (isAlu(e, 'mul')) {
      // Compilers multiply constants into sums.
      const [a, b] = e.src as [Expr, Expr];
      return isConst(b) ? this.#sum(a) : isConst(a) ? this.#sum(b) : this.#term(e);
    }
    if (isAlu(e, 'where')) {
      // Compilers move arithmetic into the branches of a choice.
      const [s, t] = [this.#sum(e.src[1]!), this.#sum(e.src[2]!)];
      const fixed = s.fixed || t.fixed;
      return { count: Math.max(s.count, t.count), sources, fixed, delicate: s.delicate || t.delicate };
    }
    if (!isAlu(e, 'add', 'sub')) return { count: 1, sources, fixed: (sources & this.#varying) === 0n, delicate: false };
    const [a, b] = e.src as [Expr, Expr];
    const [s, t] = [this.#sum(a), this.#sum(b)];
    const [p, q] = this.#inSum(a, b);
    const veiled = this.#veiled.has(a) || this.#veiled.has(b);
    return {
      count: (p ? 1 : s.count) + (q ? 1 : t.count),
      sources,
      fixed: (s.fixed && !p) || (t.fixed && !q),
      delicate: veiled || s.delicate || t.delicate || this.#meet(s, t),
    };
  }

  #term(e: Expr): Sum {
    const sources = this.#sourcesOf(e);
    return { count: 1, sources, fixed: (sources & this.#varying) === 0n, delicate: false };
  }

  #product(e: Expr): Product {
    let known = this.#products.get(e);
    if (!known) this.#products.set(e, (known = this.#makeProduct(e)));
    return known;
  }

  #makeProduct(e: Expr): Product {
    if (isAlu(e, 'neg')) return this.#product(e.src[0]!);
    if (!isAlu(e, 'mul')) {
      const ofBits = e.kind === 'cast' && e.bits && isInteger(e.src[0]);
      return { factors: [e], rigid: isConst(e) || ofBits };
    }
    const [a, b] = e.src as [Expr, Expr];
    const [p, q] = this.#inProduct(e, a, b);
    const factors = [...(p ? [a] : this.#product(a).factors), ...(q ? [b] : this.#product(b).factors)];
    return { factors, rigid: (!p && this.#product(a).rigid) || (!q && this.#product(b).rigid) };
  }

  /** The loads, accumulators, positions and scalars that a value was computed from, as a set of bits. */
  #sourcesOf(e: Expr): bigint {
    let known = this.#sources.get(e);
    if (known !== undefined) return known;
    if (e.kind === 'load' || e.kind === 'acc' || e.kind === 'axis' || e.kind === 'scalar') {
      known = 1n << BigInt(this.#known++);
      if (e.kind !== 'scalar') this.#varying |= known;
    } else {
      known = operands(e).reduce((set, s) => set | this.#sourcesOf(s), 0n);
    }
    this.#sources.set(e, known);
    return known;
  }
}

/** Every expression once, after its operands; with a stack of its own, since chains may be thousands of ops long. */
function operandsFirst(roots: readonly Expr[]): Iterable<Expr> {
  const done = new Set<Expr>();
  const stack = [...roots];
  for (let e = stack.at(-1); e; e = stack.at(-1)) {
    const waiting = done.has(e) ? [] : operands(e).filter((s) => !done.has(s));
    if (waiting.length > 0) stack.push(...waiting);
    else {
      done.add(e);
      stack.pop();
    }
  }
  return done;
}
