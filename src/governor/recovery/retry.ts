// What an error allows, as a table: most errors are never retried, a transient one up to the limit, a failed kernel once; lack
// of memory and a lost device only after something was done about it. The loop that acts on it is `attempt.ts`.

import {
  ArgumentError,
  DeviceLost,
  DeviceUnavailable,
  DisposedError,
  DTypeError,
  ForgeError,
  FormatError,
  IndexError,
  KernelError,
  OutOfMemory,
  ShapeError,
} from '../../errors.ts';
import { Aborted, DeadlineExceeded, RecoveryExhausted, TensorLost, TransientError } from './errors.ts';

/** What may help against an error: nothing, another attempt (any number or one), more room, or a new device. */
export type Reaction = 'never' | 'again' | 'once' | 'make-room' | 'reset';

const never = [
  ShapeError,
  DTypeError,
  ArgumentError,
  DisposedError,
  IndexError,
  FormatError,
  DeviceUnavailable,
  TensorLost,
  Aborted,
  RecoveryExhausted,
];

interface Row {
  readonly applies: (error: ForgeError) => boolean;
  readonly reaction: Reaction;
}

const reactions: readonly Row[] = [
  { applies: (e) => never.some((c) => e instanceof c), reaction: 'never' },
  { applies: (e) => e instanceof OutOfMemory, reaction: 'make-room' },
  // A device that does not answer is as good as lost.
  { applies: (e) => e instanceof DeviceLost || e instanceof DeadlineExceeded, reaction: 'reset' },
  { applies: (e) => e instanceof KernelError, reaction: 'once' },
  { applies: (e) => e instanceof TransientError, reaction: 'again' },
  // Driver errors that did not poison the context, and batches the GPU refused as a whole.
  { applies: (e) => e.code.startsWith('CUDA_ERROR') || e.code === 'GPU_ERROR', reaction: 'again' },
];

/** What may help against this error. Errors that are not the library's own are bugs, and never retried. */
export function reactionTo(error: unknown): Reaction {
  if (!(error instanceof ForgeError)) return 'never';
  return reactions.find((r) => r.applies(error))?.reaction ?? 'never';
}
