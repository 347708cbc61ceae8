import { describe, expect, it } from 'vitest';
import { DeviceLost, ForgeError, KernelError, OutOfMemory } from '../../errors.ts';
import { TransientError } from './errors.ts';
import { reactionTo } from './retry.ts';

const info = { code: 'X', message: 'it failed', fix: 'none', where: 'test' };
const transient = new TransientError(info);
const kernel = new KernelError({ ...info, source: '' });
const noRoom = new OutOfMemory({ ...info, requested: 1, available: 0 });
const lost = new DeviceLost(info);

describe('what helps against an error', () => {
  it('is decided by its class and code', () => {
    const cuda = new ForgeError({ ...info, code: 'CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' });
    expect([transient, kernel, noRoom, lost, cuda, new Error('x'), null].map(reactionTo)).toEqual([
      'again',
      'once',
      'make-room',
      'reset',
      'again',
      'never',
      'never',
    ]);
  });
});
