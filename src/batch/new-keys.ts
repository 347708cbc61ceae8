// Random keys: bytes from the system's generator, or from a seed; as many as the data has.

import { type Runtime, Tensor } from '../index.ts';
import { randomBytes } from '../lattice/xor.ts';
import { badArgument, badOption } from './failures.ts';
import { allOrNone } from './free-all.ts';
import type { Item } from './lists.ts';
import { classOf } from './packing.ts';

export function newKeys(data: readonly Item[], seed: number | undefined, runtime: Runtime | undefined): Item[] {
  if (seed !== undefined && !Number.isSafeInteger(seed))
    throw badOption('batchXorWithNewKeys', 'seed', seed, 'a whole number that is exact');
  const sizes = data.map((d) => (d instanceof Tensor ? d.nbytes : d.byteLength));
  const next = seed === undefined ? fromSystem(sizes) : fromSeed(sizes, seed);
  return allOrNone(data, (item, i) => {
    const bytes = next(sizes[i]!);
    if (!(item instanceof Tensor)) return new (classOf(item))(bytes.buffer);
    if (!runtime)
      throw badArgument('batchXorWithNewKeys', 'tensors need a runtime', 'Pass the runtime that they belong to.');
    if (item.dtype === 'bool') for (let k = 0; k < bytes.length; k++) bytes[k]! &= 1;
    return runtime.fromBytes(bytes, item.dtype, item.shape) as Tensor;
  });
}

/** So many bytes, in memory of their own. */
type Draw = (bytes: number) => Uint8Array;

/** What the system gives with one call, and from which size on a key has a call of its own. */
const [pooled, ownBytes] = [64 << 10, 4 << 10];

function fromSystem(sizes: readonly number[]): Draw {
  let left = sizes.reduce((n, s) => (s < ownBytes ? n + s : n), 0);
  let [pool, at] = [new Uint8Array(0), 0];
  return (bytes) => {
    if (bytes >= ownBytes) return randomBytes(bytes, undefined);
    if (at + bytes > pool.length) [pool, at] = [randomBytes(Math.min(pooled, left), undefined), 0];
    left -= bytes;
    return pool.slice(at, (at += bytes));
  };
}

/** One sequence for all keys: the same seed gives the same keys, whatever their sizes. */
function fromSeed(sizes: readonly number[], seed: number): Draw {
  const all = randomBytes(
    sizes.reduce((n, s) => n + s, 0),
    seed,
  );
  let at = 0;
  return (bytes) => all.slice(at, (at += bytes));
}
