// The simplifier: a table of named rules, applied whenever an expression is built.
//
// Every rule is sound for its types: x*0 is 0 for integers only (NaN and infinities for floats), x+0 is x for floats only
// if the zero is negative (-0 + 0 is 0). Constants fold exactly as devices compute them; functions that devices
// approximate are left alone, so that folding never changes a result.

import { dtypeInfo } from '../base/dtype.ts';
import { bounds, type Linear, linear } from './bounds.ts';
import type { Const, Expr, Exprs, ScalarType } from './expr.ts';
import { type AluOp, aluOps } from './ops.ts';
import { meaning, roundTo } from './semantics.ts';

export interface Rule {
  readonly name: string;
  readonly op: AluOp | readonly AluOp[];
  readonly apply: (b: Exprs, src: Operands, op: AluOp) => Expr | undefined;
}

/** As many as the op takes; rules for unary and binary ops look no further. */
type Operands = readonly [Expr, Expr, Expr];

const isFloat = (t: ScalarType): boolean => t !== 'index' && dtypeInfo[t].class === 'float';
const isWhole = (t: ScalarType): boolean => t === 'index' || dtypeInfo[t].class === 'int';
const isConst = (e: Expr | undefined, value: number): boolean =>
  e?.kind === 'const' && (typeof e.value === 'bigint' ? e.value === BigInt(value) : Object.is(e.value, value));

/** k if the expression is the constant 2^k of an integer type. */
function log2Of(e: Expr): number | undefined {
  if (e.kind !== 'const' || !isWhole(e.type)) return undefined;
  const v = Number(e.value);
  const k = Math.log2(v);
  return v > 0 && Number.isSafeInteger(v) && Number.isInteger(k) ? k : undefined;
}

/** Floats whose result every device rounds in the same way. */
const exactFloatOps = new Set<AluOp>([
  'add',
  'sub',
  'mul',
  'div',
  'max',
  'min',
  'eq',
  'ne',
  'lt',
  'le',
  'neg',
  'abs',
  'floor',
  'ceil',
  'trunc',
  'round',
  'sqrt',
]);

/** Whether a condition holds only where `c` does: it is that, or that and more. */
const needs = (condition: Expr, c: Expr): boolean =>
  condition === c || (condition.kind === 'alu' && condition.op === 'and' && condition.src.some((s) => needs(s, c)));

