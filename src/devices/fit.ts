// Whether the buffers of a launch are as large as its work: checked before anything reaches a driver.
//
// A kernel that runs past its buffer is silent corruption on some devices and a lost GPU on others.

import { byteSize } from '../base/dtype.ts';
import { ArgumentError } from '../errors.ts';
import { bindingsOf, writesNothing } from '../kernel/bindings.ts';
import type { Kernel, Routine } from '../kernel/kernel.ts';
import type { DeviceBuffer, DeviceId } from './device.ts';

/** Bytes that each buffer of a launch must have, in launch order. */
export function needsOf(work: Kernel | Routine): number[] {
  const { inputs, outputs } = bindingsOf(work);
  const nothing = writesNothing(work);
  return [...inputs, ...outputs].map((b) => (nothing ? 0 : b.elements * byteSize(b.type)));
}

function wrongBuffers(device: DeviceId, name: string, takes: number, given: number): ArgumentError {
  return new ArgumentError({
    code: 'WRONG_BUFFERS',
    message: `${name}: launched with ${given} buffers, takes ${takes} (${device})`,
    fix: 'Give the inputs first, then the outputs, as the kernel lists them.',
    where: name,
  });
}

export function tooSmall(device: DeviceId, name: string, i: number, bytes: number, needs: number): ArgumentError {
  return new ArgumentError({
    code: 'BUFFER_TOO_SMALL',
    message: `${name}: buffer ${i} has ${bytes} bytes, needs ${needs} (${device})`,
    fix: 'Allocate the buffer for the shape the kernel was made for.',
    where: name,
  });
}

/** Throws unless there is a buffer for each need, and as large. */
export function checkFit(
  device: DeviceId,
  name: string,
  needs: readonly number[],
  buffers: readonly DeviceBuffer[],
): void {
  if (buffers.length !== needs.length) throw wrongBuffers(device, name, needs.length, buffers.length);
  for (let i = 0; i < needs.length; i++) {
    const { bytes } = buffers[i]!;
    if (bytes < needs[i]!) throw tooSmall(device, name, i, bytes, needs[i]!);
  }
}
