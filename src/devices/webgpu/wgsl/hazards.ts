// Float arithmetic that optimisers rewrite although the rounding changes.
//
// WGSL allows reassociation, and drivers use it: (x + c) - c becomes x, x * 0 becomes 0, (a - b) + b becomes a, x / c
// becomes x * (1/c). Rounding by adding a large constant, error-free sums and NaN all depend on that not happening. An
// operand named here goes through its bits with a zero mixed in that only the running GPU knows (see literals.ts), which
// costs one integer operation and leaves nothing to recognise.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import { type AluOp, aluOps } from '../../../kernel/ops.ts';

const arithmetic: ReadonlySet<AluOp> = new Set<AluOp>(['add', 'sub', 'mul', 'div']);

const isArithmetic = (e: Expr): e is Alu => e.kind === 'alu' && arithmetic.has(e.op) && e.type === 'f32';
const hasConstant = (e: Expr): boolean => isArithmetic(e) && e.src.some((s) => s.kind === 'const');

/** For each operand of an op, whether it must be hidden from the optimiser. */
export function hiddenOperands(e: Alu): readonly boolean[] {
  if (!isArithmetic(e) || aluOps[e.op].arity !== 2) return [];
  const [a, b] = e.src as [Expr, Expr];
  const constant = (own: Expr, other: Expr): boolean =>
    own.kind === 'const' && (own.value === 0 || hasConstant(other) || other.kind === 'const');
  const cancels = (own: Expr, other: Expr): boolean =>
    isArithmetic(own) && other.kind !== 'const' && own.src.includes(other);
  const factors =
    e.op === 'add' &&
    isArithmetic(a) &&
    isArithmetic(b) &&
    a.op === 'mul' &&
    b.op === 'mul' &&
    b.src.some((s) => a.src.includes(s));
  const twice = a === b && (e.op === 'sub' || e.op === 'div');
  return [
    constant(a, b) || cancels(a, b),
    constant(b, a) || (b.kind === 'const' && e.op === 'div') || cancels(b, a) || factors || twice,
  ];
}