export const rules: readonly Rule[] = [
  {
    name: 'fold-constants',
    op: Object.keys(aluOps) as AluOp[],
    apply: (b, src, op) => {
      if (!src.every((s) => s.kind === 'const')) return undefined;
      const type = src[src.length - 1]!.type;
      if (isFloat(type) && !exactFloatOps.has(op)) return undefined;
      const f = meaning(op, type);
      if (!f || op === 'where') return undefined;
      const [x, y, z] = src.map((s) => (s as Const).value) as [number, number, number];
      const result = aluOps[op].compares ? 'bool' : type;
      return b.const(result, roundTo[result](f(x, y, z)));
    },
  },
  {
    name: 'constant-last',
    op: ['add', 'mul', 'and', 'or', 'xor', 'max', 'min', 'eq', 'ne'],
    apply: (b, [x, y], op) => (x.kind === 'const' && y.kind !== 'const' ? b.alu(op, y, x) : undefined),
  },
  { name: 'index-linear', op: ['add', 'sub', 'mul'], apply: (b, src, op) => canonicalIndex(b, op, src) },
  { name: 'add-zero', op: 'add', apply: (_, [x, y]) => (isConst(y, isFloat(x.type) ? -0 : 0) ? x : undefined) },
  { name: 'sub-zero', op: 'sub', apply: (_, [x, y]) => (isConst(y, 0) ? x : undefined) },
  {
    name: 'sub-self',
    op: 'sub',
    apply: (b, [x, y]) => (x === y && isWhole(x.type) ? b.const(x.type, 0) : undefined),
  },
  { name: 'mul-one', op: 'mul', apply: (_, [x, y]) => (isConst(y, 1) ? x : undefined) },
  { name: 'mul-zero', op: 'mul', apply: (_, [x, y]) => (isWhole(x.type) && isConst(y, 0) ? y : undefined) },
  { name: 'div-one', op: ['div', 'idiv'], apply: (_, [x, y]) => (isConst(y, 1) ? x : undefined) },
  {
    // Exact only if the reciprocal is a power of two that stays normal in every float type.
    name: 'div-by-power-of-two',
    op: 'div',
    apply: (b, [x, y]) => {
      if (y.kind !== 'const') return undefined;
      const k = Math.log2(Math.abs(y.value as number));
      return Number.isInteger(k) && Math.abs(k) <= 10
        ? b.alu('mul', x, b.const(y.type, 1 / (y.value as number)))
        : undefined;
    },
  },
  {
    name: 'idiv-power-of-two',
    op: 'idiv',
    apply: (b, [x, y]) => {
      const k = x.type === 'index' ? undefined : log2Of(y);
      return k === undefined ? undefined : b.alu('shr', x, b.const(x.type, k));
    },
  },
  {
    // Two's complement makes this the floor modulus for negative values too.
    name: 'imod-power-of-two',
    op: 'imod',
    apply: (b, [x, y]) => {
      const k = x.type === 'index' ? undefined : log2Of(y);
      return k === undefined ? undefined : b.alu('and', x, b.const(x.type, 2n ** BigInt(k) - 1n));
    },
  },
  { name: 'index-idiv', op: 'idiv', apply: (b, [x, y]) => indexDivision(b, x, y, 'idiv') },
  { name: 'index-imod', op: 'imod', apply: (b, [x, y]) => indexDivision(b, x, y, 'imod') },
  { name: 'index-compare', op: ['lt', 'le'], apply: (b, [x, y], op) => indexCompare(b, x, y, op) },
  { name: 'idempotent', op: ['max', 'min', 'and', 'or'], apply: (_, [x, y]) => (x === y ? x : undefined) },
  { name: 'xor-self', op: 'xor', apply: (b, [x, y]) => (x === y ? b.const(x.type, 0) : undefined) },
  { name: 'bits-zero', op: ['or', 'xor', 'shl', 'shr'], apply: (_, [x, y]) => (isConst(y, 0) ? x : undefined) },
  { name: 'and-zero', op: 'and', apply: (_, [, y]) => (isConst(y, 0) ? y : undefined) },
  {
    name: 'bool-constant',
    op: ['and', 'or'],
    apply: (_, [x, y], op) => (x.type === 'bool' && isConst(y, 1) ? (op === 'and' ? x : y) : undefined),
  },
  {
    name: 'where-constant',
    op: 'where',
    apply: (_, [c, x, y]) => (c.kind === 'const' ? (c.value ? x : y) : undefined),
  },
  { name: 'where-same', op: 'where', apply: (_, [, x, y]) => (x === y ? x : undefined) },
  {
    // A load whose gate is closed is zero already: so is the border of a field that is padded with zeros.
    name: 'where-gated',
    op: 'where',
    apply: (_, [c, x, y]) => (x.kind === 'load' && x.gate && isConst(y, 0) && needs(x.gate, c) ? x : undefined),
  },
  {
    // where(not c, x, y) = where(c, y, x)
    name: 'where-not',
    op: 'where',
    apply: (b, [c, x, y]) => (c.kind === 'alu' && c.op === 'not' ? b.alu('where', c.src[0]!, y, x) : undefined),
  },
  {
    name: 'double-unary',
    op: ['not', 'neg'],
    apply: (_, [x], op) => (x.kind === 'alu' && x.op === op ? x.src[0] : undefined),
  },
  { name: 'abs-abs', op: 'abs', apply: (_, [x]) => (x.kind === 'alu' && x.op === 'abs' ? x : undefined) },
  { name: 'abs-unsigned', op: 'abs', apply: (_, [x]) => (isWhole(x.type) && !signed(x.type) ? x : undefined) },
  {
    name: 'small-powers',
    op: 'pow',
    apply: (b, [x, y]) => {
      if (isConst(y, 0)) return b.const(x.type, 1);
      if (isConst(y, 1)) return x;
      if (isConst(y, 2)) return b.alu('mul', x, x);
      if (isConst(y, 3)) return b.alu('mul', b.alu('mul', x, x), x);
      return isFloat(x.type) && isConst(y, -1) ? b.alu('div', b.const(x.type, 1), x) : undefined;
    },
  },
];

const signed = (t: ScalarType): boolean => t === 'index' || dtypeInfo[t].signed;

const rulesOf = new Map<AluOp, readonly Rule[]>();
for (const op of Object.keys(aluOps) as AluOp[]) {
  rulesOf.set(
    op,
    rules.filter((r) => r.op === op || (Array.isArray(r.op) && r.op.includes(op))),
  );
}

/** The simpler form of `op(src)`, or undefined if no rule applies. */
export function simplify(b: Exprs, op: AluOp, src: readonly Expr[]): Expr | undefined {
  for (const rule of rulesOf.get(op)!) {
    const result = rule.apply(b, src as unknown as Operands, op);
    if (result) return result;
  }
  return undefined;
}

// Index sums have one form: terms in the order of their ids, then the offset. So equal positions are equal objects.
function canonicalIndex(b: Exprs, op: AluOp, src: readonly Expr[]): Expr | undefined {
  const [x, y] = src as [Expr, Expr];
  if (x.type !== 'index' || (op === 'mul' && y.kind !== 'const')) return undefined;
  const raw = b.raw(op, src);
  const form = fromLinear(b, linear(raw));
  return form === raw ? undefined : form;
}

