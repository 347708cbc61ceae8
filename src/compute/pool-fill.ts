// What a tensor of the pool holds when it is handed out.

import type { DType, Runtime, Shape, Tensor, TypedArray } from '../index.ts';
import type { Content, Idle } from './pool-stock.ts';

/** Zeros, anything at all, or these values. */
export type PoolInit = 'zeros' | 'none' | TypedArray;

/** What `init: 'none'` holds in debug mode: NaN, or the value that is least likely meant. */
const notSet: Readonly<Partial<Record<DType, number>>> = {
  f32: Number.NaN,
  f64: Number.NaN,
  f16: Number.NaN,
  bf16: Number.NaN,
  i32: -(2 ** 31),
  u32: 2 ** 32 - 1,
  u8: 255,
};

/** Where the tensors of a request live. */
export interface PoolPlace {
  readonly runtime: Runtime;
  readonly device: string;
}

// Layout: the library has one, row-major; the key names it so that a second one would be kept apart.
export const keyOf = (device: string, shape: Shape, dtype: DType): string =>
  `${dtype} [${shape.join(', ')}] ${device} row-major`;

/** A tensor for a request: what was found if its content will do, else a new one. */
export function filled(
  { runtime, device }: PoolPlace,
  shape: Shape,
  dtype: DType,
  found: Idle | null,
  init: PoolInit,
  debug: boolean,
): { tensor: Tensor; content: Content } {
  const blank = init === 'zeros' || (init === 'none' && !debug);
  // What is found has the right content, or any will do.
  if (found && (init === 'zeros' ? found.content === 'zeros' : blank)) {
    const tensor = found.tensor.clone();
    found.tensor.dispose();
    return { tensor, content: found.content };
  }
  // Its memory is the first that the device hands out again.
  found?.tensor.dispose();
  const tensor = runtime.scope({ device }, (): unknown => {
    if (blank) return runtime.zeros(shape, { dtype }).compute();
    if (init === 'none') return runtime.full(shape, notSet[dtype] ?? 0, { dtype }).compute();
    return runtime.tensor(init as TypedArray, shape, { dtype });
  });
  return { tensor: tensor as Tensor, content: blank ? 'zeros' : 'other' };
}
