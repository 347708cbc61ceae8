// Programs of the CPU device: something to run, the buffers it takes, and how it reads for people.

import type { Program } from '../device.ts';
import type { CpuBuffer } from './buffer.ts';

export interface CpuProgram extends Program {
  /** Bytes each buffer must have, in launch order. */
  readonly needs: readonly number[];
  readonly scalars: number;
  run(buffers: readonly CpuBuffer[], scalars: readonly number[]): void;
  dispose(): void;
}

/** Work that writes nothing: nothing to render, nothing to run. */
export const nothing = (name: string, needs: readonly number[], scalars: number): CpuProgram => ({
  name,
  source: ';; nothing to do\n',
  needs,
  scalars,
  run: () => {},
  dispose: () => {},
});
