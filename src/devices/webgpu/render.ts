// From a kernel or routine to its plan.

import type { Kernel, Routine } from '../../kernel/kernel.ts';
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
    case 'raw':
      return renderRaw(work);
    default:
      return work satisfies never;
  }
}

function renderKernel(kernel: Kernel, traits: Traits, inPlace: InPlace): PassPlan {
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
