// Kernel to PTX.

import type { Kernel } from '../../../kernel/kernel.ts';
import { moduleText } from './code.ts';
import { crossingOf, renderCrossing } from './crossing.ts';
import { type Rendered, renderElementwise } from './elementwise.ts';
import { neighboursOf } from './neighbours.ts';
import { renderReduction } from './reduce.ts';
import type { Target } from './target.ts';

export type { Rendered } from './elementwise.ts';

export function renderKernel(kernel: Kernel, target: Target): Rendered {
  const crossing = kernel.accumulators.length > 0 ? null : crossingOf(kernel, target);
  if (crossing) return renderCrossing(kernel, crossing, target);
  const near = neighboursOf(kernel, target) ?? { kernel, count: 1, stride: 0 };
  return kernel.accumulators.length > 0 ? renderReduction(near, target) : renderElementwise(near, target);
}

export const kernelModule = (rendered: Rendered, target: Target): string => moduleText(target, [rendered.text]);
