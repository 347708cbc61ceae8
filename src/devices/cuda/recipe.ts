// What it takes to run a kernel or routine: one PTX module and the launches to make, as data.
//
// A recipe knows no driver, so everything that makes recipes can be tested by assembling the text.

import type { Kernel, RawKernel } from '../../kernel/kernel.ts';
import { moduleText } from './ptx/code.ts';
import { renderKernel } from './ptx/index.ts';
import type { Target } from './ptx/target.ts';
import type { Argument, StepShape } from './step.ts';

export interface LaunchRecipe extends StepShape {
  readonly entry: string;
}

export interface ModuleRecipe {
  readonly name: string;
  readonly ptx: string;
  readonly launches: readonly LaunchRecipe[];
  /** Memory of the program's own: zeroed once, kept. */
  readonly keptBytes: number;
  /** Memory each run borrows, contents undefined. */
  readonly borrowedBytes: number;
  /** The text is a user's, of any form. */
  readonly raw?: true;
}

export function kernelRecipe(kernel: Kernel, target: Target): ModuleRecipe {
  const r = renderKernel(kernel, target);
  const buffers = kernel.inputs.length + kernel.outputs.length;
  const args: Argument[] = Array.from({ length: buffers }, (_, index) => ({ kind: 'buffer', index }));
  if (r.scratchBytes > 0) args.push({ kind: 'kept', offset: 0 });
  kernel.scalars.forEach((type, index) => {
    args.push({ kind: 'scalar', index, type });
  });
  return {
    name: kernel.name,
    ptx: moduleText(target, [r.text]),
    launches: [{ entry: r.entry, grid: r.grid, block: [r.block, 1, 1], shared: 0, args }],
    keptBytes: r.scratchBytes,
    borrowedBytes: 0,
  };
}

/** A user's own PTX: parameters are the buffers (inputs, outputs), then the scalars, 8 bytes each. */
export function rawRecipe(raw: RawKernel): ModuleRecipe {
  const buffers = raw.inputs.length + raw.outputs.length;
  const args: Argument[] = [
    ...Array.from({ length: buffers }, (_, index): Argument => ({ kind: 'buffer', index })),
    ...raw.scalars.map((type, index): Argument => ({ kind: 'scalar', index, type })),
  ];
  return {
    name: raw.name,
    ptx: raw.source,
    launches: [{ entry: raw.entry, grid: raw.grid, block: raw.block, shared: 0, args }],
    keptBytes: 0,
    borrowedBytes: 0,
    raw: true,
  };
}
