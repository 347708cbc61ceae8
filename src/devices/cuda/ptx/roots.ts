// Square roots, rounded correctly as `sqrt.rn` does it, for all 2³² floats (test/gpu/roots.ts).
//
// One step from the approximation rounds correctly where the remainder is exact. That is so but for 0, infinity and numbers so small that
// the remainder has no room; these are made larger first. A single root has no branch for that, so that the assembler can mix the arithmetic
// of several (measured: the gradient of 128³×64 cells, a root each, 454 µs with branches, 394 without). Where a thread has many, it asks
// once for all of them whether any is such a number: half of the instructions of a root are about these.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import type { Block } from './code.ts';
import type { PtxScope } from './scope.ts';
import { reachable, type Values } from './values.ts';

/** Where the plain step begins to be right. */
export const smallestPlainRoot = 2 ** -100;

/** The same, and the number of floats from there to infinity, as words. */
const [leastBits, plainFloats] = [0x0d800000, 0x72000000];

/** Roots of a thread for which one question is worth its branch. */
const manyRoots = 8;

/** The root of a number; `isPlain` if it is known not to be below `smallestPlainRoot`. */
export function rootOf(block: Block, x: string, isPlain = false): string {
  if (isPlain) {
    const infinite = block.def('p', 'setp.eq.f32', x, '0f7F800000');
    return block.def('f', 'selp.f32', x, plainRoot(block, x), infinite);
  }
  const tiny = block.def('p', 'setp.lt.f32', x, '0f0D800000');
  const scaled = block.def('f', 'mov.f32', x);
  block.emit(`@${tiny} mul.rn.f32 ${scaled}, ${x}, 0f5F800000`);
  const root = plainRoot(block, scaled);
  block.emit(`@${tiny} mul.rn.f32 ${root}, ${root}, 0f2F800000`);
  // The inverse of 0 is infinity, that of infinity 0: their product is no number.
  const zero = block.def('p', 'setp.eq.f32', x, '0f00000000');
  const either = block.def('p', 'setp.eq.or.f32', x, '0f7F800000', zero);
  return block.def('f', 'selp.f32', x, root, either);
}

function plainRoot(block: Block, x: string): string {
  const inverse = block.def('f', 'rsqrt.approx.ftz.f32', x);
  const near = block.def('f', 'mul.rn.ftz.f32', x, inverse);
  const half = block.def('f', 'mul.rn.ftz.f32', inverse, '0f3F000000');
  const left = block.def('f', 'fma.rn.f32', block.def('f', 'neg.f32', near), near, x);
  return block.def('f', 'fma.rn.f32', left, half, near);
}

/** The roots that each of some expressions is made of, where they are many in all: those that need no other root first. */
export function manyRootsOf(exprs: readonly Expr[], width: number, fastMath: boolean): readonly (readonly Alu[])[] {
  const roots = exprs.map((e) =>
    reachable([e])
      .filter(isRoot)
      .filter((r) => !reachable([...r.src]).some(isRoot)),
  );
  return !fastMath && new Set(roots.flat()).size * width >= manyRoots ? roots : exprs.map(() => []);
}

const isRoot = (e: Expr): e is Alu => e.kind === 'alu' && e.op === 'sqrt' && e.type === 'f32';

/** Computes some roots, so that the scope knows them. */
export function rootsTogether(scope: PtxScope, roots: readonly Alu[]): void {
  const { block } = scope;
  const numbers = roots.map((r) => scope.values(r.src[0]!));
  const all = numbers.flat();
  let least: string | null = null;
  for (const x of all) {
    const above = block.def('r', 'sub.u32', block.def('r', 'mov.b32', x), leastBits);
    least = least === null ? above : block.def('r', 'max.u32', above, least);
  }
  const [slow, done] = [block.entry.label('roots'), block.entry.label('rooted')];
  block.emit(`@${block.def('p', 'setp.ge.u32', least!, plainFloats)} bra ${slow}`);
  const results = all.map((x) => plainRoot(block, x));
  block.emit(`bra ${done}`);
  block.label(slow);
  all.forEach((x, i) => {
    block.set(results[i]!, 'mov.f32', rootOf(block, x));
  });
  block.label(done);
  let next = 0;
  roots.forEach((root, i) => {
    const values: Values = results.slice(next, (next += numbers[i]!.length));
    scope.define(root, values);
  });
}
