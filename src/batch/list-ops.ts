// The operations on lists, as rows: what is checked, what is done with packed host arrays, what with tensors.

import { type OperationType, type Runtime, type Shape, Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import type { Gate, ItemOp } from './fused.ts';
import { allEqual, dtypeOf, type Item, kindOf, signatureOf } from './lists.ts';
import { bytesOf, pack, packBytes, unpack, unpackBytes } from './packing.ts';
import { type Padding, paddedLengths, wasteOf } from './padding.ts';

/** Where host arrays are computed. */
export interface ArraysCall {
  readonly runtime: Runtime;
  /** Runs something as part of the attempt. */
  readonly run: <T>(body: () => T) => T;
  /** Told of each result when it was read: its device is known then. */
  readonly ran: (result: Tensor) => void;
}

/** Computes something in a scope of its own, and reads it. */
function computed({ runtime, run, ran }: ArraysCall, body: () => Tensor): Promise<TypedArray> {
  return run(() =>
    runtime.scope(async () => {
      const made = body();
      const data = await made.data();
      ran(made);
      return data as TypedArray;
    }),
  );
}

/** Items that travel together need no copy in host memory: if their device is lost, each is run again by itself. */
const uploaded = (rt: Runtime, data: TypedArray, shape: Shape, items: number): Tensor =>
  rt.tensor(data, shape, { keep: items === 1 }) as Tensor;

/** Operands of one item: the item, and what it is combined with. */
export interface ListOp {
  readonly name: string;
  /** What the work is to the router. */
  readonly route: OperationType;
  readonly item: ItemOp;
  /** Whether all items are of one kind; else those with equal keys are run together. */
  readonly uniform: boolean;
  keyOf(index: number): string;
  /** Bytes of inputs and results of one item. */
  bytesOf(index: number): number;
  /** Elements of its first operand, and the shape of its result. */
  elementsOf(index: number): number;
  shapeOf(index: number): Shape;
  /** Host arrays: the items at these positions in one go. */
  arrays(call: ArraysCall, at: readonly number[]): Promise<TypedArray[]>;
  /** The operands of a tensor item; `second` is the same object for all where it is shared. */
  readonly first: readonly Item[];
  readonly second: readonly Item[] | Item | undefined;
}

/** Products of small integers are exact in every order; all others may differ in the last bits from group to group. */
export type Precision = NonNullable<NonNullable<Parameters<Tensor['matmul']>[1]>['precision']>;

const secondAt = (second: readonly Item[] | Item | undefined, i: number): Item | undefined =>
  Array.isArray(second) ? second[i] : (second as Item | undefined);

// Elementwise.

export const elementwiseNames = ['add', 'multiply', 'square', 'sqrt', 'exp'] as const;
export type ElementwiseName = (typeof elementwiseNames)[number];

const scalarOps: ReadonlySet<string> = new Set(['add', 'multiply']);

const elementwise: Readonly<Record<ElementwiseName, (x: Tensor, scalar: number) => Tensor>> = {
  add: (x, scalar) => x.add(scalar),
  multiply: (x, scalar) => x.mul(scalar),
  square: (x) => x.mul(x),
  sqrt: (x) => x.sqrt(),
  exp: (x) => x.exp(),
};

export function elementwiseOp(
  data: readonly Item[],
  op: ElementwiseName,
  scalar: number | undefined,
  pad?: Padding,
): ListOp {
  const where = 'batchElementwise';
  if (!elementwiseNames.includes(op))
    throw badArgument(where, `there is no operation '${String(op)}'`, `Use one of ${elementwiseNames.join(', ')}.`);
  if (scalarOps.has(op) && typeof scalar !== 'number')
    throw badArgument(
      where,
      `${op} needs a number, and the scalar is ${kindOf(scalar)}`,
      `Give a number, or use one of ${elementwiseNames.filter((n) => !scalarOps.has(n)).join(', ')}.`,
    );
  checkDTypes(where, data);
  const value = scalar ?? 0;
  const lengths = groupLengths(where, data, pad);
  const run = (x: Tensor): Tensor => elementwise[op](x, value);
  return {
    name: op,
    route: 'element_wise',
    item: {
      key: scalarOps.has(op) ? `${op} ${Object.is(value, -0) ? '-0' : value}` : op,
      run: (x, _, gate) => gate(run(x)),
      join: 'merge',
    },
    first: data,
    second: undefined,
    uniform: allEqual(data),
    keyOf: (i) => (lengths ? `[${lengths[i]}]` : signatureOf(data[i]!)),
    bytesOf: (i) => 2 * (lengths ? lengths[i]! * elementBytes(data[i]!) : sizeOf(data[i]!)),
    ...sameShape(data),
    arrays: async (call, at) => {
      const arrays = at.map((i) => data[i] as TypedArray);
      const made = await computed(call, () => {
        const all = pack(call.runtime, arrays, strideOf(arrays));
        return run(uploaded(call.runtime, all, [all.length], at.length));
      });
      return unpack(
        made,
        arrays.map((a) => a.length),
      );
    },
  };
}

// XOR.

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
    arrays: async (call, at) => {
      const { runtime: rt } = call;
      const arrays = at.map((i) => data[i] as TypedArray);
      // Rows of whole words.
      const stride = 4 * Math.ceil((strideOf(arrays) * arrays[0]!.BYTES_PER_ELEMENT) / 4);
      const words = (bytes: Uint8Array): Uint32Array =>
        new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
      const rows = (list: readonly TypedArray[]): Tensor =>
        uploaded(rt, words(packBytes(rt, list, stride)), [list.length, stride / 4], list.length);
      // One key serves all rows if they are equally long: else it is cut where each of them ends.
      const each = Array.isArray(keys) || lengths !== null;
      const cycled = (each ? at : at.slice(0, 1)).map((i) =>
        repeated(secondAt(keys, i) as TypedArray, data[i] as TypedArray),
      );
      const made = await computed(call, () => rows(arrays).bitwiseXor(rows(cycled)) as Tensor);
      return unpackBytes(bytesOf(made), arrays, stride);
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

// Products.

export type ProductShape = readonly [m: number, k: number, n: number];

export interface ProductOptions {
  readonly shapes: readonly ProductShape[] | undefined;
  readonly precision: Precision | undefined;
  readonly deterministic: boolean;
}

export function matmulOp(a: readonly Item[], b: readonly Item[], options: ProductOptions): ListOp {
  const where = 'batchMatmul';
  checkDTypes(where, a);
  checkDTypes(where, b);
  const shapes = shapesOf(where, a, b, options.shapes);
  const { precision, deterministic } = options;
  const how = precision === undefined ? {} : { precision };
  const run = (x: Tensor, y: Tensor | undefined): Tensor => x.matmul(y!, how);
  const shared = a.length > 1 && b.every((m) => m === b[0]) && b[0] instanceof Tensor;
  return {
    name: 'matmul',
    route: 'matrix_multiply',
    item: { key: `matmul ${precision}`, run, join: deterministic ? 'apart' : 'stack' },
    first: a,
    second: shared ? b[0] : b,
    uniform: allEqual(a) && allEqual(b) && shapes.every((s) => s.every((d, k) => d === shapes[0]![k])),
    keyOf: (i) => `${signatureOf(a[i]!)} ${signatureOf(b[i]!)} ${shapes[i]!.join()}`,
    bytesOf: (i) => {
      const [m, , n] = shapes[i]!;
      return sizeOf(a[i]!) + sizeOf(b[i]!) + m * n * elementBytes(a[i]!);
    },
    elementsOf: (i) => lengthOf(a[i]!),
    shapeOf: (i) => [shapes[i]![0], shapes[i]![2]],
    arrays: async (call, at) => {
      const { runtime: rt } = call;
      const [m, k, n] = shapes[at[0]!]!;
      const [x, y] = [at.map((i) => a[i] as TypedArray), at.map((i) => b[i] as TypedArray)];
      const alone = (i: number): Tensor => run(rt.tensor(x[i]!, [m, k]) as Tensor, rt.tensor(y[i]!, [k, n]) as Tensor);
      // With `deterministic` every product has the kernel it has alone.
      if (deterministic || at.length === 1) return Promise.all(x.map((_, i) => computed(call, () => alone(i))));
      const same = y.every((p) => p === y[0]);
      const made = await computed(call, () => {
        const left = uploaded(rt, pack(rt, x, m * k), [at.length, m, k], at.length);
        const right = same
          ? uploaded(rt, y[0]!, [k, n], 1)
          : uploaded(rt, pack(rt, y, k * n), [at.length, k, n], at.length);
        return run(left, right);
      });
      return unpack(made, new Array<number>(at.length).fill(m * n));
    },
  };
}

function shapesOf(
  where: string,
  a: readonly Item[],
  b: readonly Item[],
  given: readonly ProductShape[] | undefined,
): readonly ProductShape[] {
  if (a.length > 0 && !(a[0] instanceof Tensor) && !given)
    throw badArgument(
      where,
      'arrays have no rows and columns',
      'Give shapes: [[m, k, n]], one for all or one for each pair.',
    );
  if (given && given.length !== 1 && given.length !== a.length)
    throw badList(
      where,
      'LENGTH_MISMATCH',
      null,
      `${a.length} items, but ${given.length} shapes`,
      'Give one shape for all, or one for each pair.',
    );
  return a.map((x, i) => {
    const y = b[i]!;
    if (x instanceof Tensor && y instanceof Tensor) {
      if (x.rank !== 2 || y.rank !== 2 || x.shape[1] !== y.shape[0])
        throw badShapes(where, i, `[${x.shape.join(', ')}] × [${y.shape.join(', ')}]`);
      return [x.shape[0]!, x.shape[1]!, y.shape[1]!];
    }
    const shape = given!.length === 1 ? given![0]! : given![i]!;
    const [m, k, n] = shape;
    if (!shape.every((d) => Number.isSafeInteger(d) && d >= 0) || lengthOf(x) !== m * k || lengthOf(y) !== k * n)
      throw badShapes(where, i, `[${m}, ${k}] × [${k}, ${n}] with ${lengthOf(x)} and ${lengthOf(y)} elements`);
    return shape;
  });
}

const badShapes = (where: string, i: number, shapes: string) =>
  badList(
    where,
    'SHAPE_MISMATCH',
    i,
    `pair ${i}: ${shapes}`,
    'The columns of the first matrix must be the rows of the second.',
  );

// What they share.

/** The lengths that arrays are filled up to, if they may be. */
function groupLengths(where: string, data: readonly Item[], pad: Padding | undefined): readonly number[] | null {
  if (pad === undefined) return null;
  const waste = wasteOf(where, pad);
  if (data[0] instanceof Tensor)
    throw badArgument(
      where,
      'pad is for lists of arrays, and these are tensors',
      'Leave it out: tensors travel nowhere.',
    );
  return paddedLengths(data.map(lengthOf), waste);
}

/** The longest of a group. */
const strideOf = (arrays: readonly TypedArray[]): number => arrays.reduce((n, a) => Math.max(n, a.length), 0);

const sameShape = (data: readonly Item[]): Pick<ListOp, 'elementsOf' | 'shapeOf'> => ({
  elementsOf: (i) => lengthOf(data[i]!),
  shapeOf: (i) => {
    const item = data[i]!;
    return item instanceof Tensor ? item.shape : [item.length];
  },
});

function checkDTypes(where: string, items: readonly Item[]): void {
  const [first] = items;
  if (first === undefined || first instanceof Tensor || dtypeOf(first)) return;
  throw badArgument(
    where,
    `${first.constructor.name} has no dtype`,
    'Use Float32Array, Float64Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array or Uint8Array.',
  );
}

const lengthOf = (item: Item): number => (item instanceof Tensor ? item.size : item.length);
const sizeOf = (item: Item): number => (item instanceof Tensor ? item.nbytes : item.byteLength);
const elementBytes = (item: Item): number => (lengthOf(item) === 0 ? 4 : sizeOf(item) / lengthOf(item));
