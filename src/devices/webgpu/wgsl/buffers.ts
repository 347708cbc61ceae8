// The launch buffers of a kernel as bindings: inputs first, then outputs, and inputs overwritten in place.

import type { BufferParam } from '../../../kernel/kernel.ts';
import type { Module, Storage } from './module.ts';

/** For each input that shares its buffer with an output: input slot → output number. */
export type InPlace = ReadonlyMap<number, number>;

export const nothingInPlace: InPlace = new Map();

export interface KernelBuffers {
  readonly input: (slot: number) => Storage;
  readonly outputs: readonly Storage[];
}

export interface OutputBinding {
  readonly param: BufferParam;
  readonly vector: boolean;
}

/** Binds what a kernel reads and writes. `first` is the launch buffer that input 0 is. */
export function bindBuffers(
  module: Module,
  inputs: readonly BufferParam[],
  outputs: readonly OutputBinding[],
  inPlace: InPlace = nothingInPlace,
  first = 0,
): KernelBuffers {
  const views = new Map<number, Storage>();
  inputs.forEach((p, slot) => {
    if (inPlace.has(slot)) return;
    views.set(slot, module.buffer(`in${slot}`, p.type, { from: 'buffer', index: first + slot, access: 'read' }));
  });
  const written = outputs.map(({ param, vector }, k) =>
    module.buffer(`out${k}`, param.type, { from: 'buffer', index: first + inputs.length + k, access: 'write' }, vector),
  );
  for (const [slot, k] of inPlace) views.set(slot, module.alias(`in${slot}`, inputs[slot]!.type, `out${k}`));
  return { input: (slot) => views.get(slot)!, outputs: written };
}
