// How a case's op is called: by default as a method of its first input, with the other inputs and then the arguments.

import type { Runtime, Tensor } from '../../src/index.ts';

type Call = (rt: Runtime, inputs: readonly Tensor[], args: readonly unknown[]) => unknown;
type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const methodsOf = (x: unknown): Methods => x as Methods;

/** Calls a method by name; the case data decides which, so the types are checked where the API is used by hand. */
export function invoke(target: unknown, name: string, args: readonly unknown[]): unknown {
  const method = methodsOf(target)[name];
  if (typeof method !== 'function') throw new Error(`the API has no ${name}`);
  return Reflect.apply(method, target, args);
}

const onRuntime =
  (name: string): Call =>
  (rt, inputs, args) =>
    invoke(rt, name, [...inputs, ...args]);

const onList =
  (name: string): Call =>
  (rt, inputs, args) =>
    invoke(rt, name, [inputs, ...args]);

const calls: Readonly<Record<string, Call>> = {
  zeros: onRuntime('zeros'),
  ones: onRuntime('ones'),
  full: onRuntime('full'),
  arange: onRuntime('arange'),
  linspace: onRuntime('linspace'),
  eye: onRuntime('eye'),
  tri: onRuntime('tri'),
  iota: onRuntime('iota'),
  where: onRuntime('where'),
  concat: onList('concat'),
  stack: onList('stack'),
  einsum: (rt, inputs, [spec]) => invoke(rt, 'einsum', [spec, ...inputs]),
};

/** Applies an op to tensors and gives its results as a list. */
export function call(rt: Runtime, op: string, inputs: readonly Tensor[], args: readonly unknown[]): Tensor[] {
  const custom = calls[op];
  const result = custom ? custom(rt, inputs, args) : invoke(inputs[0], op, [...inputs.slice(1), ...args]);
  if (Array.isArray(result)) return result as Tensor[];
  // topk names its two results.
  if (result && typeof result === 'object' && 'values' in result && 'indices' in result)
    return [result.values as Tensor, result.indices as Tensor];
  return [result as Tensor];
}
