// What a worker and its child process tell each other.

import type { ChunkDescriptor, ChunkResult } from '../transport.ts';

/** To the child: run a chunk, or stop running it. */
export type Order =
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly chunk: ChunkDescriptor;
      readonly chunkId: string;
      readonly attempt: number;
    }
  | { readonly kind: 'abort'; readonly id: number };

/** From the child. */
export type Answer =
  | { readonly kind: 'ready'; readonly ops: readonly string[]; readonly caps: ChildCaps }
  /** It could not start. */
  | { readonly kind: 'refused'; readonly message: string; readonly fix: string | null }
  | { readonly kind: 'done'; readonly id: number; readonly result: ChunkResult }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly message: string;
      readonly stack: string;
      readonly code: string | null;
      readonly how: FailureKind;
    };

/** Whether another attempt may help, or another worker. */
export type FailureKind = 'passing' | 'permanent' | 'elsewhere';

/** What the child found out about its device. */
export interface ChildCaps {
  readonly backend: 'cuda' | 'webgpu' | 'cpu';
  readonly device: string;
  readonly freeMb: number | null;
}
