// One run of a module on buffers: what it is told, and where it works.
//
// Work that stays on the calling thread has its scratch in the staging area if nothing is staged: no block is taken for it. Workers
// have blocks: one that was given up may still write to its own.

import { point, stage, unstage, writePointers } from './arguments.ts';
import type { CpuBuffer } from './buffer.ts';
import type { SharedWork, WasmEngine } from './engine.ts';
import { stagingBytes } from './memory.ts';

/** The first `inputs` buffers are read; `table` is the address of what the module reads besides, or 0. */
export function launch(
  engine: WasmEngine,
  work: SharedWork,
  buffers: readonly CpuBuffer[],
  inputs: number,
  scratchBytes: number,
  table = 0,
): void {
  const { memory } = engine;
  const needsBlock = scratchBytes > 0 && (scratchBytes > stagingBytes || engine.spreads(work));
  if (!needsBlock && point(memory, buffers, memory.staging, table)) {
    engine.run(work);
    return;
  }
  const scratch = scratchBytes > 0 ? memory.take(scratchBytes, work.code.name) : null;
  const pointers: number[] = [];
  try {
    stage(memory, buffers, inputs, pointers);
    writePointers(memory, pointers, buffers.length, scratch?.address ?? 0, table);
    engine.run(work);
    unstage(memory, buffers, inputs, pointers);
  } finally {
    if (scratch) engine.release(scratch);
  }
}
