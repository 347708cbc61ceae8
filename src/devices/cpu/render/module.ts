// What the renderer hands to the CPU device: a WebAssembly module for one kernel, and how to run it.
//
// The argument block lies in the same memory, 16-byte aligned: u32 pointers of the buffers (inputs, then outputs), then the
// scratch pointer, then from the next multiple of 8 one 8-byte slot per scalar holding the value in the scalar's own type
// (f16 and bf16 as f32, bool and u8 as i32). Every buffer is 64-byte aligned, and so is the scratch.

import type { Kernel } from '../../../kernel/kernel.ts';

/** A WebAssembly module that runs one kernel on the shared memory. */
export interface WasmKernel {
  /** Imports "env"."memory", exports run(args, begin, end) and, if parts > 0, finish(args). */
  readonly bytes: Uint8Array;
  /** Readable form, for explain and errors. Made when it is asked for. */
  readonly text: string;
  /** `run` handles items begin … end-1 of this extent; the result is the same for any split. */
  readonly items: number;
  /** Items below which a split does not pay. */
  readonly grain: number;
  /** Above 0: a split reduction. Each item leaves its partial accumulators in the scratch, `finish` combines them. */
  readonly parts: number;
  readonly scratchBytes: number;
  /** Elements handled by one step of the main loop; 1 means that nothing was vectorised. */
  readonly lanes: number;
}

export interface RenderOptions {
  /** Whether the imported memory is shared. */
  readonly shared: boolean;
  /** Relaxed SIMD may be used where it does not change results. */
  readonly relaxed?: boolean;
  /** Bytes of a matrix from which on its columns are walked some rows at a time. Default: more than caches near the processor hold. */
  readonly streamedBytes?: number;
}

/** Where things lie in the argument block of a kernel. */
export interface ArgsLayout {
  /** Byte offset of the pointer of buffer i is 4·i; this is the scratch pointer's. */
  readonly scratch: number;
  /** Byte offset of scalar 0; scalar i follows at 8·i. */
  readonly scalars: number;
  readonly bytes: number;
}

export function argsLayout(kernel: Pick<Kernel, 'inputs' | 'outputs' | 'scalars'>): ArgsLayout {
  const scratch = 4 * (kernel.inputs.length + kernel.outputs.length);
  const scalars = (scratch + 4 + 7) & ~7;
  return { scratch, scalars, bytes: scalars + 8 * kernel.scalars.length };
}
