// XOR of each item with its key, byte by byte.

import { type Maybe, Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import { freeAll } from './free-all.ts';
import type { Gate, ItemOp } from './fused.ts';
import {
  type ArraysCall,
  computed,
  computedAlone,
  groupLengths,
  type ListOp,
  lengthOf,
  type Own,
  paddedSize,
  SameShape,
  secondAt,
  strideOf,
  uploaded,
} from './list-op.ts';
import { allEqual, type Item, kindOf, signatureOf } from './lists.ts';
import { bytesOf, classOf, packWords, unpackBytes } from './packing.ts';
import type { Padding } from './padding.ts';

const xorItem: ItemOp = { key: 'xor', run: (x, key, gate) => xorTensor(x, key!, gate), join: 'merge' };

/** A class, as in elementwise.ts. */
class Xor extends SameShape implements ListOp {
  readonly name = 'xor';
  readonly route = 'element_wise';
  readonly item = xorItem;
  readonly second: readonly Item[] | Item;
  readonly uniform: boolean;
  private readonly lengths: readonly number[] | null;
  /** A key that was repeated for many of a length is made once. */
  private repeatedKey: TypedArray | null = null;
  private repeatedTo: TypedArray | null = null;

  constructor(data: readonly Item[], keys: readonly Item[] | Item, lengths: readonly number[] | null) {
    super(data);
    this.second = keys;
    this.uniform = allEqual(data) && (!Array.isArray(keys) || allEqual(keys));
    this.lengths = lengths;
  }

  keyOf(i: number): string {
    if (this.lengths) return `[${this.lengths[i]}]`;
    return `${signatureOf(this.first[i]!)} ${signatureOf(secondAt(this.second, i)!)}`;
  }

  bytesOf(i: number): number {
    return 3 * paddedSize(this.first[i]!, this.lengths?.[i]);
  }

  arrays(call: ArraysCall, at: readonly number[]): Maybe<TypedArray[]> {
    const { runtime: rt } = call;
    const arrays = at.map((i) => this.first[i] as TypedArray);
    // Rows of whole words.
    const stride = 4 * Math.ceil((strideOf(arrays) * arrays[0]!.BYTES_PER_ELEMENT) / 4);
    const rows = (list: readonly TypedArray[], own: Own): Tensor =>
      own(uploaded(rt, packWords(rt, list, stride), [list.length, stride / 4], list.length));
    const count = at.length;
    // One key serves all rows if they are equally long: else it is cut where each of them ends.
    const each = Array.isArray(this.second) || this.lengths !== null;
    const cycled = (each ? at : at.slice(0, 1)).map((i) => this.keyFor(i));
    const work = (own: Own): Tensor => {
      if (count === 1 || cycled.length < count) return rows(arrays, own).bitwiseXor(rows(cycled, own)) as Tensor;
      // Data and keys go with one copy.
      const [a, b] = rows([...arrays, ...cycled], own).split(2, 0);
      return own(a!).bitwiseXor(own(b!)) as Tensor;
    };
    return computed(call, at.length, work, (made) => unpackBytes(made, arrays, stride));
  }

  /** Word by word where both can be read as words, else byte by byte. */
  alone(call: ArraysCall, i: number): TypedArray {
    const [x, key] = [this.first[i] as TypedArray, this.keyFor(i)];
    const inWords = x.byteLength % 4 === 0 && x.byteOffset % 4 === 0 && key.byteOffset % 4 === 0;
    const as = inWords ? wordsOf : bytesOf;
    const made = computedAlone(call, as(x), as(key), null, xorItem);
    return made.constructor === x.constructor ? made : new (classOf(x))(made.buffer, made.byteOffset, x.length);
  }

  /** The key of an array, as long as it is. */
  private keyFor(i: number): TypedArray {
    const [own, like] = [secondAt(this.second, i) as TypedArray, this.first[i] as TypedArray];
    if (own.length === like.length) return own;
    if (own !== this.repeatedKey || this.repeatedTo!.length !== like.length)
      [this.repeatedKey, this.repeatedTo] = [own, repeated(own, like)];
    return this.repeatedTo!;
  }
}

export const xorOp = (data: readonly Item[], keys: readonly Item[] | Item, pad?: Padding): ListOp =>
  new Xor(data, keys, groupLengths('batchXor', data, pad));

const wordsOf = (a: TypedArray): Uint32Array => new Uint32Array(a.buffer, a.byteOffset, a.byteLength / 4);

/** A key as long as the data. */
function repeated(key: TypedArray, like: TypedArray): TypedArray {
  if (key.length > like.length) return key.subarray(0, like.length) as TypedArray;
  const long = new Uint8Array(like.byteLength);
  const source = bytesOf(key);
  for (let at = 0; at < long.length; at += source.length) long.set(source.subarray(0, long.length - at), at);
  return new (classOf(like))(long.buffer);
}

const bitsAs = { f32: 'u32', f64: 'u64' } as const;

/**
 * Floats are read as bits before anything is done with them: moving a NaN may change it. Views on the way hold the bytes of their items: they
 * end with the call, not with the next collection.
 */
function xorTensor(x: Tensor, key: Tensor, gate: Gate): Tensor {
  const bits = bitsAs[x.dtype as keyof typeof bitsAs];
  // Equal shapes are one object. Most keys have the shape of their data, and a view of one costs as much as a short XOR.
  if (!bits && key.shape === x.shape) return gate(x.bitwiseXor(key));
  const views: Tensor[] = [];
  const own = (view: Tensor): Tensor => {
    views.push(view);
    return view;
  };
  try {
    if (!bits) return gate(x.bitwiseXor(cycled(key, x, own)));
    const keyBits = own(key.bitcast(bits));
    return own(gate(own(own(x.bitcast(bits)).bitwiseXor(cycled(keyBits, x, own))))).bitcast(x.dtype);
  } finally {
    freeAll(views);
  }
}

/** `own` is told of each view that is made. */
function cycled(key: Tensor, x: Tensor, own: (view: Tensor) => Tensor): Tensor {
  if (key.shape === x.shape) return key;
  if (key.size === x.size) return own(key.reshape(x.shape));
  if (key.size === 1) return own(own(key.reshape(x.shape.map(() => 1))).expand(x.shape));
  const flat = own(key.flatten());
  const times = Math.ceil(x.size / Math.max(1, key.size));
  const long = times > 1 ? own(flat.tile([times])) : flat;
  return own(own(long.slice([[0, x.size]])).reshape(x.shape));
}

export function checkKeys(where: string, data: readonly Item[], keys: readonly Item[] | Item, cycle: boolean): void {
  for (let i = 0; i < data.length; i++) {
    const [item, key] = [data[i]!, secondAt(keys, i)!];
    const [want, got] = [lengthOf(item), lengthOf(key)];
    if (item instanceof Tensor ? item.dtype !== (key as Partial<Tensor>).dtype : item.constructor !== key.constructor)
      throw badList(
        where,
        'MIXED_KINDS',
        i,
        `item ${i} is ${kindOf(item)}, its key ${kindOf(key)}`,
        'Give a key of the same kind.',
      );
    if (got >= want || got === 1 || (cycle && got > 0)) continue;
    const fix = 'Give a key as long as the data, of one element, or set cycle: true to repeat it.';
    throw badList(where, 'KEY_LENGTH', i, `the key of item ${i} has ${got} elements, the data ${want}`, fix);
  }
  if (data[0] instanceof Tensor && byteless.has(data[0].dtype))
    throw badArgument(
      where,
      `tensors of ${data[0].dtype} have no bits to combine`,
      'Read them with bytes() and give the arrays, which are combined byte by byte.',
    );
}

const byteless: ReadonlySet<string> = new Set(['f16', 'bf16']);
