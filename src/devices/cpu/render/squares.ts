// Loads across the vector axis, a square at a time.
//
// The lanes of a transpose lie a row apart, and are loaded one by one. As many neighbours along the other axis as a vector has lanes
// read the same rows: computed together they are a square, which takes one vector load a row, and shuffles.

import { linear, strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, Exprs, Load } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { rewriter } from '../../../kernel/rewrite.ts';
import { below } from '../../../kernel/walk.ts';
import type { Emitter } from './emitter.ts';
import { shuffleOf, storedWidth } from './lanes.ts';
import type { AxisLoop } from './plan.ts';
import type { WasmScope } from './scope.ts';

/** A kernel whose neighbours along an axis are computed together. */
export interface Squared {
  /** All outputs of the first neighbour, then all of the second, and so on. */
  readonly kernel: Kernel;
  /** The axis, as the kernel counts it: by groups of neighbours. */
  readonly beside: AxisLoop;
  /** The position of the first of them on the axis. */
  readonly first: Expr;
  readonly count: number;
}

/** Whether a load's lanes lie apart, in rows that are there whatever the position. */
const crosses = (e: Expr, vector: number): e is Load =>
  e.kind === 'load' && e.gate === null && Math.abs(strideAlong(e.index, vector) ?? 0) > 1;

/** The kernel in squares of the vector axis and the one beside it; null where that does not fit. */
export function inSquares(kernel: Kernel, vector: number, beside: AxisLoop, b: Exprs): Squared | null {
  const roots = kernel.outputs.map((o) => o.value);
  const widths = new Set([...below(roots)].filter((e) => crosses(e, vector)).map((e) => storedWidth((e as Load).type)));
  const [width] = widths;
  // Squares of bytes would take more registers than there are.
  if (widths.size !== 1 || (width !== 32 && width !== 64) || kernel.inPlace.length > 0) return null;
  const count = 128 / width;
  const { axis, size } = beside;
  if (size < count) return null;
  const groups = Math.ceil(size / count);
  const block = b.alu('mul', b.axis(axis, groups), b.const('index', count));
  // The last group ends with the axis: what it has in common with the one before is computed twice.
  const first = size % count === 0 ? block : b.alu('min', block, b.const('index', size - count));
  const outputs = Array.from({ length: count }, (_, u) => {
    const at = b.alu('add', first, b.const('index', u));
    const copy = rewriter(b, (e) => (e.kind === 'axis' && e.axis === axis ? at : undefined));
    return kernel.outputs.map((o) => ({ ...o, value: copy(o.value) }));
  });
  const space = kernel.space.map((n, i) => (i === axis ? groups : n));
  return { kernel: { ...kernel, space, outputs: outputs.flat() }, beside: { axis, size: groups }, first, count };
}

/** Loads that together read squares, each with all of its square in order. */
export function squaresOf(roots: readonly Expr[], vector: number): ReadonlyMap<Expr, readonly Load[]> {
  const lines = new Map<string, Map<number, Load>>();
  for (const e of below(roots)) {
    if (!crosses(e, vector)) continue;
    const { terms, offset } = linear(e.index);
    const key = `${e.slot} ${e.type} ${[...terms].map(([t, k]) => `${t.id}*${k}`).sort()}`;
    const line = lines.get(key);
    if (line) line.set(offset, e);
    else lines.set(key, new Map([[offset, e]]));
  }
  const found = new Map<Expr, readonly Load[]>();
  for (const line of lines.values()) {
    for (const [offset, e] of [...line].sort(([x], [y]) => x - y)) {
      if (found.has(e)) continue;
      const count = 128 / storedWidth(e.type);
      const square = Array.from({ length: count }, (_, u) => line.get(offset + u));
      if (square.some((x) => x === undefined || found.has(x))) continue;
      for (const x of square) found.set(x!, square as readonly Load[]);
    }
  }
  return found;
}

/** Part `p` of all loads of a square, in locals. The first register of a row has what the first lane of every load reads. */
export function emitSquare(em: Emitter, square: readonly Load[], p: number, s: WasmScope): readonly number[] {
  const [first] = square as [Load, ...Load[]];
  const lanes = square.length;
  const width = storedWidth(first.type);
  const bytes = width / 8;
  const stride = strideAlong(first.index, em.vectorAxis)!;
  // With a negative stride the address is that of the last lane of all, so that offsets stay positive.
  const start = stride < 0 ? (s.lanes - 1) * stride * bytes : 0;
  const address = em.local('i32');
  const rest = em.nearAddress(first.slot, first.index, Math.log2(bytes), s, start);
  s.code.set(address);
  const rows = square.map((_, lane) => {
    const row = em.temp();
    s.code
      .get(address)
      .mem('v128.load', (p * lanes + lane) * stride * bytes - start + rest, Math.log2(bytes))
      .set(row);
    return row;
  });
  const shuffled = (x: number, y: number, order: readonly number[]): number => {
    const t = em.temp();
    s.code.get(x).get(y).shuffle(shuffleOf(width, order)).set(t);
    return t;
  };
  const [a, b, c, d] = rows as [number, number, number, number];
  if (lanes === 2) return [shuffled(a, b, [0, 2]), shuffled(a, b, [1, 3])];
  const [low, lower] = [shuffled(a, b, [0, 4, 1, 5]), shuffled(c, d, [0, 4, 1, 5])];
  const [high, higher] = [shuffled(a, b, [2, 6, 3, 7]), shuffled(c, d, [2, 6, 3, 7])];
  return [
    shuffled(low, lower, [0, 1, 4, 5]),
    shuffled(low, lower, [2, 3, 6, 7]),
    shuffled(high, higher, [0, 1, 4, 5]),
    shuffled(high, higher, [2, 3, 6, 7]),
  ];
}
