// Kernels without a reduction that read neighbours along the first axis of arrays too large for the cache: a plane away is then further
// than the cache reaches back, and every plane would be read three times.
//
// So blocks go through a group of planes side by side: the same tile of each of them, then the next tile. What lies a plane away is used
// by the next block, and only the planes at the edge of such a group are read again. A block itself has a tile of several planes: most of
// what its threads read a plane away comes out of the cache of their own multiprocessor.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { linear } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone } from '../../../kernel/together.ts';
import { EntryPoint, entryName } from './code.ts';
import { chooseTiling, type Rendered, storeAll } from './elementwise.ts';
import { isWholeVector } from './memory.ts';
import { indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
import { kindOf } from './types.ts';
import { dependencies, reachable } from './values.ts';

/** Bytes of a plane below which the cache holds a few of them anyway. */
const largePlane = 4 * 2 ** 20;
/** Places in a plane are counted in 32 bits. */
const mostElements = 2 ** 30;
/** Planes in one block, and side by side: few enough for the cache, and many enough that those at the edge do not matter. */
const deep = 4;
const groups = [16, 20, 12, 24] as const;

export interface Planes {
  readonly count: number;
  /** Elements of one. */
  readonly elements: number;
  /** Planes that are gone through side by side: a multiple of `deep`. */
  readonly group: number;
  /** Planes of one block: a power of two. */
  readonly deep: number;
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
  // Blocks beyond the last plane have nothing to do: the fewer the better.
  const idle = (group: number): number => Math.ceil(count / group) * group - count;
  const group = groups.reduce<number>((best, g) => (idle(g) < idle(best) ? g : best), groups[0]);
  return { count, elements, group, deep };
}

/** Whether a position lies in another plane than the element: a constant number of them away, or a number that depends on where it is. */
function leavesPlane(index: Expr, elements: number): boolean {
  const { offset, terms } = linear(index);
  if (Math.abs(offset) >= elements) return true;
  return [...terms].some(([t, k]) => t.kind !== 'axis' && Math.abs(k) >= elements && dependencies(t).has(0));
}

export function renderPlanes(kernel: Kernel, planes: Planes, target: Target): Rendered {
  const { count, elements, group } = planes;
  const exprs = reachable(rootsOf(kernel));
  const bits = indexBitsFor(kernel, exprs);
  const entry = new EntryPoint(entryName(kernel.name), target);
  const { root, outputs } = openFrame(entry, alone(kernel), bits);
  const { vector, threads } = chooseTiling(kernel, exprs.length, target);
  const wide = threads / planes.deep;
  const tile = wide * vector;
  const tiles = Math.ceil(elements / tile);
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const { body } = entry;
  const exit = entry.label('exit');
  const leaveUnless = (value: string, limit: number): void => {
    body.emit(`@${body.def('p', 'setp.ge.u32', value, limit)} bra ${exit}`);
  };

  // Which tile of which planes, and where in them.
  const blocks = group / planes.deep;
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const step = body.def('r', 'div.u32', cta, blocks);
  const beside = body.def('r', 'sub.s32', cta, body.def('r', 'mul.lo.s32', step, blocks));
  const first = body.def('r', 'div.u32', step, tiles);
  const number = body.def('r', 'sub.s32', step, body.def('r', 'mul.lo.s32', first, tiles));
  const thread = body.def('r', 'mov.u32', '%tid.x');
  const start = body.def('r', 'mad.lo.s32', beside, planes.deep, body.def('r', 'shr.u32', thread, Math.log2(wide)));
  const plane = body.def('r', 'mad.lo.s32', first, group, start);
  if (count % group !== 0) leaveUnless(plane, count);
  const column = body.def('r', 'and.b32', thread, wide - 1);
  const within = body.def('r', 'mad.lo.s32', column, vector, body.def('r', 'mul.lo.s32', number, tile));
  // Rows are whole numbers of vectors, and so are planes.
  if (elements % tile !== 0) leaveUnless(within, elements);

  const index = (r: string): string => (bits === 32 ? r : body.def('d', 'cvt.u64.u32', r));
  const [at, inPlane] = [index(plane), index(within)];
  const laneAxis = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const scope = root.extend({
    axes: unravel(body, inPlane, kernel.space.slice(1), 1, bits).set(0, at),
    width: vector,
    laneAxis: vector > 1 ? laneAxis : -1,
  });
  for (const e of exprs) if (e.kind === 'load' && isWholeVector(e, laneAxis, vector)) scope.values(e);
  const values = kernel.outputs.map((o) => scope.values(o.value));
  storeAll(alone(kernel), outputs, scope, values, vector, body.def(kind, `mad.lo.${s}`, at, elements, inPlane), bits);
  body.label(exit);
  body.emit('ret');
  return {
    text: entry.render(threads),
    entry: entry.name,
    grid: [Math.ceil(count / group) * blocks * tiles, 1, 1],
    block: threads,
    scratchBytes: 0,
    sharedBytes: 0,
    vector,
  };
}
