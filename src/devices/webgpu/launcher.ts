// Encoding of one launch: buffers to bind groups, scalars to their slot, passes to dispatches.
//
// An output that shares the buffer of an input needs a shader that reads it through the output's binding, since WebGPU
// forbids binding one buffer both for reading and for writing. Where the kernel does not allow that, the launch writes
// into a scratch buffer that is copied over afterwards.

import { byteSize } from '../../base/dtype.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Block, GpuBuffer, Pool } from './memory.ts';
import type { Pipelines } from './pipelines.ts';
import type { Variant, WebGpuProgram } from './program.ts';
import type { WorkQueue } from './queue.ts';
import type { ScalarBlock } from './scalars.ts';

/** A launch with everything looked up: what a recording keeps. */
export interface Prepared {
  readonly variant: Variant;
  readonly groups: readonly GPUBindGroup[];
}

export class Launcher {
  readonly #pool: Pool;
  readonly #queue: WorkQueue;
  readonly #pipelines: Pipelines;
  readonly #scalars: ScalarBlock;

  constructor(pool: Pool, queue: WorkQueue, pipelines: Pipelines, scalars: ScalarBlock) {
    this.#pool = pool;
    this.#queue = queue;
    this.#pipelines = pipelines;
    this.#scalars = scalars;
  }

  launch(program: WebGpuProgram, buffers: readonly GpuBuffer[], scalars: readonly number[]): void {
    const doubtful = program.doubtful;
    if (doubtful) this.#queue.flush();
    this.#launch(program, buffers, scalars);
    if (doubtful) this.#queue.flush();
  }

  #launch(program: WebGpuProgram, buffers: readonly GpuBuffer[], scalars: readonly number[]): void {
    const shared = sharedBuffers(buffers, program.plain.plan.firstOutput);
    if (shared === null) {
      this.#run(program.plain, buffers, scalars);
      return;
    }
    if (mayOverwrite(program.work, shared)) {
      this.#run(program.inPlace(shared), buffers, scalars);
      return;
    }
    this.#runAside(program, buffers, scalars, new Set(shared.values()));
  }

  /** Looks up pipelines and bind groups of a launch that shares no buffers in ways it may not. Null where it does. */
  prepare(program: WebGpuProgram, buffers: readonly GpuBuffer[], scratch: readonly GpuBuffer[]): Prepared | null {
    const shared = sharedBuffers(buffers, program.plain.plan.firstOutput);
    if (shared && !mayOverwrite(program.work, shared)) return null;
    const variant = shared ? program.inPlace(shared) : program.plain;
    return { variant, groups: this.#groups(variant, buffers, scratch) };
  }

  /** Encodes a prepared launch. */
  encode(prepared: Prepared, buffers: readonly GpuBuffer[], scalars: readonly number[]): void {
    const { plan, compiled } = prepared.variant;
    this.settleUnsure(buffers);
    let offset: number | null = null;
    if (plan.scalars.length > 0) {
      if (!this.#scalars.hasRoomFor(plan.scalars.length)) this.#queue.flush();
      offset = this.#scalars.add(plan.scalars, scalars);
    }
    plan.passes.forEach((pass, i) => {
      this.#queue.dispatch(
        compiled[i]!.pipeline,
        prepared.groups[i]!,
        pass.usesScalars ? offset : null,
        pass.workgroups,
      );
    });
    const reads = buffers.slice(0, plan.firstOutput);
    this.#queue.note({ name: plan.name, reads, writes: buffers.slice(plan.firstOutput), compiled });
    this.#queue.breathe();
  }

  /**
   * Submits what came before the first use of a block that may turn out not to exist: a batch that fails is lost whole,
   * and what does not need the block must not be lost with it.
   */
  settleUnsure(buffers: readonly GpuBuffer[]): void {
    for (const b of buffers) {
      if (!b.block!.unsure) continue;
      b.block!.unsure = false;
      this.#queue.flush();
    }
  }

  #run(variant: Variant, buffers: readonly GpuBuffer[], scalars: readonly number[]): void {
    const scratch: GpuBuffer[] = [];
    try {
      for (const bytes of variant.plan.scratch) scratch.push(this.#pool.allocate(bytes));
      this.encode({ variant, groups: this.#groups(variant, buffers, scratch) }, buffers, scalars);
    } finally {
      for (const s of scratch) this.#pool.release(s);
    }
  }

  #runAside(
    program: WebGpuProgram,
    buffers: readonly GpuBuffer[],
    scalars: readonly number[],
    outputs: Set<number>,
  ): void {
    const first = program.plain.plan.firstOutput;
    const aside: GpuBuffer[] = [];
    try {
      const moved = buffers.map((b, i) => {
        if (!outputs.has(i - first)) return b;
        const made = this.#pool.allocate(b.bytes);
        aside.push(made);
        return made;
      });
      this.#run(program.plain, moved, scalars);
      moved.forEach((from, i) => {
        const to = buffers[i]!;
        if (from === to) return;
        this.#queue.copy(from.block!.gpu, 0, to.block!.gpu, 0, 4 * Math.ceil(to.bytes / 4));
        this.#queue.note({ name: program.name, reads: [from], writes: [to], compiled: [] });
      });
    } finally {
      for (const b of aside) this.#pool.release(b);
    }
  }

  #groups(variant: Variant, buffers: readonly GpuBuffer[], scratch: readonly GpuBuffer[]): GPUBindGroup[] {
    return variant.plan.passes.map((pass, i) => {
      const blocks: Block[] = pass.bindings.map((b) => (b.from === 'buffer' ? buffers : scratch)[b.index]!.block!);
      return this.#pipelines.bindGroup(variant.compiled[i]!, blocks);
    });
  }
}

/** Input slot → output number for buffers that occur on both sides; null if none does. */
function sharedBuffers(buffers: readonly GpuBuffer[], firstOutput: number): Map<number, number> | null {
  let shared: Map<number, number> | null = null;
  for (let o = firstOutput; o < buffers.length; o++) {
    for (let i = 0; i < firstOutput; i++) {
      if (buffers[i]!.block === buffers[o]!.block) (shared ??= new Map()).set(i, o - firstOutput);
    }
  }
  return shared;
}

/** Whether the kernel says these inputs may be overwritten, by elements of the same size. */
function mayOverwrite(work: Kernel | Routine | null, shared: ReadonlyMap<number, number>): boolean {
  if (!work) return true;
  if (work.kind !== 'kernel') return false;
  for (const [i, o] of shared) {
    if (!work.inPlace.includes(i)) return false;
    const [from, to] = [work.inputs[i]!, work.outputs[o]!];
    if (byteSize(from.type) !== byteSize(to.type)) return false;
  }
  return true;
}
