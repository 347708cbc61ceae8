// Random keys: bytes from the system's generator, or from a seed; as many as the data has.

import { type Runtime, Tensor, type TypedArray } from '../index.ts';
import { randomBytes } from '../lattice/xor.ts';
import { badArgument } from './failures.ts';
import type { Item } from './lists.ts';

export function newKeys(data: readonly Item[], seed: number | undefined, runtime: Runtime | undefined): Item[] {
  const sizes = data.map((d) => (d instanceof Tensor ? d.nbytes : d.byteLength));
  const all = randomBytes(
    sizes.reduce((n, s) => n + s, 0),
    seed,
  );
  let at = 0;
  return data.map((item, i) => {
    const bytes = all.slice(at, (at += sizes[i]!));
    if (!(item instanceof Tensor))
      return new (item.constructor as new (b: ArrayBuffer) => TypedArray)(bytes.buffer as ArrayBuffer);
    if (!runtime)
      throw badArgument('batchXorWithNewKeys', 'tensors need a runtime', 'Pass the runtime that they belong to.');
    if (item.dtype === 'bool') for (let k = 0; k < bytes.length; k++) bytes[k]! &= 1;
    return runtime.fromBytes(bytes, item.dtype, item.shape) as Tensor;
  });
}
