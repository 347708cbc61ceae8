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
  bincount: (_, [x, weights], [options]) =>
    invoke(x, 'bincount', [weights ? { ...(options as object), weights } : options]),
  attention: (_, [q, k, v], [scale]) =>
    q!
      .matmul(k!.swapaxes(-1, -2))
      .mul(scale as number)
      .softmax(-1)
      .matmul(v!),
  searchsortedIn: (_, [values, sorted], [options]) => invoke(sorted, 'searchsorted', [values, options]),
  windowsAndFold: (_, [x], [sizes, options, shape]) =>
    invoke(invoke(x, 'windows', [sizes, options]), 'fold', [shape, options]),
  fft: (_, [x, imag], [options]) => invoke(x, 'fft', [{ ...(options as object), ...(imag && { imag }) }]),
  irfft: (_, [x, imag], [options]) => invoke(x, 'irfft', [{ ...(options as object), ...(imag && { imag }) }]),
  whereScalar: (rt, [condition, x], [value]) => invoke(rt, 'where', [condition, x, value]),
  whereScalarFirst: (rt, [condition, x], [value]) => invoke(rt, 'where', [condition, value, x]),
  einsum: (rt, inputs, [spec]) => invoke(rt, 'einsum', [spec, ...inputs]),
};

/** Applies an op to tensors and gives its results as a list. */
export function call(rt: Runtime, op: string, inputs: readonly Tensor[], args: readonly unknown[]): Tensor[] {
  return listed(apply(rt, op, inputs, args));
}

/** As `call`, for ops that wait too. */
export async function callLater(
  rt: Runtime,
  op: string,
  inputs: readonly Tensor[],
  args: readonly unknown[],
): Promise<Tensor[]> {
  return listed(await apply(rt, op, inputs, args));
}

function apply(rt: Runtime, op: string, inputs: readonly Tensor[], args: readonly unknown[]): unknown {
  const custom = calls[op];
  return custom ? custom(rt, inputs, args) : invoke(inputs[0], op, [...inputs.slice(1), ...args]);
}

/** The names of results that have some, in the order of the cases. */
const names = [
  ['values', 'indices'],
  ['values', 'inverse', 'counts'],
  ['counts', 'edges'],
  ['real', 'imag'],
];

function listed(result: unknown): Tensor[] {
  if (Array.isArray(result)) return result as Tensor[];
  const found = names.find((list) => list.every((n) => n in (result as object)));
  return found ? found.map((n) => (result as Record<string, Tensor>)[n]!) : [result as Tensor];
}
