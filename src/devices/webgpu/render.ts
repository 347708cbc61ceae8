// From a kernel or routine to its plan.

import { sizeOf } from '../../base/shape.ts';
import { bindingsOf } from '../../kernel/bindings.ts';
import { type Bounds, bounds, cutOf } from '../../kernel/bounds.ts';
import type { Expr } from '../../kernel/expr.ts';
import type { Attention, Kernel, Routine } from '../../kernel/kernel.ts';
import { below } from '../../kernel/walk.ts';
import { tooManyPositions } from './errors.ts';
import type { OnChip } from './on-chip/index.ts';
import type { Ordering } from './ordering/index.ts';
import type { Pass, PassPlan, Traits } from './plan.ts';
import { renderMatmul } from './routines/matmul.ts';
import { renderRaw } from './routines/raw.ts';
import { renderScan } from './routines/scan.ts';
import { renderScatter } from './routines/scatter.ts';
import { renderSort } from './routines/sort.ts';
import { type InPlace, nothingInPlace } from './wgsl/buffers.ts';
import { renderElementwise } from './wgsl/elementwise.ts';
import { renderReduction } from './wgsl/reduce.ts';

/** Kernels for GPUs, in files of their own. */
export interface GpuKernels extends OnChip, Ordering {}

/** `gpuKernels`: where the adapter is a GPU. */
export function render(
  work: Kernel | Routine,
  traits: Traits,
  inPlace: InPlace = nothingInPlace,
  gpuKernels: GpuKernels | null = null,
): PassPlan {
  if (work.kind === 'kernel') return renderKernel(work, traits, inPlace, gpuKernels);
  switch (work.op) {
    case 'matmul':
      return renderMatmul(work, traits);
    case 'sort':
      return (gpuKernels?.sort ?? renderSort)(work, traits);
    case 'scan':
      return gpuKernels?.scan(work, traits) ?? renderScan(work, traits);
    case 'scatter':
      return renderScatter(work, traits);
    case 'fourier':
    case 'products':
    case 'compact':
      return needed<PassPlan>(null, work);
    case 'rows':
      for (const { kernel } of work.stages) checkPositions(kernel);
      return needed(gpuKernels, work).rows(work, traits);
    case 'attention':
      checkAttention(work);
      return needed(gpuKernels, work).attention(work, traits);
    case 'topk':
      return needed(gpuKernels, work).topk(work, traits);
    case 'raw':
      return renderRaw(work);
    default:
      return work satisfies never;
  }
}

function needed<T>(kernels: T | null, { name, op }: Routine): T {
  if (kernels) return kernels;
  throw new Error(`webgpu: ${name}: no ${op} here`);
}

/** Positions that an i32 does not hold would wrap, and read and count the wrong elements. */
function checkPositions({ name, space, reduced, accumulators, outputs }: Kernel): void {
  if (sizeOf(space) >= limit || sizeOf(reduced) >= limit) throw tooManyPositions(name);
  checkIndices(
    name,
    [...accumulators, ...outputs].map((x) => x.value),
  );
}

/** Scores have no positions of their own: only what is bound does, and what their function reads. */
function checkAttention(work: Attention): void {
  const { inputs, outputs } = bindingsOf(work);
  if ([...inputs, ...outputs].some((b) => b.elements >= limit)) throw tooManyPositions(work.name);
  checkIndices(work.name, [work.scores.output.value]);
}

function checkIndices(name: string, values: readonly Expr[]): void {
  const fits = ({ min, max }: Bounds): boolean =>
    !(Number.isFinite(max) && max >= limit) && !(min < -limit && min > -Infinity);
  for (const e of below(values)) {
    const cut = e.kind === 'cast' && e.type === 'index' ? (cutOf(e.src[0]) ?? 0) : 0;
    if (e.type === 'index' && (cut >= limit || !fits(bounds(e)))) throw tooManyPositions(name);
  }
}

const limit = 2 ** 31;

function renderKernel(kernel: Kernel, traits: Traits, inPlace: InPlace, gpuKernels: GpuKernels | null): PassPlan {
  checkPositions(kernel);
  const elementwise = (): Pass =>
    gpuKernels?.squares(kernel, traits, inPlace) ?? renderElementwise(kernel, traits, inPlace);
  const { passes, scratch } =
    kernel.accumulators.length > 0
      ? renderReduction(kernel, traits, inPlace)
      : { passes: [elementwise()], scratch: [] };
  return {
    name: kernel.name,
    passes,
    scratch,
    scalars: kernel.scalars,
    buffers: kernel.inputs.length + kernel.outputs.length,
    firstOutput: kernel.inputs.length,
  };
}
