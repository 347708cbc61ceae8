// Errors of the GPU as errors of the library: nothing reaches the console, and each names the op it belongs to.

import { DeviceUnavailable, DisposedError, ForgeError, KernelError, OutOfMemory } from '../../errors.ts';

const firstLine = (text: string): string => text.split('\n', 1)[0]!.trim();

export function outOfMemory(id: string, requested: number, available: number, cause?: unknown): OutOfMemory {
  return new OutOfMemory({
    code: 'OUT_OF_MEMORY',
    message: `${id}: no room for ${requested} bytes (${available} bytes are free within the device's budget)`,
    fix: 'Dispose tensors you no longer need, process the data in smaller parts, or raise memoryBytes if the GPU has more.',
    where: 'allocate',
    requested,
    available,
    ...(cause === undefined ? {} : { cause }),
  });
}

export function tooLarge(id: string, requested: number, limit: number): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'BUFFER_TOO_LARGE',
    message: `${id}: a buffer of ${requested} bytes does not fit one binding, which holds at most ${limit} bytes on this adapter`,
    fix: 'Split the tensor along its first axis, or place this work on a device with a larger caps.maxBufferBytes.',
    where: 'allocate',
  });
}

export function tooManyPositions(name: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'TOO_MANY_POSITIONS',
    message: `${name}: WebGPU counts positions in 32 bits, and this takes 2^31 or more`,
    fix: 'Run it on the CPU or a CUDA device, or in parts.',
    where: name,
  });
}

export function closed(id: string, where: string): DisposedError {
  return new DisposedError({
    code: 'DEVICE_CLOSED',
    message: `${id}: ${where} after close()`,
    fix: 'Open the device again with openWebGpuDevices().',
    where,
  });
}

export function released(id: string, where: string): DisposedError {
  return new DisposedError({
    code: 'BUFFER_RELEASED',
    message: `${id}: ${where} of a buffer that was released or belongs to another device`,
    fix: 'Keep the buffer until its last use is enqueued.',
    where,
  });
}

export function shaderError(id: string, name: string, source: string, cause: unknown, lines: string): KernelError {
  return new KernelError({
    code: 'SHADER_REJECTED',
    message: `${id}: the shader of ${name} was rejected: ${lines || firstLine(messageOf(cause))}`,
    fix: 'Look at the source this error carries; for a raw kernel, correct that line.',
    where: name,
    source,
    cause,
  });
}

/** An error of a submitted batch: what the GPU said, and the ops it may come from. */
export function batchError(id: string, error: unknown, names: readonly string[]): ForgeError {
  if (error instanceof ForgeError) return error;
  const text = messageOf(error);
  // Pipelines are labelled with the names of their ops, so the message often names the culprit itself.
  const named = names.find((n) => text.includes(`"${n}"`));
  const where = named ?? (names.length === 1 ? names[0]! : 'submit');
  const among = named || names.length <= 1 ? '' : ` (one of ${[...new Set(names)].slice(0, 8).join(', ')})`;
  return new ForgeError({
    code: 'GPU_ERROR',
    message: `${id}: ${where} failed on the GPU${among}: ${firstLine(text)}`,
    fix: 'Nothing of this batch was written; check the sizes and bindings of the named op.',
    where,
    cause: error,
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error || (typeof error === 'object' && error !== null && 'message' in error)
    ? String((error as { message: unknown }).message)
    : String(error);
}
