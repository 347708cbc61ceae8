// The lists that operations take: what they hold is checked before anything runs, and items of equal kind form groups.

import { shown } from '../base/arguments.ts';
import { type DType, type Runtime, type Shape, Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';

/** Host data or tensors of one runtime; a list may mix shapes, not kinds. */
export type BatchInput = readonly TypedArray[] | readonly Tensor[];

export type Item = TypedArray | Tensor;

/** Typed arrays whose elements have a dtype of their own. */
export const arrayTypes: ReadonlyMap<unknown, DType> = new Map<unknown, DType>([
  [Float32Array, 'f32'],
  [Float64Array, 'f64'],
  [Int32Array, 'i32'],
  [Uint32Array, 'u32'],
  [BigInt64Array, 'i64'],
  [BigUint64Array, 'u64'],
  [Uint8Array, 'u8'],
]);

export const dtypeOf = (array: TypedArray): DType | undefined => arrayTypes.get(array.constructor);

export const isArray = (v: unknown): v is TypedArray => ArrayBuffer.isView(v) && !(v instanceof DataView);

export const kindOf = (v: unknown): string =>
  v instanceof Tensor
    ? `a tensor ${v.dtype}`
    : isArray(v)
      ? v.constructor.name
      : v === null
        ? 'null'
        : Array.isArray(v)
          ? 'a plain array'
          : typeof v === 'object'
            ? shown(v)
            : typeof v;

/** Throws unless all are typed arrays of one class, or tensors of the runtime. */
export function checkItems(op: string, items: readonly unknown[], runtime: Runtime | undefined, what = 'item'): void {
  if (!Array.isArray(items)) throw badArgument(op, `the list is ${kindOf(items)}`, 'Give an array of items.');
  if (items.length === 0) return;
  const [first] = items as readonly unknown[];
  if (first instanceof Tensor) checkTensors(op, items, first, runtime, what);
  else if (isArray(first)) checkArrays(op, items, first, what);
  else throw unlike(op, items, 0, what);
}

function checkTensors(
  op: string,
  items: readonly unknown[],
  first: Tensor,
  runtime: Runtime | undefined,
  what: string,
): void {
  const { host } = first;
  const owned = !runtime || runtime.owns(first);
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (!(item instanceof Tensor)) throw unlike(op, items, i, what);
    if (item.disposed || !owned || item.host !== host) throw foreign(op, i, item, nameOf(what, i));
  }
}

function checkArrays(op: string, items: readonly unknown[], first: TypedArray, what: string): void {
  const Class = first.constructor;
  for (let i = 1; i < items.length; i++) {
    const item = items[i];
    // A class of one's own that extends another is a class of its own.
    if (!isArray(item) || item.constructor !== Class) throw unlike(op, items, i, what);
  }
}

/** One of a list by its place, or a single one, such as the key for all. */
const nameOf = (what: string, index: number): string => (what.startsWith('the ') ? what : `${what} ${index}`);

/** An item that is no item, or of another kind than the first. */
function unlike(op: string, items: readonly unknown[], index: number, what: string) {
  const item = items[index];
  const which = nameOf(what, index);
  const kind = kindOf(item);
  if (!(item instanceof Tensor || isArray(item)))
    return badArgument(op, `${which} is ${kind}`, 'Give typed arrays, such as Float32Array.from(list), or tensors.');
  const message = `${which} is ${kind}, item 0 is ${kindOf(items[0])}`;
  return badList(op, 'MIXED_KINDS', index, message, 'Run items of each kind in a call of their own.');
}

function foreign(op: string, index: number, tensor: Tensor, which: string) {
  return tensor.disposed
    ? badList(op, 'DISPOSED', index, `${which} was disposed`, 'Dispose of a tensor after its last use.')
    : badList(
        op,
        'FOREIGN_TENSOR',
        index,
        `${which} (${tensor}) belongs to another runtime`,
        'Use tensors of one runtime, and pass that runtime.',
      );
}

export function checkLengths(op: string, a: readonly unknown[], b: readonly unknown[], what: string): void {
  if (a.length === b.length) return;
  const message = `${a.length} items, but ${b.length} ${what}`;
  throw badList(op, 'LENGTH_MISMATCH', null, message, 'Give lists of equal length.');
}

/** So many positions, one after the other. */
export function positions(at: number, size: number): number[] {
  const list = new Array<number>(size);
  for (let i = 0; i < size; i++) list[i] = at + i;
  return list;
}

/** Positions of items of equal kind, in order of first appearance. */
export function groupBy(count: number, keyOf: (index: number) => string): number[][] {
  const groups = new Map<string, number[]>();
  for (let i = 0; i < count; i++) {
    const key = keyOf(i);
    const list = groups.get(key);
    if (list) list.push(i);
    else groups.set(key, [i]);
  }
  return [...groups.values()];
}

/** Whether all items have the shape and dtype of the first: known without a text for each, as equal shapes are one object. */
export function allEqual(items: readonly Item[]): boolean {
  const [first] = items;
  if (first instanceof Tensor) {
    const { shape, dtype } = first;
    return (items as readonly Tensor[]).every((t) => t.shape === shape && t.dtype === dtype);
  }
  return (items as readonly TypedArray[]).every((a) => a.length === (first as TypedArray).length);
}

const texts = new WeakMap<Shape, string>();

/** Equal shapes are one object: a shape that was seen before is a text that is there. */
function textOf(shape: Shape): string {
  let text = texts.get(shape);
  if (text === undefined) texts.set(shape, (text = `[${shape.join()}]`));
  return text;
}

/** Of a class of arrays, by length. */
const lengthTexts = new WeakMap<object, Map<number, string>>();
const mostTexts = 1000;

/** A text that is there takes a fraction of the time that making and comparing a new one does. */
function textOfArray({ constructor: kind, length }: TypedArray): string {
  let known = lengthTexts.get(kind);
  if (!known || known.size > mostTexts) lengthTexts.set(kind, (known = new Map()));
  let text = known.get(length);
  if (text === undefined) known.set(length, (text = `${kind.name}[${length}]`));
  return text;
}

/** Shape and dtype of an item, as a text. */
export const signatureOf = (item: Item): string =>
  item instanceof Tensor ? `${item.dtype}${textOf(item.shape)}` : textOfArray(item);
