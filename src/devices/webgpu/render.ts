// From a kernel or routine to its plan.

import { sizeOf } from '../../base/shape.ts';
import { type Bounds, bounds, cutOf } from '../../kernel/bounds.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { below } from '../../kernel/walk.ts';
import { tooManyPositions } from './errors.ts';
import type { PassPlan, Traits } from './plan.ts';
import { renderMatmul } from './routines/matmul.ts';
import { renderRaw } from './routines/raw.ts';
import { renderScan } from './routines/scan.ts';
import { renderScatter } from './routines/scatter.ts';
import { renderSort } from './routines/sort.ts';
import { type InPlace, nothingInPlace } from './wgsl/buffers.ts';
import { renderElementwise } from './wgsl/elementwise.ts';
import { renderReduction } from './wgsl/reduce.ts';

export function render(work: Kernel | Routine, traits: Traits, inPlace: InPlace = nothingInPlace): PassPlan {
  if (work.kind === 'kernel') return renderKernel(work, traits, inPlace);
  switch (work.op) {
    case 'matmul':
      return renderMatmul(work, traits);
    case 'sort':
      return renderSort(work, traits);
    case 'scan':
      return renderScan(work, traits);
    case 'scatter':
      return renderScatter(work, traits);
    case 'products':
      throw new Error(`webgpu: ${work.name}: lists of products are not among the capabilities`);
    case 'rows':
    case 'attention':
    case 'topk':
      throw new Error(`webgpu: ${work.name}: ${work.op} is not among the capabilities`);
    case 'raw':
      return renderRaw(work);
    default:
      return work satisfies never;
  }
}

/** Positions that an i32 does not hold would wrap, and read and count the wrong elements. */
function checkPositions({ name, space, reduced, accumulators, outputs }: Kernel): void {
  const fits = ({ min, max }: Bounds): boolean =>
    !(Number.isFinite(max) && max >= limit) && !(min < -limit && min > -Infinity);
  if (sizeOf(space) >= limit || sizeOf(reduced) >= limit) throw tooManyPositions(name);
  for (const e of below([...accumulators, ...outputs].map((x) => x.value))) {
    const cut = e.kind === 'cast' && e.type === 'index' ? (cutOf(e.src[0]) ?? 0) : 0;
    if (e.type === 'index' && (cut >= limit || !fits(bounds(e)))) throw tooManyPositions(name);
  }
}

const limit = 2 ** 31;

function renderKernel(kernel: Kernel, traits: Traits, inPlace: InPlace): PassPlan {
  checkPositions(kernel);
  const { passes, scratch } =
    kernel.accumulators.length > 0
      ? renderReduction(kernel, traits, inPlace)
      : { passes: [renderElementwise(kernel, traits, inPlace)], scratch: [] };
  return {
    name: kernel.name,
    passes,
    scratch,
    scalars: kernel.scalars,
    buffers: kernel.inputs.length + kernel.outputs.length,
    firstOutput: kernel.inputs.length,
  };
}
