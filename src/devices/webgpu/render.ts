// From a kernel or routine to its plan.

import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Plan, Traits } from './plan.ts';
import { renderRaw } from './routines/raw.ts';
import { type InPlace, nothingInPlace } from './wgsl/buffers.ts';
import { renderElementwise } from './wgsl/elementwise.ts';
import { renderReduction } from './wgsl/reduce.ts';

export function render(work: Kernel | Routine, traits: Traits, inPlace: InPlace = nothingInPlace): Plan {
  if (work.kind === 'kernel') return renderKernel(work, traits, inPlace);
  switch (work.op) {
    case 'raw':
      return renderRaw(work);
    default:
      throw new Error(`webgpu: routine ${work.op}`);
  }
}

function renderKernel(kernel: Kernel, traits: Traits, inPlace: InPlace): Plan {
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
