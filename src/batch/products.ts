// The product of each pair of matrices.

import { type Maybe, type Shape, Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import type { ItemOp } from './fused.ts';
import {
  type ArraysCall,
  checkDTypes,
  computed,
  computedAlone,
  elementBytes,
  type ListOp,
  lengthOf,
  type Own,
  sizeOf,
  uploaded,
} from './list-op.ts';
import { allEqual, type Item, signatureOf } from './lists.ts';
import { pack, unpack } from './packing.ts';

/** Products of small integers are exact in every order; all others may differ in the last bits from group to group. */
export type Precision = NonNullable<NonNullable<Parameters<Tensor['matmul']>[1]>['precision']>;

export type ProductShape = readonly [m: number, k: number, n: number];

export interface ProductOptions {
  readonly shapes: readonly ProductShape[] | undefined;
  readonly precision: Precision | undefined;
  readonly deterministic: boolean;
}

class ProductItem implements ItemOp {
  readonly join: ItemOp['join'];
  private readonly precision: Precision | undefined;

  constructor(precision: Precision | undefined, deterministic: boolean) {
    this.precision = precision;
    this.join = deterministic ? 'apart' : 'stack';
  }

  get key(): string {
    return `matmul ${this.precision}`;
  }

  run(x: Tensor, y: Tensor | undefined): Tensor {
    return this.precision === undefined ? x.matmul(y!) : x.matmul(y!, { precision: this.precision });
  }
}

/** A class, as in elementwise.ts. */
class Products implements ListOp {
  readonly name = 'matmul';
  readonly route = 'matrix_multiply';
  readonly item: ProductItem;
  readonly first: readonly Item[];
  readonly second: readonly Item[] | Item;
  readonly uniform: boolean;
  private readonly b: readonly Item[];
  /** One for all, or one for each. */
  private readonly shapes: readonly ProductShape[];

  constructor(a: readonly Item[], b: readonly Item[], shapes: readonly ProductShape[], item: ProductItem) {
    this.item = item;
    this.first = a;
    this.b = b;
    const shared = a.length > 1 && b[0] instanceof Tensor && b.every((m) => m === b[0]);
    this.second = shared ? b[0]! : b;
    this.shapes = shapes;
    this.uniform = shapes.length === 1 || (allEqual(a) && allEqual(b) && shapes.every((s) => equal(s, shapes[0]!)));
  }

  keyOf(i: number): string {
    return `${signatureOf(this.first[i]!)} ${signatureOf(this.b[i]!)} ${this.shapeAt(i).join()}`;
  }

  bytesOf(i: number): number {
    return sizeOf(this.first[i]!) + sizeOf(this.b[i]!) + this.resultBytes(i);
  }

  /** Both operands are copied into stacks, and the results out of one. */
  stackedBytesOf(i: number): number {
    return sizeOf(this.first[i]!) + (this.second === this.b ? sizeOf(this.b[i]!) : 0) + this.resultBytes(i);
  }

  elementsOf(i: number): number {
    return lengthOf(this.first[i]!);
  }

  shapeOf(i: number): Shape {
    const [m, , n] = this.shapeAt(i);
    return [m, n];
  }

  arrays(call: ArraysCall, at: readonly number[]): Maybe<TypedArray[]> {
    const { runtime: rt } = call;
    const [m, k, n] = this.shapeAt(at[0]!);
    const [x, y] = [at.map((i) => this.first[i] as TypedArray), at.map((i) => this.b[i] as TypedArray)];
    const one = (i: number): Maybe<TypedArray[]> =>
      computed(
        call,
        1,
        (own) => this.item.run(own(rt.tensor(x[i]!, [m, k]) as Tensor), own(rt.tensor(y[i]!, [k, n]) as Tensor)),
        (made) => [made],
      );
    if (at.length === 1) return one(0);
    // With `deterministic` every product has the kernel it has alone.
    if (this.item.join === 'apart')
      return call.host
        ? call.run(() => at.map((i) => this.alone(call, i)))
        : Promise.all(x.map((_, i) => one(i))).then((made) => made.flat());
    const same = y.every((p) => p === y[0]);
    const work = (own: Own): Tensor => {
      const left = own(uploaded(rt, pack(rt, x, m * k), [at.length, m, k], at.length));
      const right = same
        ? uploaded(rt, y[0]!, [k, n], 1)
        : uploaded(rt, pack(rt, y, k * n), [at.length, k, n], at.length);
      return this.item.run(left, own(right));
    };
    const lengths = new Array<number>(at.length).fill(m * n);
    return computed(call, at.length, work, (made) => unpack(made, lengths));
  }

  alone(call: ArraysCall, i: number): TypedArray {
    const [m, k, n] = this.shapeAt(i);
    const shapes = [
      [m, k],
      [k, n],
    ] as const;
    return computedAlone(call, this.first[i] as TypedArray, this.b[i] as TypedArray, shapes, this.item);
  }

  private resultBytes(i: number): number {
    const [m, , n] = this.shapeAt(i);
    return m * n * elementBytes(this.first[i]!);
  }

  private shapeAt(i: number): ProductShape {
    return this.shapes.length === 1 ? this.shapes[0]! : this.shapes[i]!;
  }
}

export function matmulOp(a: readonly Item[], b: readonly Item[], options: ProductOptions): ListOp {
  const where = 'batchMatmul';
  checkDTypes(where, a);
  checkDTypes(where, b);
  const item = new ProductItem(options.precision, options.deterministic);
  return new Products(a, b, shapesOf(where, a, b, options.shapes), item);
}

const equal = (a: ProductShape, b: ProductShape): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];

/** One for all where all pairs are alike, else one for each. */
function shapesOf(
  where: string,
  a: readonly Item[],
  b: readonly Item[],
  given: readonly ProductShape[] | undefined,
): readonly ProductShape[] {
  if (a[0] instanceof Tensor) {
    const one = allEqual(a) && allEqual(b);
    return (one ? a.slice(0, 1) : a).map((x, i) => pairShape(where, i, x as Tensor, b[i] as Tensor));
  }
  if (a.length > 0 && !given)
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
  for (let i = 0; i < a.length; i++) {
    const shape = given!.length === 1 ? given![0]! : given![i]!;
    const [m, k, n] = shape;
    const [x, y] = [lengthOf(a[i]!), lengthOf(b[i]!)];
    if (!isSize(m) || !isSize(k) || !isSize(n) || x !== m * k || y !== k * n)
      throw badShapes(where, i, `[${m}, ${k}] × [${k}, ${n}] with ${x} and ${y} elements`);
  }
  return given ?? [];
}

const isSize = (d: number): boolean => Number.isSafeInteger(d) && d >= 0;

function pairShape(where: string, i: number, x: Tensor, y: Tensor): ProductShape {
  if (x.rank !== 2 || y.rank !== 2 || x.shape[1] !== y.shape[0])
    throw badShapes(where, i, `[${x.shape.join(', ')}] × [${y.shape.join(', ')}]`);
  return [x.shape[0]!, x.shape[1]!, y.shape[1]!];
}

const badShapes = (where: string, i: number, shapes: string) =>
  badList(
    where,
    'SHAPE_MISMATCH',
    i,
    `pair ${i}: ${shapes}`,
    'The columns of the first matrix must be the rows of the second.',
  );
