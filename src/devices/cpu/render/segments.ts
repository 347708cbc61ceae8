// Cases: the same expressions, specialised to where a condition is known.
//
// Rolls, pads, concats and slices arrive as conditions on positions. A condition on the vector axis splits its range at a
// threshold, a condition that is the same for a whole row becomes a branch around the row's loop; on each side the
// condition is a constant, the simplifier removes what it guarded, and what is left is a plain vector loop. A load whose gate
// became simpler that way may only be reached inside its case: elsewhere its position can lie outside the buffer.

import { linear } from '../../../kernel/bounds.ts';
import type { Alu, Expr, Exprs } from '../../../kernel/expr.ts';
import { fromLinear } from '../../../kernel/simplify.ts';
import { below, operands } from '../../../kernel/walk.ts';

/** A tree of cases around loops over parts of the vector axis. */
export type Case =
  | { readonly kind: 'branch'; readonly condition: Expr; readonly yes: Case; readonly no: Case }
  | { readonly kind: 'sequence'; readonly cases: readonly Case[] }
  | { readonly kind: 'split'; readonly at: Expr; readonly below: Case; readonly above: Case }
  | { readonly kind: 'loop'; readonly from: number; readonly to: number; readonly roots: readonly Expr[] };

export interface Situation {
  readonly exprs: Exprs;
  readonly axis: number;
  readonly size: number;
  /** Whether a value is the same for the whole loop over the vector axis, and known before it. */
  readonly uniform: (e: Expr) => boolean;
  /** Told of each load whose gate a case has made simpler. */
  readonly pin: (load: Expr) => void;
}

/** All loops below a case. */
export function loopsOf(c: Case): Extract<Case, { kind: 'loop' }>[] {
  switch (c.kind) {
    case 'loop':
      return [c];
    case 'sequence':
      return c.cases.flatMap(loopsOf);
    case 'split':
      return [...loopsOf(c.below), ...loopsOf(c.above)];
    case 'branch':
      return [...loopsOf(c.yes), ...loopsOf(c.no)];
    default:
      return c satisfies never;
  }
}

/** Code grows with each case; beyond this many, conditions stay in the loop. */
const maxCases = 24;
const maxDynamic = 8;

/** Operations in all cases together. Engines take 50,000 locals in a function, and each case is rendered for several numbers of lanes. */
const maxOperations = 8000;

export function casesOf(roots: readonly Expr[], at: Situation): Case {
  let operations = 1;
  for (const e of below(roots)) if ((e.kind === 'alu' || e.kind === 'cast') && e.type !== 'index') operations++;
  return branches(roots, at, maxDynamic, maxOperations / operations);
}

/** Rebuilds expressions with some conditions replaced; `changed` hears of loads whose gate is another one now. */
export function substitute(
  b: Exprs,
  roots: readonly Expr[],
  known: ReadonlyMap<Expr, Expr>,
  changed: (load: Expr) => void = () => {},
): Expr[] {
  const memo = new Map<Expr, Expr>(known);
  return roots.map((r) => rebuild(b, r, memo, changed));
}

function rebuild(b: Exprs, e: Expr, memo: Map<Expr, Expr>, changed: (load: Expr) => void): Expr {
  const copy = (x: Expr): Expr => rebuild(b, x, memo, changed);
  const done = memo.get(e);
  if (done) return done;
  let made: Expr;
  switch (e.kind) {
    case 'const':
      made = b.const(e.type, e.value);
      break;
    case 'scalar':
      made = b.scalar(e.type, e.slot);
      break;
    case 'axis':
      made = b.axis(e.axis, e.size);
      break;
    case 'acc':
      made = b.acc(e.type, e.slot);
      break;
    case 'load':
      made = b.load(e.type, e.slot, copy(e.index), e.gate && copy(e.gate));
      if (made.kind === 'load' && made.gate !== e.gate) changed(made);
      break;
    case 'cast': {
      const src = copy(e.src[0]);
      made = e.bits ? b.bitcast(e.type as never, src) : b.cast(e.type, src);
      break;
    }
    case 'alu':
      made = b.alu(e.op, ...e.src.map(copy));
      break;
    default:
      return e satisfies never;
  }
  memo.set(e, made);
  return made;
}

function branches(roots: readonly Expr[], at: Situation, budget: number, room: number): Case {
  const condition = budget > 1 && room >= 2 ? rowCondition(roots, at) : undefined;
  if (!condition) return ranges(roots, at, room);
  const side = (value: number): Expr[] =>
    substitute(at.exprs, roots, new Map([[condition, at.exprs.const('bool', value)]]), at.pin);
  return {
    kind: 'branch',
    condition,
    yes: branches(side(1), at, budget / 2, room / 2),
    no: branches(side(0), at, budget / 2, room / 2),
  };
}

