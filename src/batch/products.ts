// The product of each pair of matrices.

import { type Maybe, Tensor, type TypedArray } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import { checkDTypes, computed, elementBytes, type ListOp, lengthOf, type Own, sizeOf, uploaded } from './list-op.ts';
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

export function matmulOp(a: readonly Item[], b: readonly Item[], options: ProductOptions): ListOp {
  const where = 'batchMatmul';
  checkDTypes(where, a);
  checkDTypes(where, b);
  const alike = a.length > 0 && a[0] instanceof Tensor && allEqual(a) && allEqual(b);
  const same = alike ? pairShape(where, 0, a[0] as Tensor, b[0] as Tensor) : null;
  const shapes = same ? null : shapesOf(where, a, b, options.shapes);
  const shapeAt = (i: number): ProductShape => same ?? shapes![i]!;
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
    uniform: shapes === null || (allEqual(a) && allEqual(b) && shapes.every((s) => equal(s, shapes[0]!))),
    keyOf: (i) => `${signatureOf(a[i]!)} ${signatureOf(b[i]!)} ${shapeAt(i).join()}`,
    bytesOf: (i) => {
      const [m, , n] = shapeAt(i);
      return sizeOf(a[i]!) + sizeOf(b[i]!) + m * n * elementBytes(a[i]!);
    },
    elementsOf: (i) => lengthOf(a[i]!),
    shapeOf: (i) => [shapeAt(i)[0], shapeAt(i)[2]],
    arrays: (call, at) => {
      const { runtime: rt } = call;
      const [m, k, n] = shapeAt(at[0]!);
      const [x, y] = [at.map((i) => a[i] as TypedArray), at.map((i) => b[i] as TypedArray)];
      const alone = (i: number): Maybe<TypedArray[]> =>
        computed(
          call,
          1,
          (own) => run(own(rt.tensor(x[i]!, [m, k]) as Tensor), own(rt.tensor(y[i]!, [k, n]) as Tensor)),
          (made) => [made],
        );
      if (at.length === 1) return alone(0);
      // With `deterministic` every product has the kernel it has alone.
      if (deterministic) {
        const each = x.map((_, i) => alone(i));
        return call.host ? (each as TypedArray[][]).flat() : Promise.all(each).then((made) => made.flat());
      }
      const same = y.every((p) => p === y[0]);
      const work = (own: Own): Tensor => {
        const left = own(uploaded(rt, pack(rt, x, m * k), [at.length, m, k], at.length));
        const right = same
          ? uploaded(rt, y[0]!, [k, n], 1)
          : uploaded(rt, pack(rt, y, k * n), [at.length, k, n], at.length);
        return run(left, own(right));
      };
      const lengths = new Array<number>(at.length).fill(m * n);
      return computed(call, at.length, work, (made) => unpack(made, lengths));
    },
  };
}

const equal = (a: ProductShape, b: ProductShape): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];

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
    if (x instanceof Tensor && y instanceof Tensor) return pairShape(where, i, x, y);
    const shape = given!.length === 1 ? given![0]! : given![i]!;
    const [m, k, n] = shape;
    if (!shape.every((d) => Number.isSafeInteger(d) && d >= 0) || lengthOf(x) !== m * k || lengthOf(y) !== k * n)
      throw badShapes(where, i, `[${m}, ${k}] × [${k}, ${n}] with ${lengthOf(x)} and ${lengthOf(y)} elements`);
    return shape;
  });
}

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
