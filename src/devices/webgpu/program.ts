// Kernels made ready: plans, their compiled passes, and the variants for outputs that overwrite inputs.

import { bindingsOf } from '../../kernel/bindings.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { plainWork } from '../../kernel/plain.ts';
import type { Program } from '../device.ts';
import { needsOf } from '../fit.ts';
import type { Compiled, Pipelines } from './pipelines.ts';
import { type PassPlan, sourceOf, type Traits } from './plan.ts';
import { type GpuKernels, render } from './render.ts';
import type { InPlace } from './wgsl/buffers.ts';

export interface Variant {
  readonly plan: PassPlan;
  readonly compiled: readonly Compiled[];
}

export class WebGpuProgram implements Program {
  readonly name: string;
  readonly source: string;
  /** What runs: without anything empty in it; null if that leaves nothing to write. */
  readonly work: Kernel | Routine | null;
  /** Bytes each buffer must have, in launch order. */
  readonly needs: readonly number[];
  readonly plain: Variant;
  readonly #pipelines: Pipelines;
  readonly #traits: Traits;
  readonly #gpuKernels: GpuKernels | null;
  readonly #variants = new Map<string, Variant>();

  constructor(work: Kernel | Routine, traits: Traits, gpuKernels: GpuKernels | null, pipelines: Pipelines) {
    this.work = plainWork(work);
    this.needs = needsOf(work);
    this.#traits = traits;
    this.#gpuKernels = gpuKernels;
    this.#pipelines = pipelines;
    this.plain = this.#compile(this.work ? this.#render(this.work) : nothing(work));
    this.name = work.name;
    this.source = sourceOf(this.plain.plan);
  }

  /** Written by hand and not yet accepted by the GPU: launched in a batch of its own. */
  get doubtful(): boolean {
    return this.work?.kind === 'routine' && this.work.op === 'raw' && !this.plain.compiled.every((c) => c.accepted);
  }

  /** The variant in which these inputs share the buffers of these outputs. */
  inPlace(pairs: InPlace): Variant {
    const key = [...pairs].map(([i, o]) => `${i}>${o}`).join();
    let known = this.#variants.get(key);
    if (!known) {
      known = this.work ? this.#compile(this.#render(this.work, pairs)) : this.plain;
      this.#variants.set(key, known);
    }
    return known;
  }

  #render(work: Kernel | Routine, pairs?: InPlace): PassPlan {
    return render(work, this.#traits, pairs, this.#gpuKernels);
  }

  #compile(plan: PassPlan): Variant {
    return { plan, compiled: plan.passes.map((p) => this.#pipelines.compile(p, plan.scalars.length)) };
  }
}

/** No passes: the work writes nothing. */
function nothing(work: Kernel | Routine): PassPlan {
  const { inputs, outputs } = bindingsOf(work);
  const buffers = inputs.length + outputs.length;
  return { name: work.name, passes: [], scratch: [], scalars: [], buffers, firstOutput: inputs.length };
}
