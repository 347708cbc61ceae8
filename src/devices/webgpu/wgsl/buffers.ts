// The launch buffers of a kernel as bindings: inputs first, then outputs, and inputs overwritten in place.

import type { BufferParam } from '../../../kernel/kernel.ts';
import type { BoundBuffer, Module } from './module.ts';

/** For each input that shares its buffer with an output: input slot → output number. */
export type InPlace = ReadonlyMap<number, number>;

export const nothingInPlace: InPlace = new Map();

export interface KernelBuffers {
  readonly input: (slot: number) => BoundBuffer;
  readonly outputs: readonly BoundBuffer[];
}

export interface OutputBinding {
  readonly param: BufferParam;
  readonly vector: boolean;
}

/** Binds what a kernel writes, and what it reads at the first use of it. `first` is the launch buffer that input 0 is. */
export function bindBuffers(
  module: Module,
  inputs: readonly BufferParam[],
  outputs: readonly OutputBinding[],
  inPlace: InPlace = nothingInPlace,
  first = 0,
): KernelBuffers {
  const views = new Map<number, BoundBuffer>();
  const written = outputs.map(({ param, vector }, k) =>
    module.buffer(
      `out${k}`,
      param.type,
      { from: 'buffer', index: first + inputs.length + k, access: 'write' },
      vector,
      param.elements,
    ),
  );
  const bind = (slot: number): BoundBuffer => {
    const { type, elements } = inputs[slot]!;
    const shared = outputs.length > 0 ? inPlace.get(slot) : undefined;
    if (shared !== undefined) return module.alias(`in${slot}`, type, `out${shared}`);
    return module.buffer(`in${slot}`, type, { from: 'buffer', index: first + slot, access: 'read' }, false, elements);
  };
  const input = (slot: number): BoundBuffer => {
    let known = views.get(slot);
    if (!known) views.set(slot, (known = bind(slot)));
    return known;
  };
  return { input, outputs: written };
}
