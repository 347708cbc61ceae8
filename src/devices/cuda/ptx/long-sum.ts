// Sums of three words, which the assembler adds at once.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import { dependencies } from './values.ts';

/**
 * Whether a sum of words is best left to the assembler: a sum plus a value that is the same for all elements, and what that is added to. It
 * adds three words at once.
 */
export const isLongSum = (e: Alu): boolean => addsKey(e) || e.src.some(addsKey);

const isSum = (e: Expr): boolean => e.kind === 'alu' && e.op === 'add' && e.type === 'u32';

const addsKey = (e: Expr): boolean =>
  e.kind === 'alu' && isSum(e) && e.src.some((s) => dependencies(s).size === 0) && e.src.some(isSum);
