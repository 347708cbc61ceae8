// Arithmetic on a few numbers that are in host memory: done there, where a program is known to read the result at once. A device would
// have to be told, and asked.

import { sameShape } from './source.ts';
import type { Entry } from './store.ts';
import type { TensorInfo } from './types.ts';

/** As TF.js has it for its own GPU backends. */
const mostElements = 128;

/** Exact when it is rounded to f32, as a device has it. */
const ops: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Multiply: (a, b) => a * b,
  RealDiv: (a, b) => a / b,
  Sub: (a, b) => a - b,
};

export const canBeOnHost = (kernel: string): boolean => Object.hasOwn(ops, kernel);

/** The result, in the shape of the first operand; null if that is not the shape of both, or values are elsewhere. */
export function onHost(kernel: string, a: TensorInfo, b: TensorInfo, p: Entry, q: Entry): Float32Array | null {
  const [x, y] = [p.values, q.values];
  if (!(x instanceof Float32Array) || !(y instanceof Float32Array)) return null;
  if (x.length > mostElements || !sameShape(a.shape, b.shape)) return null;
  const f = ops[kernel]!;
  const out = new Float32Array(x.length);
  for (let i = 0; i < out.length; i++) out[i] = f(x[i]!, y[i]!);
  return out;
}
