import { describe, expect, it } from 'vitest';
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
import { type Reaction, reactionTo } from './retry.ts';

const info = { code: 'X', message: 'it failed', fix: 'none', where: 'test' };

const reactions: readonly (readonly [Reaction, unknown])[] = [
  ['again', new TransientError(info)],
  ['again', new ForgeError({ ...info, code: 'CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' })],
  ['again', new ForgeError({ ...info, code: 'GPU_ERROR' })],
  ['once', new KernelError({ ...info, source: '' })],
  ['make-room', new OutOfMemory({ ...info, requested: 1, available: 0 })],
  ['reset', new DeviceLost(info)],
  ['reset', new DeadlineExceeded({ ...info, limitMs: 1 })],
  ...[ShapeError, DTypeError, ArgumentError, DisposedError, IndexError, FormatError, DeviceUnavailable].map(
    (Class) => ['never', new Class(info)] as const,
  ),
  ['never', new TensorLost(info)],
  ['never', new Aborted(info)],
  ['never', new RecoveryExhausted({ ...info, history: [] })],
  ['never', new ForgeError({ ...info, code: 'SOMETHING_ELSE' })],
  ['never', new Error('CUDA_ERROR_UNKNOWN')],
  ['never', null],
];

describe('what helps against an error', () => {
  it.each(reactions.map(([reaction, error]) => [reaction, String(error), error] as const))('is %s for %s', (...row) => {
    expect(reactionTo(row[2])).toBe(row[0]);
  });
});
