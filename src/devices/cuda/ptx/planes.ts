// Kernels without a reduction that read neighbours along the first axis of arrays too large for the cache: a plane away is then further
// than the cache reaches back, and every plane would be read three times.
//
// So blocks go through a group of planes side by side: the same tile of each of them, then the next tile. What lies a plane away is used
// by the next block, and only the planes at the edge of such a group are read again. A thread has the same place in a few planes, one
// behind the other: what one of them reads a plane away is what the next one reads at its own place, and stays in registers.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { linear } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, type Together, together } from '../../../kernel/together.ts';
import { EntryPoint, entryName } from './code.ts';
import { chooseTiling, type Rendered, storeFrom } from './elementwise.ts';
import { isWholeVector } from './memory.ts';
import type { PtxScope } from './scope.ts';
import { indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
import { kindOf } from './types.ts';
import { dependencies, reachable } from './values.ts';

/** Bytes of a plane below which the cache holds a few of them anyway. */
const largePlane = 4 * 2 ** 20;
/** Places in a plane are counted in 32 bits. */
const mostElements = 2 ** 30;
/** Planes of a thread, the most first: as many as do not make its code too long. */
const runs = [4, 2, 1] as const;
const mostOperations = 600;
/** Runs of planes side by side: few enough for the cache, and many enough that those at the edge do not matter. */
const groups = [4, 5, 3, 6] as const;
/**
 * Blocks that a multiprocessor shall hold, by planes of a thread: left alone, the assembler takes so many registers for four planes that
 * there is one (measured on an H200, a search of 97⁵ vertices as bits, a level: 0.84 ms with one plane a thread, 0.72 with two, with four
 * 1.01, and 0.71 with three blocks).
 */
const blocksOf: Readonly<Record<number, number>> = { 1: 0, 2: 0, 4: 3 };

export interface Planes {
  readonly count: number;
  /** Elements of one. */
  readonly elements: number;
  /** Planes of one thread. */
  readonly run: number;
  /** So many runs of planes are gone through side by side. */
  readonly group: number;
}

/** How a kernel goes through its planes; null if it is better off going straight through. */
export function planesOf(kernel: Kernel): Planes | null {
  const [count, ...rest] = kernel.space as [number, ...number[]];
  const elements = sizeOf(rest);
  if (count < 4 || elements > mostElements) return null;
  const far = reachable(rootsOf(kernel)).some(
    (e) => e.kind === 'load' && elements * dtypeInfo[e.type].bytes >= largePlane && leavesPlane(e.index, elements),
  );
  if (!far) return null;
  const run = runs.find((r) => reachable(rootsOf(together(alone(kernel), 0, r).kernel)).length <= mostOperations) ?? 1;
  // Blocks beyond the last run have nothing to do: the fewer the better.
  const all = Math.ceil(count / run);
  const idle = (group: number): number => Math.ceil(all / group) * group - all;
  const group = groups.reduce<number>((best, g) => (idle(g) < idle(best) ? g : best), groups[0]);
  return { count, elements, run, group };
}

/** The planes of one thread as neighbours. */
export const runOf = (kernel: Kernel, { run }: Planes): Together =>
  run === 1 ? alone(kernel) : together(alone(kernel), 0, run);

/** Whether a position lies in another plane than the element: a constant number of them away, or a number that depends on where it is. */
function leavesPlane(index: Expr, elements: number): boolean {
  const { offset, terms } = linear(index);
  if (Math.abs(offset) >= elements) return true;
  return [...terms].some(([t, k]) => t.kind !== 'axis' && Math.abs(k) >= elements && dependencies(t).has(0));
}

export function renderPlanes(kernel: Kernel, planes: Planes, target: Target): Rendered {
  const { count, elements, run, group } = planes;
  const operations = reachable(rootsOf(kernel));
  const bits = indexBitsFor(kernel, operations);
  const entry = new EntryPoint(entryName(kernel.name), target);
  const { root, outputs } = openFrame(entry, alone(kernel), bits);
  const { vector, threads } = chooseTiling(alone(kernel), operations.length, target);
  const tile = threads * vector;
  const tiles = Math.ceil(elements / tile);
  const all = Math.ceil(count / run);
  const { body } = entry;
  const exit = entry.label('exit');
  const leaveUnless = (value: string, limit: number): void => {
    body.emit(`@${body.def('p', 'setp.ge.u32', value, limit)} bra ${exit}`);
  };

  // Which tile of which planes, and where in them.
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const step = body.def('r', 'div.u32', cta, group);
  const beside = body.def('r', 'sub.s32', cta, body.def('r', 'mul.lo.s32', step, group));
  const first = body.def('r', 'div.u32', step, tiles);
  const number = body.def('r', 'sub.s32', step, body.def('r', 'mul.lo.s32', first, tiles));
  const mine = body.def('r', 'mad.lo.s32', first, group, beside);
  if (all % group !== 0) leaveUnless(mine, all);
  const thread = body.def('r', 'mov.u32', '%tid.x');
  const within = body.def('r', 'mad.lo.s32', thread, vector, body.def('r', 'mul.lo.s32', number, tile));
  // Rows are whole numbers of vectors, and so are planes.
  if (elements % tile !== 0) leaveUnless(within, elements);

  const index = (r: string): string => (bits === 32 ? r : body.def('d', 'cvt.u64.u32', r));
  const [at, inPlane] = [index(mine), index(within)];
  const laneAxis = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  /** What does not depend on the plane is computed here, once. */
  const around = root.extend({
    axes: unravel(body, inPlane, kernel.space.slice(1), 1, bits),
    width: vector,
    laneAxis: vector > 1 ? laneAxis : -1,
  });
  /** Computes and stores what a thread has from one plane on. `position`: on the first axis of `near`. */
  const place = (near: Together, scope: PtxScope, position: string, plane: string): void => {
    const here = scope.extend({ axes: new Map([[0, position]]) });
    for (const e of reachable(rootsOf(near.kernel)))
      if (e.kind === 'load' && isWholeVector(e, laneAxis, vector)) here.values(e);
    const values = near.kernel.outputs.map((o) => here.values(o.value));
    const from = here.block.def(kind, `mad.lo.${s}`, plane, elements, inPlane);
    storeFrom(near, outputs, here, values, vector, from, bits);
  };
  const [full, rest] = [around.nest(), around.nest()];
  const whole = Math.floor(count / run);
  if (whole < all) {
    const tail = entry.label('tail');
    full.block.emit(`@${full.block.def('p', 'setp.ge.u32', mine, whole)} bra ${tail}`);
    rest.block.label(tail);
    for (let plane = whole * run; plane < count; plane++) {
      const p = rest.block.def(kind, `mov.${bits === 32 ? 'u32' : 'u64'}`, plane);
      place(alone(kernel), rest, p, p);
    }
  }
  const near = runOf(kernel, planes);
  place(near, full, at, full.block.def(kind, `mul.lo.${s}`, at, run));
  full.block.emit('ret');
  body.append(full.block);
  body.append(rest.block);
  body.label(exit);
  body.emit('ret');
  return {
    text: entry.render(threads, blocksOf[run] ?? 0),
    entry: entry.name,
    grid: [Math.ceil(all / group) * group * tiles, 1, 1],
    block: threads,
    scratchBytes: 0,
    sharedBytes: 0,
    vector,
  };
}
