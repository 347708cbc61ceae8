// Running a routine, and what scans and scatters combine with.

import { type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { Routine, Scatter } from '../../../src/kernel/kernel.ts';
import { meaning, roundTo } from '../../../src/kernel/semantics.ts';
import { upload } from '../support.ts';

/** Runs a routine; outputs start poisoned. */
export async function run(
  device: Device,
  routine: Routine,
  inputs: readonly Uint8Array[],
  outputs: readonly number[],
  scalars: readonly number[] = [],
): Promise<Uint8Array[]> {
  const ins = inputs.map((i) => upload(device, i));
  const outs = outputs.map((bytes) => upload(device, new Uint8Array(bytes).fill(0xa5)));
  device.launch(device.prepare(routine), [...ins, ...outs], scalars);
  const result = await Promise.all(outs.map((o) => device.read(o)));
  for (const b of [...ins, ...outs]) device.release(b);
  return result;
}

const combineOps = { sum: 'add', prod: 'mul', max: 'max', min: 'min' } as const;

export function combineValue(type: DType, how: keyof typeof combineOps, x: number, y: number): number {
  const v = meaning(combineOps[how], type)!(x, y, 0) as number;
  return isFloat(type) ? v : (roundTo[type](v) as number);
}

/** Of whole numbers of 32 bits only the order knows the sign. */
export const repeatsSigned = (type: DType, combine: Scatter['combine']): boolean =>
  type === 'u32' && (combine === 'set' || combine === 'sum' || combine === 'prod');
