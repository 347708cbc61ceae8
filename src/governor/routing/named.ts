// Calls of which only the name and the size are known, as users ask about them: what they would need, as a request.

import { type OperationType, operationTypes } from '../../base/operations.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { RouteRequest } from './types.ts';
import { traitsOf, typicalWork } from './work.ts';

/** Data of which only the size matters. */
export type Sized = number | { readonly length: number } | { readonly size: number } | null | undefined;

export interface CallOptions {
  /** Overrides the size of the data. For a matrix product: of one operand. */
  readonly elements?: number | undefined;
  /** Real bytes of inputs, outputs and temporaries; default 8 for each element. */
  readonly bytes?: number | undefined;
  /** Wins over everything else. */
  readonly device?: DeviceId | undefined;
  /** Where the data is; default: host memory. */
  readonly at?: DeviceId | undefined;
  readonly wanted?: 'host' | DeviceId | null | undefined;
  /** Free bytes of the GPU, if known. */
  readonly freeBytes?: number | undefined;
}

export interface Analysis {
  readonly type: OperationType;
  readonly elements: number;
  readonly parallelizable: boolean;
  readonly hasDependencies: boolean;
  readonly memoryBytes: number;
  readonly preference: DeviceId | null;
}

/** `pinned` is the device everything is pinned to, unless the call names one. */
export function analyze(op: string, data: Sized, options: CallOptions, pinned: DeviceId | null): Analysis {
  const type = operationTypes.find((t) => t === op) ?? 'unknown';
  const elements = options.elements ?? sizeOf(data);
  const traits = traitsOf(type);
  return {
    type,
    elements,
    parallelizable: traits.parallel,
    hasDependencies: traits.depends,
    memoryBytes: options.bytes ?? 8 * elements,
    preference: options.device ?? pinned,
  };
}

/** Half of the bytes are taken to be input, half to be output. */
export function requestOf(
  { type, elements, memoryBytes }: Analysis,
  devices: readonly DeviceId[],
  { at, wanted }: CallOptions,
): RouteRequest {
  const work = [typicalWork(type, elements)];
  const input = { bytes: memoryBytes / 2, at: at && at !== 'host' ? [at] : [] };
  return {
    op: type,
    candidates: devices.map((device) => ({ device, work, penalty: 1 })),
    inputs: type === 'random_generation' || type === 'lattice_creation' ? [] : [input],
    outputBytes: type === 'reduction' ? 4 : memoryBytes / 2,
    wanted: wanted ?? null,
  };
}

function sizeOf(data: Sized): number {
  if (typeof data === 'number') return data;
  if (data === null || data === undefined) return 0;
  return 'length' in data ? data.length : data.size;
}
