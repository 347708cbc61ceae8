// Costly arms of `where`, which are computed only if a lane takes them.
//
// Vector units and groups of threads compute both arms and choose. Where one arm is long and rarely taken, as the remainder of
// huge arguments in sin and cos, a branch around it pays: it is skipped when the condition holds in no lane. The arms of all
// choices by one condition go behind one branch, since they share most of their work; and so do the choices themselves.

import type { Alu, Expr, ScalarType } from './expr.ts';
import { aluOps } from './ops.ts';
import { below, operands } from './walk.ts';

/** Work behind a branch, in units of one addition, from which on a branch pays even if it is guessed wrong at times. */
const worthBranch = 60;

/** The same where floats are chosen by bits, which is how functions tell what is unusual: such a branch is hardly ever taken. */
const worthRareBranch = 30;

const leastWork = (condition: Expr, choice: Expr): number => {
  const compared = (condition as Alu).src[0]!.type;
  const byBits = (compared === 'i32' || compared === 'i64') && isFloat(choice.type);
  return byBits ? worthRareBranch : worthBranch;
};

/** What is computed only where a condition holds. */
export interface Arms {
  /** Choices that can be made behind the branch: what they take otherwise is short, and needs no other choice by the condition. */
  readonly choices: readonly Alu[];
  /** First arms of the other choices. */
  readonly values: readonly Expr[];
  /** What nothing else needs. */
  readonly own: readonly Expr[];
}

/** The arms below these roots that are worth a branch, by their condition; `may`: whether a choice can be behind one. */
export function costlyArms(roots: readonly Expr[], may = (_choice: Alu): boolean => true): ReadonlyMap<Expr, Arms> {
  const byCondition = new Map<Expr, Alu[]>();
  const users = new Map<Expr, number>();
  const used = (e: Expr): void => void users.set(e, (users.get(e) ?? 0) + 1);
  roots.forEach(used);
  for (const e of below(roots)) {
    operands(e).forEach(used);
    if (!isChoice(e) || !may(e)) continue;
    const list = byCondition.get(e.src[0]!);
    if (list) list.push(e);
    else byCondition.set(e.src[0]!, [e]);
  }
  const found = new Map<Expr, Arms>();
  for (const [condition, all] of byCondition) {
    const own = ownOf(all, users);
    if (costOf(own) < leastWork(condition, all[0]!)) continue;
    const costly = all.filter((e) => own.has(e.src[1]!));
    const nested = (e: Alu): boolean => all.length > 1 && reaches(e.src[2]!, condition);
    const choices = costly.filter((e) => !own.has(e) && !nested(e) && isShort(e.src[2]!));
    const rest = costly.filter((e) => !choices.includes(e)).map((e) => e.src[1]!);
    found.set(condition, { choices, values: [...new Set(rest)], own: [...own] });
  }
  return found;
}

/** Whether a value is soon there: a branch that has to wait for long work keeps the processor from going on with the next elements. */
const isShort = (value: Expr): boolean => costOf(below([value])) <= worthBranch;

/**
 * What nothing needs but the first arms of some choices: the arms are given up, then whatever has lost its last user. This takes time
 * in proportion to what is found, not to all there is: a remainder of f64 alone has eighty such arms, one within the other.
 */
function ownOf(choices: readonly Alu[], users: ReadonlyMap<Expr, number>): Set<Expr> {
  const left = new Map<Expr, number>();
  const own = new Set<Expr>();
  const given = choices.map((e) => e.src[1]!);
  const chosen = new Set(choices);
  for (let e = given.pop(); e; e = given.pop()) {
    const rest = (left.get(e) ?? users.get(e)!) - 1;
    left.set(e, rest);
    if (rest > 0) continue;
    own.add(e);
    // The arm of a choice that is itself given up was given up at the start.
    const choice = chosen.has(e as Alu);
    operands(e).forEach((s, i) => {
      if (!choice || i !== 1) given.push(s);
    });
  }
  return own;
}

/** Whether a value needs a choice by the condition. */
function reaches(value: Expr, condition: Expr): boolean {
  for (const e of below([value])) if (isChoice(e) && e.src[0] === condition) return true;
  return false;
}

/** A choice of numbers by a comparison of numbers. */
function isChoice(e: Expr): e is Alu {
  if (e.kind !== 'alu' || e.op !== 'where' || e.type === 'bool' || e.type === 'index') return false;
  const [condition] = e.src as [Expr];
  return condition.kind === 'alu' && condition.src[0]!.type !== 'bool';
}

/** The work of expressions, in units of one addition. */
function costOf(exprs: Iterable<Expr>): number {
  let cost = 0;
  for (const e of exprs) cost += ownCost(e);
  return cost;
}

const isFloat = (type: ScalarType): boolean => type === 'f32' || type === 'f64';

const isLong = (type: ScalarType): boolean => type === 'i64' || type === 'u64';

/** Work of what no vector unit has: divisions of 64-bit numbers, and floats becoming such. */
const laneByLane = 60;

/** The work of an expression without its operands. */
export function ownCost(e: Expr): number {
  if (e.kind === 'load') return 1;
  if (e.kind === 'cast') return e.type === 'i64' && isFloat(e.src[0].type) && !e.bits ? laneByLane : 2;
  if (e.kind === 'alu' && (e.op === 'idiv' || e.op === 'imod') && e.type !== 'index' && isLong(e.type))
    return laneByLane;
  return e.kind === 'alu' && e.type !== 'index' ? aluOps[e.op].cost : 0;
}
