// Kernels in WGSL that the user wrote.
//
// The convention: group 0 binds the inputs as `var<storage, read>`, then the outputs as `var<storage, read_write>`, then,
// if there are scalars, one `var<uniform>` of 32-bit words in their order (f16 as f32, bool and u8 as u32). The entry
// point states its workgroup size itself; `grid` counts workgroups.

import { ArgumentError } from '../../../errors.ts';
import type { RawKernel } from '../../../kernel/kernel.ts';
import type { Binding, PassPlan } from '../plan.ts';

export function renderRaw(raw: RawKernel): PassPlan {
  if (raw.language !== 'wgsl') {
    throw new ArgumentError({
      code: 'WRONG_LANGUAGE',
      message: `webgpu: ${raw.name} is written in ${raw.language}`,
      fix: 'Give WGSL for this device, or place the kernel on a device that runs its language.',
      where: raw.name,
    });
  }
  const bindings: Binding[] = [
    ...raw.inputs.map((_, i): Binding => ({ from: 'buffer', index: i, access: 'read' })),
    ...raw.outputs.map((_, i): Binding => ({ from: 'buffer', index: raw.inputs.length + i, access: 'write' })),
  ];
  return {
    name: raw.name,
    passes: [
      {
        name: raw.name,
        source: raw.source,
        entry: raw.entry,
        bindings,
        usesScalars: raw.scalars.length > 0,
        usesVeil: false,
        workgroups: raw.grid,
      },
    ],
    scratch: [],
    scalars: raw.scalars,
    buffers: raw.inputs.length + raw.outputs.length,
    firstOutput: raw.inputs.length,
  };
}
