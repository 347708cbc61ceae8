// How a reduction is dealt to threads, as data.
//
// A workgroup is tx threads across outputs times ty threads across what is reduced; `chunks` workgroups share an output
// and leave partial results for a second pass. Along rows (reduced elements adjacent in memory) ty is large and lanes lie
// along the row; along columns tx is large and lanes lie along the outputs. The order of every sum follows from the plan
// alone, so results do not change from run to run.

import { sizeOf } from '../../../base/shape.ts';
import { strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, Load } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { operands } from '../../../kernel/walk.ts';
import type { Traits } from '../plan.ts';
import { type Deal, dealSpace } from './elementwise.ts';
import { Lanes } from './lanes.ts';
import { isPacked } from './types.ts';

export interface ReductionPlan {
  readonly tx: number;
  readonly ty: number;
  readonly chunks: number;
  /** Reduced elements per chunk. */
  readonly chunk: number;
  /** Where four lanes lie: along the outputs, along the last reduced axis, or nowhere. */
  readonly lanes: 'out' | 'red' | 'none';
  readonly deal: Deal;
  /** Outputs, in units of the deal's width. */
  readonly items: number;
  /** Partial results are left for a second pass. */
  readonly partials: boolean;
}

const powerAbove = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(n, 1)));

export function loadsOf(roots: readonly Expr[]): Load[] {
  const seen = new Set<Expr>();
  const found: Load[] = [];
  const visit = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    if (e.kind === 'load') found.push(e);
    for (const s of operands(e)) visit(s);
  };
  for (const r of roots) visit(r);
  return found;
}

/** The last axis of more than one element, counted over all axes of the kernel. */
export function lastMoving(sizes: readonly number[], first = 0): number | null {
  for (let i = sizes.length - 1; i >= 0; i--) if (sizes[i]! > 1) return first + i;
  return null;
}

export function planReduction(kernel: Kernel, traits: Traits): ReductionPlan {
  const { space, reduced } = kernel;
  const outs = sizeOf(space);
  const count = sizeOf(reduced);
  const loads = loadsOf(kernel.accumulators.map((a) => a.value));
  const rowAxis = lastMoving(reduced, space.length);
  const outAxis = lastMoving(space);
  const adjacent = (axis: number | null): number =>
    axis === null ? 0 : loads.filter((l) => strideAlong(l.index, axis) === 1).length;
  const alongRows = rowAxis !== null && adjacent(rowAxis) > 0 && adjacent(rowAxis) >= adjacent(outAxis);
  const bytes = kernel.outputs.some((o) => isPacked(o.type));
  const words = kernel.accumulators.reduce((n, a) => n + (a.op.startsWith('arg') ? 2 : 1), 0);

  if (alongRows || (rowAxis !== null && outs < 64 && count > 4 * outs)) {
    const size = reduced[rowAxis! - space.length]!;
    const lanes = new Lanes({ axis: rowAxis!, space, accumulators: false });
    const four = size % 4 === 0 && loads.some((l) => lanes.stride(l.index) === 1 && lanes.aligned(l.index));
    const deal: Deal = { width: 1, axis: null };
    const width = four ? 4 : 1;
    const ty = Math.min(powerAbove(count / width), traits.maxInvocations, traits.cpu ? 32 : 256);
    const tx = Math.min(powerAbove(outs), Math.max((traits.cpu ? 32 : traits.maxInvocations) / ty, 1));
    return sized({ tx, ty, lanes: four ? 'red' : 'none', deal, items: outs }, count, width, words, bytes, traits);
  }
  const deal = columnDeal(kernel, loads, bytes);
  const items = Math.ceil(outs / deal.width);
  const full = items >= 32768 || traits.cpu;
  const tx = Math.min(powerAbove(items), full ? traits.maxInvocations : 64);
  const ty = full ? 1 : Math.min(traits.maxInvocations / tx, powerAbove(count / 4));
  return sized({ tx, ty, lanes: deal.width === 4 ? 'out' : 'none', deal, items }, count, 1, words, false, traits);
}

/** Four outputs a thread where their loads are vectors, or where bytes must be owned. */
function columnDeal(kernel: Kernel, loads: readonly Load[], bytes: boolean): Deal {
  const deal = dealSpace(kernel.space, bytes);
  if (bytes || deal.width === 1) return deal;
  const lanes = new Lanes({ axis: deal.axis, space: kernel.space, accumulators: true });
  const vectors = loads.some((l) => lanes.stride(l.index) === 1 && lanes.aligned(l.index));
  return vectors ? deal : { width: 1, axis: null };
}

type Shape = Pick<ReductionPlan, 'tx' | 'ty' | 'lanes' | 'deal' | 'items'>;

/** Adds chunks where outputs alone do not fill the device, and keeps within the workgroup's memory. */
function sized(
  shape: Shape,
  count: number,
  width: number,
  words: number,
  bytes: boolean,
  traits: Traits,
): ReductionPlan {
  let { ty } = shape;
  const perThread = words * 4 * shape.deal.width;
  while (ty > 1 && shape.tx * ty * perThread > traits.workgroupBytes) ty /= 2;
  const groups = Math.ceil(shape.items / shape.tx);
  const wanted = traits.cpu ? 4 : 528;
  const leastSteps = traits.cpu ? 256 : 8;
  const most = Math.floor(count / (width * ty * leastSteps));
  const chunks = Math.max(1, Math.min(most, Math.ceil(wanted / groups), 1024));
  const stride = ty * width;
  const chunk = Math.ceil(count / chunks / stride) * stride;
  const used = Math.ceil(count / chunk);
  return { ...shape, ty, chunks: used, chunk, partials: used > 1 || bytes };
}

/** The second pass: partial results of `chunks` workgroups become the outputs. */
export function planFinish(kernel: Kernel, chunks: number, traits: Traits): ReductionPlan {
  const bytes = kernel.outputs.some((o) => isPacked(o.type));
  const deal = bytes ? dealSpace(kernel.space, true) : ({ width: 1, axis: null } satisfies Deal);
  const items = Math.ceil(sizeOf(kernel.space) / deal.width);
  const limit = Math.min(traits.maxInvocations, 64);
  const ty = traits.cpu ? 1 : Math.min(powerAbove(chunks / 4), items >= 4096 ? 1 : limit);
  const tx = Math.max(Math.min(powerAbove(items), traits.maxInvocations / ty), 1);
  const words = kernel.accumulators.reduce((n, a) => n + (a.op.startsWith('arg') ? 2 : 1), 0);
  const lanes = deal.width === 4 ? 'out' : 'none';
  const fit = sized({ tx, ty, lanes, deal, items }, chunks, 1, words, false, { ...traits, cpu: true });
  return { ...fit, chunks: 1, chunk: chunks, partials: false };
}
