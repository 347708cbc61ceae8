// The scalar operations of the kernel language, as a table.
//
// Operands of one op share one type, except `where` (its first operand is bool). Comparisons give bool, the rest the
// type of their operands. Meaning, the same on every device:
//
//   int        add, sub, mul, neg, abs wrap around. idiv and imod round towards minus infinity; by zero they give 0;
//              the most negative value idiv -1 gives itself.
//   shl, shr   counts of at least the width (or negative) give 0, or -1 for shr of a negative value; shr of a signed
//              type keeps the sign.
//   float      IEEE; max and min give NaN if either operand is NaN; round is half to even; mod has the sign of the divisor.
//   bool       and, or, xor, not, comparisons and where; add and max mean or, mul and min mean and, which is how devices see them.
//   index      the type of positions: add, sub, mul, idiv, imod (both operands ≥ 0), max, min, comparisons, where. Its
//              width is the renderer's choice: 32 bits if the kernel's positions fit, else 64.
//
// `cost` is in units of one addition; the fusion rules and the router use it.

export type AluOp = keyof typeof aluOps;

export interface AluInfo {
  readonly arity: 1 | 2 | 3;
  readonly classes: readonly ('bool' | 'int' | 'float' | 'index')[];
  readonly cost: number;
  readonly compares?: true;
  readonly commutes?: true;
  /** A function that devices approximate; every other op is defined to the last bit (pow: of integers). */
  readonly approximate?: true;
}

const all = ['bool', 'int', 'float', 'index'] as const;
const numeric = ['int', 'float', 'index'] as const;
const bits = ['bool', 'int'] as const;
const float = ['float'] as const;

const table = {
  add: { arity: 2, classes: all, cost: 1, commutes: true },
  sub: { arity: 2, classes: numeric, cost: 1 },
  mul: { arity: 2, classes: all, cost: 1, commutes: true },
  div: { arity: 2, classes: float, cost: 4 },
  idiv: { arity: 2, classes: ['int', 'index'], cost: 8 },
  imod: { arity: 2, classes: ['int', 'index'], cost: 8 },
  mod: { arity: 2, classes: float, cost: 40 },
  pow: { arity: 2, classes: ['int', 'float'], cost: 40 },
  max: { arity: 2, classes: all, cost: 1, commutes: true },
  min: { arity: 2, classes: all, cost: 1, commutes: true },
  atan2: { arity: 2, classes: float, cost: 30, approximate: true },
  and: { arity: 2, classes: bits, cost: 1, commutes: true },
  or: { arity: 2, classes: bits, cost: 1, commutes: true },
  xor: { arity: 2, classes: bits, cost: 1, commutes: true },
  shl: { arity: 2, classes: ['int'], cost: 2 },
  shr: { arity: 2, classes: ['int'], cost: 2 },
  eq: { arity: 2, classes: all, cost: 1, compares: true, commutes: true },
  ne: { arity: 2, classes: all, cost: 1, compares: true, commutes: true },
  lt: { arity: 2, classes: all, cost: 1, compares: true },
  le: { arity: 2, classes: all, cost: 1, compares: true },
  where: { arity: 3, classes: all, cost: 1 },
  neg: { arity: 1, classes: ['int', 'float'], cost: 1 },
  abs: { arity: 1, classes: ['int', 'float'], cost: 1 },
  not: { arity: 1, classes: bits, cost: 1 },
  floor: { arity: 1, classes: float, cost: 1 },
  ceil: { arity: 1, classes: float, cost: 1 },
  trunc: { arity: 1, classes: float, cost: 1 },
  round: { arity: 1, classes: float, cost: 1 },
  sqrt: { arity: 1, classes: float, cost: 4 },
  exp: { arity: 1, classes: float, cost: 16, approximate: true },
  exp2: { arity: 1, classes: float, cost: 14, approximate: true },
  expm1: { arity: 1, classes: float, cost: 24, approximate: true },
  log: { arity: 1, classes: float, cost: 18, approximate: true },
  log2: { arity: 1, classes: float, cost: 18, approximate: true },
  log10: { arity: 1, classes: float, cost: 18, approximate: true },
  log1p: { arity: 1, classes: float, cost: 22, approximate: true },
  sin: { arity: 1, classes: float, cost: 24, approximate: true },
  cos: { arity: 1, classes: float, cost: 24, approximate: true },
  tan: { arity: 1, classes: float, cost: 30, approximate: true },
  asin: { arity: 1, classes: float, cost: 20, approximate: true },
  acos: { arity: 1, classes: float, cost: 20, approximate: true },
  atan: { arity: 1, classes: float, cost: 20, approximate: true },
  sinh: { arity: 1, classes: float, cost: 30, approximate: true },
  cosh: { arity: 1, classes: float, cost: 30, approximate: true },
  tanh: { arity: 1, classes: float, cost: 20, approximate: true },
  asinh: { arity: 1, classes: float, cost: 30, approximate: true },
  acosh: { arity: 1, classes: float, cost: 30, approximate: true },
  atanh: { arity: 1, classes: float, cost: 30, approximate: true },
  erf: { arity: 1, classes: float, cost: 30, approximate: true },
} as const satisfies Record<string, AluInfo>;

export const aluOps: Readonly<Record<keyof typeof table, AluInfo>> = table;

/** How an accumulator combines values. `argmax`/`argmin` give the first position of the extreme (of the first NaN if any), as i32. */
export type ReduceOp = 'sum' | 'prod' | 'max' | 'min' | 'any' | 'all' | 'argmax' | 'argmin';

/** What puts two values together, in reductions that keep a value and no position. */
export const combineOp = {
  sum: 'add',
  prod: 'mul',
  max: 'max',
  min: 'min',
  any: 'or',
  all: 'and',
} as const satisfies Record<Exclude<ReduceOp, 'argmax' | 'argmin'>, AluOp>;