/** A condition on positions that is the same for the whole row and guards loads or chooses between computed values. */
function rowCondition(roots: readonly Expr[], at: Situation): Expr | undefined {
  const seen = new Set<Expr>();
  let found: Expr | undefined;
  const atom = (c: Expr): void => {
    if (found || c.kind !== 'alu') return;
    if (c.src[0]!.type === 'index') {
      if (at.uniform(c)) found = c;
      return;
    }
    for (const s of c.src) if (s.type === 'bool') atom(s);
  };
  const visit = (e: Expr): void => {
    if (found || seen.has(e)) return;
    seen.add(e);
    if (e.kind === 'load' && e.gate) atom(e.gate);
    if (e.kind === 'alu' && e.op === 'where' && e.type !== 'index' && !at.uniform(e)) atom(e.src[0]!);
    for (const s of operands(e)) visit(s);
  };
  roots.forEach(visit);
  return found;
}

/** Where a condition on the vector axis changes: true below the threshold if `below`, else true from it on. */
interface Threshold {
  readonly condition: Expr;
  readonly below: boolean;
  /** A position, or an expression that is the same for the whole row. */
  readonly at: number | Expr;
}

function ranges(roots: readonly Expr[], at: Situation, room: number): Case {
  const found = thresholds(roots, at);
  const fixed = found.filter((t) => typeof t.at === 'number');
  const inside = new Set(fixed.map((t) => t.at as number).filter((t) => t > 0 && t < at.size));
  const cuts = [0, ...[...inside].sort((a, b) => a - b), at.size];
  if (cuts.length - 1 > Math.min(maxCases, Math.max(1, room))) return { kind: 'loop', from: 0, to: at.size, roots };
  const loops: { from: number; to: number; roots: readonly Expr[] }[] = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i]!, cuts[i + 1]!];
    const known = new Map<Expr, Expr>();
    for (const t of fixed) known.set(t.condition, at.exprs.const('bool', from < (t.at as number) === t.below ? 1 : 0));
    const specialised = fixed.length > 0 ? substitute(at.exprs, roots, known, at.pin) : roots;
    const last = loops[loops.length - 1];
    if (last?.roots.every((r, k) => r === specialised[k])) last.to = to;
    else loops.push({ from, to, roots: specialised });
  }
  const budget = Math.max(1, Math.floor(Math.min(maxDynamic, room) / loops.length));
  const cases = loops.map((l) => dynamic(l.roots, l.from, l.to, at, budget));
  return cases.length === 1 ? cases[0]! : { kind: 'sequence', cases };
}

/** Splits at thresholds that are only known when the row is. */
function dynamic(roots: readonly Expr[], from: number, to: number, at: Situation, budget: number): Case {
  // Thresholds compare as signed numbers.
  const t = budget > 1 && at.size < 2 ** 31 ? thresholds(roots, at).find((x) => typeof x.at !== 'number') : undefined;
  if (!t) return { kind: 'loop', from, to, roots };
  const side = (below: boolean): Case => {
    const known = new Map([[t.condition, at.exprs.const('bool', below === t.below ? 1 : 0)]]);
    return dynamic(substitute(at.exprs, roots, known, at.pin), from, to, at, budget / 2);
  };
  return { kind: 'split', at: t.at as Expr, below: side(true), above: side(false) };
}

function thresholds(roots: readonly Expr[], at: Situation): Threshold[] {
  const seen = new Set<Expr>();
  const list: Threshold[] = [];
  const visit = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    if (e.kind === 'alu' && (e.op === 'lt' || e.op === 'le') && e.src[0]!.type === 'index') {
      const t = thresholdOf(e, at);
      if (t) list.push(t);
    }
    for (const s of operands(e)) visit(s);
  };
  roots.forEach(visit);
  return list;
}

function thresholdOf(e: Alu, at: Situation): Threshold | undefined {
  const [x, y] = e.src as [Expr, Expr];
  // a < b is k·i + rest < 0 with the terms of a − b; a ≤ b is the same with 1 less, since positions are whole.
  const [p, q] = [linear(x), linear(y)];
  const terms = new Map(p.terms);
  for (const [t, k] of q.terms) terms.set(t, (terms.get(t) ?? 0) - k);
  const offset = p.offset - q.offset - (e.op === 'le' ? 1 : 0);
  let k = 0;
  const rest = new Map<Expr, number>();
  for (const [t, f] of terms) {
    if (f === 0) continue;
    if (t.kind === 'axis' && t.axis === at.axis) k = f;
    else if (!at.uniform(t)) return undefined;
    else rest.set(t, f);
  }
  if (k === 0) return undefined;
  if (rest.size === 0) {
    // k·i < −offset: for k > 0 true below ⌈−offset / k⌉, for k < 0 true from ⌊offset / |k|⌋ + 1 on.
    return k > 0
      ? { condition: e, below: true, at: Math.ceil(-offset / k) }
      : { condition: e, below: false, at: Math.floor(offset / -k) + 1 };
  }
  if (k !== 1 && k !== -1) return undefined;
  const scaled = (f: number): Map<Expr, number> => new Map([...rest].map(([t, c]) => [t, f * c]));
  const b = at.exprs;
  return k === 1
    ? { condition: e, below: true, at: fromLinear(b, { offset: -offset, terms: scaled(-1) }) }
    : { condition: e, below: false, at: fromLinear(b, { offset: offset + 1, terms: scaled(1) }) };
}
