// What a kernel or routine becomes before it meets a GPU: shaders, what they bind, and how many workgroups run.
//
// Plain data, made without a device, so that everything rendered can be looked at, counted and tested by itself.

import type { DType } from '../../base/dtype.ts';

/** One storage buffer of a pass: entry `index` of the launch's buffers, or of the plan's scratch buffers. */
export interface Binding {
  readonly from: 'buffer' | 'scratch';
  readonly index: number;
  readonly access: 'read' | 'write';
}

/** One dispatch. Bindings are numbered in order in group 0; the scalars, if used, come after them as a uniform. */
export interface Pass {
  readonly name: string;
  readonly source: string;
  readonly entry: string;
  readonly bindings: readonly Binding[];
  readonly usesScalars: boolean;
  /** Binds the uniform zero that hides arithmetic from compilers, after the scalars. */
  readonly usesVeil: boolean;
  readonly workgroups: readonly [number, number, number];
}

export interface PassPlan {
  readonly name: string;
  readonly passes: readonly Pass[];
  /** Sizes in bytes of buffers that live only during the launch. */
  readonly scratch: readonly number[];
  readonly scalars: readonly DType[];
  /** How many buffers a launch takes, and the first of them that is written. */
  readonly buffers: number;
  readonly firstOutput: number;
}

/** What the renderer has to know of an adapter. */
export interface Traits {
  /** A software adapter: few cores, dear barriers. */
  readonly cpu: boolean;
  readonly f16: boolean;
  /** Threads of a workgroup that exchange values without barriers, at least; 0 where the adapter cannot. */
  readonly subgroup: number;
  readonly maxWorkgroupsPerDimension: number;
  readonly maxInvocations: number;
  readonly workgroupBytes: number;
  /** `/` and `sqrt` round correctly by themselves; else they are refined with fused multiply-adds. */
  readonly exactDivision: boolean;
  /** Comparisons with NaN are false in every shader: its compiler never assumes that NaN does not occur. */
  readonly keepsNaN: boolean;
}

/** The source of a plan as one text, for `explain` and error messages. */
export function sourceOf(plan: PassPlan): string {
  return plan.passes.map((p) => `// ${p.name}: ${p.workgroups.join(' × ')} workgroups\n${p.source}`).join('\n');
}
