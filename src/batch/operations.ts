// Operations on lists: lists in, lists out, in as few launches as the shapes allow.

import { checked } from '../base/signatures.ts';
import { createRuntime, type Runtime, Tensor, throwIfAborted } from '../index.ts';
import { type ElementwiseName, elementwiseOp } from './elementwise.ts';
import { badArgument } from './failures.ts';
import { freeAll } from './free-all.ts';
import { type ListCall, type ListSettings, plainSettings } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import { type BatchResult, nothing, reported } from './list-report.ts';
import { runList } from './list-run.ts';
import { checkItems, checkLengths, type Item } from './lists.ts';
import { newKeys } from './new-keys.ts';
import type { Padding } from './padding.ts';
import { matmulOp, type Precision, type ProductShape } from './products.ts';
import { batchKinds, batchSignatures } from './signatures.ts';
import { checkKeys, xorOp } from './xor.ts';

export interface BatchOpOptions {
  /** Default: one that is made and closed for the call. Tensors need theirs. */
  readonly runtime?: Runtime | undefined;
  /** 'same' (default): arrays give arrays, tensors give tensors. */
  readonly out?: 'same' | 'tensors' | 'arrays' | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Of operations that combine element by element. */
export interface PadOptions {
  /**
   * Arrays of nearly equal length may share a copy and a launch, filled up with zeros: the share of that padding in a group, such as
   * 0.25. Default: only arrays of equal length do.
   */
  readonly pad?: Padding | undefined;
}

export interface XorOptions extends BatchOpOptions, PadOptions {
  /** A key of any length repeats. A key of one element always does. */
  readonly cycle?: boolean | undefined;
}

export interface MatmulOptions extends BatchOpOptions {
  /** Rows, inner size and columns: one for all pairs, or one for each. Needed for arrays. */
  readonly shapes?: readonly ProductShape[] | undefined;
  /** Default 'exact': products of f32 in f32. */
  readonly precision?: Precision | undefined;
  /** The same bits for every size of batch on one device. Default false: equal products may share another kernel. */
  readonly deterministic?: boolean | undefined;
}

/**
 * XOR of each item with its key, or with one key for all: byte for byte, whatever the class. Items are left untouched.
 * @example
 * ```ts
 * import { batchXor } from 'gpuforge/batch';
 * const [a, b] = await batchXor([Uint8Array.of(1, 2), Uint8Array.of(3, 4)], Uint8Array.of(255, 0));
 * b // → [252, 4]
 * ```
 */
export const batchXor = checked(
  'batchXor',
  batchSignatures.xor,
  <T extends Item>(data: readonly T[], keys: readonly T[] | T, options: XorOptions = {}): Promise<BatchResult<T>> =>
    listOperation('batchXor', options, plainSettings, data, () => checkedXor(data, keys, options)),
  batchKinds,
);

/** Keys from the system's generator, or from the seed, with which `batchXor` gives the data back. */
export const batchXorWithNewKeys = checked(
  'batchXorWithNewKeys',
  batchSignatures.newKeys,
  async <T extends Item>(
    data: readonly T[],
    options: BatchOpOptions & { readonly seed?: number | undefined } = {},
  ): Promise<{ readonly data: BatchResult<T>; readonly keys: readonly T[] }> => {
    const { seed, ...rest } = options;
    checkItems('batchXorWithNewKeys', data, options.runtime);
    const keys = newKeys(data, seed, options.runtime) as T[];
    try {
      return { data: await batchXor(data, keys, rest), keys };
    } catch (error) {
      freeAll(keys);
      throw error;
    }
  },
  batchKinds,
);

/**
 * The product of each pair. Pairs of equal shapes are one product of stacks.
 * @example
 * ```ts
 * import { batchMatmul } from 'gpuforge/batch';
 * const identity = Float32Array.of(1, 0, 0, 1);
 * const [product] = await batchMatmul([Float32Array.of(1, 2, 3, 4)], [identity], { shapes: [[2, 2, 2]] });
 * product // → [1, 2, 3, 4]
 * ```
 */
export const batchMatmul = checked(
  'batchMatmul',
  batchSignatures.matmul,
  <T extends Item>(a: readonly T[], b: readonly T[], options: MatmulOptions = {}): Promise<BatchResult<T>> =>
    listOperation('batchMatmul', options, plainSettings, a, () => checkedMatmul(a, b, options)),
  batchKinds,
);

/**
 * `add` or `multiply` a number, `square`, `sqrt` or `exp` of all elements of each item.
 * @example
 * ```ts
 * import { batchElementwise } from 'gpuforge/batch';
 * const [squares] = await batchElementwise([Float32Array.of(1, 2, 3)], 'square');
 * squares // → [1, 4, 9]
 * ```
 */
export const batchElementwise = checked(
  'batchElementwise',
  batchSignatures.elementwise,
  <T extends Item>(
    data: readonly T[],
    op: ElementwiseName,
    scalar?: number,
    options: BatchOpOptions & PadOptions = {},
  ): Promise<BatchResult<T>> =>
    listOperation('batchElementwise', options, plainSettings, data, () => {
      checkItems('batchElementwise', data, options.runtime);
      return elementwiseOp(data, op, scalar, options.pad);
    }),
  batchKinds,
);

export function checkedXor(data: readonly Item[], keys: readonly Item[] | Item, options: XorOptions): ListOp {
  const where = 'batchXor';
  checkItems(where, data, options.runtime);
  if (Array.isArray(keys)) {
    checkLengths(where, data, keys, 'keys');
    checkItems(where, keys, options.runtime, 'key');
  } else checkItems(where, [keys], options.runtime, 'the key');
  checkKeys(where, data, keys, options.cycle === true);
  return xorOp(data, keys, options.pad);
}

export function checkedMatmul(a: readonly Item[], b: readonly Item[], options: MatmulOptions): ListOp {
  const where = 'batchMatmul';
  checkItems(where, a, options.runtime);
  checkItems(where, b, options.runtime, 'second item');
  checkLengths(where, a, b, 'second items');
  const { shapes, precision, deterministic = false } = options;
  return matmulOp(a, b, { shapes, precision, deterministic });
}

/** Checks, then runs; an empty list opens no device. What is refused rejects. */
export function listOperation<T extends Item>(
  where: string,
  options: BatchOpOptions,
  settings: ListSettings,
  items: readonly T[],
  prepare: () => ListOp,
): Promise<BatchResult<T>> {
  try {
    return started(where, options, settings, items, prepare());
  } catch (error) {
    return Promise.reject(error);
  }
}

function started<T extends Item>(
  where: string,
  options: BatchOpOptions,
  settings: ListSettings,
  items: readonly T[],
  op: ListOp,
): Promise<BatchResult<T>> {
  const { out = 'same', runtime, signal, onProgress } = options;
  throwIfAborted(signal, where);
  if (items.length === 0) return Promise.resolve(reported<T>([], nothing));
  const tensors = items[0] instanceof Tensor;
  const to = out === 'same' ? (tensors ? 'tensors' : 'arrays') : out;
  if (!runtime && (tensors || to === 'tensors'))
    throw badArgument(where, 'tensors need a runtime', 'Pass the runtime that they belong to: { runtime: rt }.');
  const call = { out: to, signal, onProgress } as const;
  return runtime ? runList<T>(runtime, op, settings, call) : onItsOwn<T>(op, settings, call);
}

async function onItsOwn<T extends Item>(op: ListOp, settings: ListSettings, call: ListCall): Promise<BatchResult<T>> {
  const own = await createRuntime({ signal: call.signal });
  try {
    return await runList<T>(own, op, settings, call);
  } finally {
    await own.close();
  }
}
