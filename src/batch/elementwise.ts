// One operation on all elements of each item.

import type { Tensor, TypedArray } from '../index.ts';
import { badArgument } from './failures.ts';
import {
  checkDTypes,
  computed,
  elementBytes,
  groupLengths,
  type ListOp,
  type Own,
  sameShape,
  sizeOf,
  strideOf,
  uploaded,
} from './list-op.ts';
import { allEqual, type Item, kindOf, signatureOf } from './lists.ts';
import { pack, unpack } from './packing.ts';
import type { Padding } from './padding.ts';

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
    arrays: (call, at) => {
      const arrays = at.map((i) => data[i] as TypedArray);
      const work = (own: Own): Tensor => {
        const all = pack(call.runtime, arrays, strideOf(arrays));
        return run(own(uploaded(call.runtime, all, [all.length], at.length)));
      };
      const own = arrays.map((a) => a.length);
      return computed(call, at.length, work, (made) => unpack(made, own));
    },
  };
}
