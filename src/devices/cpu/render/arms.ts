// Costly arms of `where`, which are computed only if a lane takes them.
//
// Vector code computes both arms and chooses. Where one arm is long and rarely taken, as the remainder of huge arguments in
// sin and cos, a branch around it pays: it is skipped when the condition holds in no lane. The arms of all choices by one
// condition go behind one branch, since they share most of their work; and so do the choices themselves.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import { aluOps } from '../../../kernel/ops.ts';
import { below, operands } from '../../../kernel/walk.ts';
import { widthOf } from './lanes.ts';

/** Work behind a branch, in units of one addition, from which on a branch pays even if it is guessed wrong at times. */
const worthBranch = 60;

/** What is computed only where a condition holds. */
export interface Arms {
  /** Choices that can be made behind the branch: what they take otherwise is short, and needs no other choice by the condition. */
  readonly choices: readonly Alu[];
  /** First arms of the other choices. */
  readonly values: readonly Expr[];
  /** What nothing else needs. */
  readonly own: readonly Expr[];
}

/** The arms below these roots that are worth a branch, by their condition. */
export function costlyArms(roots: readonly Expr[]): ReadonlyMap<Expr, Arms> {
  const byCondition = new Map<Expr, Alu[]>();
  for (const e of below(roots)) {
    if (!isChoice(e)) continue;
    const list = byCondition.get(e.src[0]!);
    if (list) list.push(e);
    else byCondition.set(e.src[0]!, [e]);
  }
  const found = new Map<Expr, Arms>();
  for (const [condition, all] of byCondition) {
    const arms = new Set(all.map((e) => e.src[1]!));
    if (costOf(below([...arms])) < worthBranch) continue;
    const always = without(roots, condition, arms);
    const costly = all.filter((e) => !always.has(e.src[1]!));
    const own = [...below(costly.map((e) => e.src[1]!))].filter((e) => !always.has(e));
    if (costOf(own) < worthBranch) continue;
    const choices = costly.filter((e) => always.has(e) && !reaches(e.src[2]!, condition) && isShort(e.src[2]!));
    const rest = costly.filter((e) => !choices.includes(e)).map((e) => e.src[1]!);
    found.set(condition, { choices, values: [...new Set(rest)], own });
  }
  return found;
}

/** Whether a value is soon there: a branch that has to wait for long work keeps the processor from going on with the next elements. */
const isShort = (value: Expr): boolean => costOf(below([value])) <= worthBranch;

/** Whether a value needs a choice by the condition. */
function reaches(value: Expr, condition: Expr): boolean {
  for (const e of below([value])) if (isChoice(e) && e.src[0] === condition) return true;
  return false;
}

/** A choice of numbers by a comparison of numbers that are as wide: mask and arms then have the same parts. */
function isChoice(e: Expr): e is Alu {
  if (e.kind !== 'alu' || e.op !== 'where' || e.type === 'bool' || e.type === 'index') return false;
  const compared = e.src[0]!.kind === 'alu' ? e.src[0]!.src[0]! : null;
  return compared !== null && compared.type !== 'bool' && widthOf(compared.type) === widthOf(e.type);
}

/** What is reached without the arms of the choices by a condition. */
function without(roots: readonly Expr[], condition: Expr, arms: ReadonlySet<Expr>): Set<Expr> {
  const seen = new Set<Expr>();
  const stack = [...roots];
  for (let e = stack.pop(); e; e = stack.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    const skips = isChoice(e) && e.src[0] === condition && arms.has(e.src[1]!);
    stack.push(...operands(e).filter((_, i) => !skips || i !== 1));
  }
  return seen;
}

/** The work of expressions, in units of one addition. */
function costOf(exprs: Iterable<Expr>): number {
  let cost = 0;
  for (const e of exprs) cost += ownCost(e);
  return cost;
}

/** The work of an expression without its operands. */
export function ownCost(e: Expr): number {
  if (e.kind === 'load') return 1;
  if (e.kind === 'cast') return 2;
  return e.kind === 'alu' && e.type !== 'index' ? aluOps[e.op].cost : 0;
}
