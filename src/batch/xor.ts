// XOR of each item with its key, byte by byte.

import { Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import type { Gate } from './fused.ts';
import {
  computed,
  elementBytes,
  groupLengths,
  type ListOp,
  lengthOf,
  type Own,
  sameShape,
  secondAt,
  sizeOf,
  strideOf,
  uploaded,
} from './list-op.ts';
import { allEqual, type Item, kindOf, signatureOf } from './lists.ts';
import { bytesOf, packWords, unpackBytes } from './packing.ts';
import type { Padding } from './padding.ts';

export function xorOp(data: readonly Item[], keys: readonly Item[] | Item, pad?: Padding): ListOp {
  const lengths = groupLengths('batchXor', data, pad);
  return {
    name: 'xor',
    route: 'element_wise',
    item: { key: 'xor', run: (x, key, gate) => xorTensor(x, key!, gate), join: 'merge' },
    first: data,
    second: keys,
    uniform: allEqual(data) && (!Array.isArray(keys) || allEqual(keys)),
    keyOf: (i) => (lengths ? `[${lengths[i]}]` : `${signatureOf(data[i]!)} ${signatureOf(secondAt(keys, i)!)}`),
    bytesOf: (i) => 3 * (lengths ? lengths[i]! * elementBytes(data[i]!) : sizeOf(data[i]!)),
    ...sameShape(data),
    arrays: (call, at) => {
      const { runtime: rt } = call;
      const arrays = at.map((i) => data[i] as TypedArray);
      // Rows of whole words.
      const stride = 4 * Math.ceil((strideOf(arrays) * arrays[0]!.BYTES_PER_ELEMENT) / 4);
      const rows = (list: readonly TypedArray[], own: Own): Tensor =>
        own(uploaded(rt, packWords(rt, list, stride), [list.length, stride / 4], list.length));
      const count = at.length;
      // One key serves all rows if they are equally long: else it is cut where each of them ends.
      const each = Array.isArray(keys) || lengths !== null;
      const cycled = (each ? at : at.slice(0, 1)).map((i) =>
        repeated(secondAt(keys, i) as TypedArray, data[i] as TypedArray),
      );
      const work = (own: Own): Tensor => {
        if (count === 1 || cycled.length < count) return rows(arrays, own).bitwiseXor(rows(cycled, own)) as Tensor;
        // Data and keys go with one copy.
        const [a, b] = rows([...arrays, ...cycled], own).split(2, 0);
        return own(a!).bitwiseXor(own(b!)) as Tensor;
      };
      return computed(call, at.length, work, (made) => unpackBytes(made, arrays, stride));
    },
  };
}

/** A key as long as the data. */
function repeated(key: TypedArray, like: TypedArray): TypedArray {
  if (key.length >= like.length) return key.length === like.length ? key : (key.subarray(0, like.length) as TypedArray);
  const long = new Uint8Array(like.byteLength);
  const source = bytesOf(key);
  for (let at = 0; at < long.length; at += source.length) long.set(source.subarray(0, long.length - at), at);
  return new (like.constructor as new (b: ArrayBuffer) => TypedArray)(long.buffer);
}

const bitsAs = { f32: 'u32', f64: 'u64' } as const;

/** Floats are read as bits before anything is done with them: moving a NaN may change it. */
function xorTensor(x: Tensor, key: Tensor, gate: Gate): Tensor {
  const bits = bitsAs[x.dtype as keyof typeof bitsAs];
  const [data, by] = bits ? [x.bitcast(bits), key.bitcast(bits)] : [x, key];
  const mixed = gate(data.bitwiseXor(cycled(by, x)));
  return bits ? mixed.bitcast(x.dtype) : mixed;
}

function cycled(key: Tensor, x: Tensor): Tensor {
  if (key.size === x.size) return key.reshape(x.shape);
  if (key.size === 1) return key.reshape(x.shape.map(() => 1)).expand(x.shape);
  const flat = key.flatten();
  const times = Math.ceil(x.size / Math.max(1, key.size));
  return (times > 1 ? flat.tile([times]) : flat).slice([[0, x.size]]).reshape(x.shape);
}

export function checkKeys(where: string, data: readonly Item[], keys: readonly Item[] | Item, cycle: boolean): void {
  data.forEach((item, i) => {
    const key = secondAt(keys, i)!;
    const [want, got] = [lengthOf(item), lengthOf(key)];
    const kind = item instanceof Tensor ? item.dtype : item.constructor.name;
    const keyKind = key instanceof Tensor ? key.dtype : key.constructor.name;
    if (kind !== keyKind)
      throw badList(
        where,
        'MIXED_KINDS',
        i,
        `item ${i} is ${kindOf(item)}, its key ${kindOf(key)}`,
        'Give a key of the same kind.',
      );
    if (got >= want || got === 1 || (cycle && got > 0)) return;
    const fix = 'Give a key as long as the data, of one element, or set cycle: true to repeat it.';
    throw badList(where, 'KEY_LENGTH', i, `the key of item ${i} has ${got} elements, the data ${want}`, fix);
  });
  if (data[0] instanceof Tensor && byteless.has(data[0].dtype))
    throw badArgument(
      where,
      `tensors of ${data[0].dtype} have no bits to combine`,
      'Read them with bytes() and give the arrays, which are combined byte by byte.',
    );
}

const byteless: ReadonlySet<string> = new Set(['f16', 'bf16']);