/** Builds `offset + Σ coefficient · term` in canonical order. */
export function fromLinear(b: Exprs, form: Linear): Expr {
  const terms = new Map(form.terms);
  // c·(x div c) + (x mod c) = x, with any common factor.
  for (const [e, k] of form.terms) {
    if (e.kind !== 'alu' || e.op !== 'imod' || !terms.has(e)) continue;
    const divisor = e.src[1] as Const;
    const quotient = b.raw('idiv', e.src);
    if (terms.get(quotient) !== k * Number(divisor.value)) continue;
    terms.delete(e);
    terms.delete(quotient);
    for (const [t, f] of linear(e.src[0]!).terms) terms.set(t, (terms.get(t) ?? 0) + k * f);
    return fromLinear(b, { offset: form.offset + k * linear(e.src[0]!).offset, terms: nonZero(terms) });
  }
  let sum: Expr | undefined;
  for (const [e, k] of [...terms].sort(([p], [q]) => p.id - q.id)) {
    const term = k === 1 ? e : b.raw('mul', [e, b.const('index', k)]);
    sum = sum ? b.raw('add', [sum, term]) : term;
  }
  if (!sum) return b.const('index', form.offset);
  return form.offset === 0 ? sum : b.raw('add', [sum, b.const('index', form.offset)]);
}

const nonZero = (terms: Map<Expr, number>): Map<Expr, number> => new Map([...terms].filter(([, k]) => k !== 0));

// (c·q + r) div c = q + r div c and (c·q + r) mod c = r mod c, for r ≥ 0.
function indexDivision(b: Exprs, x: Expr, y: Expr, op: 'idiv' | 'imod'): Expr | undefined {
  if (x.type !== 'index' || y.kind !== 'const') return undefined;
  const c = Number(y.value);
  if (c === 1) return op === 'idiv' ? x : b.const('index', 0);
  const range = bounds(x);
  if (range.min >= 0 && range.max < c) return op === 'idiv' ? b.const('index', 0) : x;
  const form = linear(x);
  const whole = new Map<Expr, number>();
  const rest = new Map<Expr, number>();
  for (const [e, k] of form.terms) (k % c === 0 ? whole : rest).set(e, k);
  const wholeOffset = Math.floor(form.offset / c);
  const remainder = fromLinear(b, { offset: form.offset - wholeOffset * c, terms: rest });
  if ((whole.size > 0 || wholeOffset !== 0) && bounds(remainder).min >= 0) {
    if (op === 'imod') return b.alu('imod', remainder, y);
    const quotient = fromLinear(b, { offset: wholeOffset, terms: new Map([...whole].map(([e, k]) => [e, k / c])) });
    return b.alu('add', quotient, b.alu('idiv', remainder, y));
  }
  const scaled = commonFactor(b, x, c, op);
  if (scaled) return scaled;
  if (x.kind === 'alu' && x.src[1]?.kind === 'const') {
    const inner = Number(x.src[1].value);
    if (op === 'idiv' && x.op === 'idiv') return b.alu('idiv', x.src[0]!, b.const('index', inner * c));
    if (op === 'imod' && x.op === 'imod' && inner % c === 0) return b.alu('imod', x.src[0]!, y);
  }
  return undefined;
}

// (g·a + r) div (g·d) = a div d and (g·a + r) mod (g·d) = g·(a mod d) + r, for 0 ≤ r < g and a ≥ 0.
function commonFactor(b: Exprs, x: Expr, c: number, op: 'idiv' | 'imod'): Expr | undefined {
  const form = linear(x);
  for (const [, coefficient] of form.terms) {
    const g = gcd(Math.abs(coefficient), c);
    if (g === 1 || g === c) continue;
    const multiples = new Map<Expr, number>();
    const rest = new Map<Expr, number>();
    for (const [e, k] of form.terms) {
      if (k % g === 0) multiples.set(e, k / g);
      else rest.set(e, k);
    }
    const whole = Math.floor(form.offset / g);
    const a = fromLinear(b, { offset: whole, terms: multiples });
    const r = fromLinear(b, { offset: form.offset - whole * g, terms: rest });
    if (bounds(r).min < 0 || bounds(r).max >= g || bounds(a).min < 0) continue;
    const part = b.alu(op, a, b.const('index', c / g));
    return op === 'idiv' ? part : b.alu('add', b.alu('mul', part, b.const('index', g)), r);
  }
  return undefined;
}

const gcd = (p: number, q: number): number => (q === 0 ? p : gcd(q, p % q));

function indexCompare(b: Exprs, x: Expr, y: Expr, op: AluOp): Expr | undefined {
  if (x.type !== 'index') return undefined;
  const [p, q] = [bounds(x), bounds(y)];
  const [always, never] = op === 'lt' ? [p.max < q.min, p.min >= q.max] : [p.max <= q.min, p.min > q.max];
  return always ? b.const('bool', 1) : never ? b.const('bool', 0) : undefined;
}
