// Kernel to PTX.

import { inBlocks } from '../../../kernel/blocks.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, lessWork, loadsEach } from '../../../kernel/together.ts';
import { renderCrossing, squaresOf } from './crossing.ts';
import { type Rendered, renderElementwise } from './elementwise.ts';
import { neighboursOf } from './neighbours.ts';
import { planesOf, renderPlanes, runOf } from './planes.ts';
import { renderReduction } from './reduce.ts';
import type { Target } from './target.ts';

/** So much less must be left to read. */
const fewer = 0.75;

export function renderKernel(kernel: Kernel, target: Target): Rendered {
  const stencil = neighboursOf(kernel, target);
  const blocks = inBlocks(kernel);
  if (blocks) return renderElementwise(stencil ? lessWork(stencil, blocks) : blocks, target);
  const near = stencil ?? alone(kernel);
  if (kernel.accumulators.length > 0) return renderReduction(near, target);
  const crossing = squaresOf(kernel, target);
  if (crossing) return renderCrossing(kernel, crossing, target);
  const planes = planesOf(kernel);
  // Boxes of neighbours along two axes read less than runs of planes do, where each position reads much.
  const boxed = planes && stencil && loadsEach(stencil) < fewer * loadsEach(runOf(kernel, planes));
  return planes && !boxed ? renderPlanes(kernel, planes, target) : renderElementwise(near, target);
}
