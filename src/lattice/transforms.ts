// normalize and scale, with sums in double precision.

import type { DType, Runtime, Tensor } from '../index.ts';
import type { HostData } from './arrays.ts';
import { isTyped } from './arrays.ts';
import { invalidArgument } from './errors.ts';

export const transformNames = ['xor', 'normalize', 'scale'] as const;
export type TransformName = (typeof transformNames)[number];

/** Keeps the divisor away from zero, as the definition says. */
const epsilon = 1e-8;

/** (x − mean) / (population standard deviation + 1e-8). A constant gives zeros. Floats of 64 bits stay so, all else becomes f32. */
export function normalizeHost(data: HostData): Float32Array | Float64Array {
  const values = Float64Array.from(data as ArrayLike<number>, Number);
  const result = data instanceof Float64Array ? values.slice() : new Float32Array(values.length);
  if (values.length === 0) return result;
  let mean = values.reduce((a, b) => a + b, 0) / values.length;
  // The mean of equal values may differ from them in its last bit.
  if (values.every((v) => v === values[0])) mean = values[0]!;
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length;
  const divisor = Math.sqrt(variance) + epsilon;
  for (let i = 0; i < values.length; i++) result[i] = (values[i]! - mean) / divisor;
  return result;
}

export function normalizeTensor(rt: Runtime, x: Tensor): Tensor {
  const wide = x.cast('f64');
  const same = x.size === 0 ? null : wide.max().equal(wide.min());
  const mean = same ? rt.where(same, wide.max(), wide.mean()) : wide.mean();
  const off = wide.sub(mean);
  const std = off.mul(off).mean().sqrt();
  return off.div(std.add(epsilon)).cast(x.dtype === 'f64' ? 'f64' : 'f32');
}

/** Floats keep their type; whole numbers become f64. */
export function scaleHost(data: HostData, factor: number): HostData {
  if (data instanceof Float32Array || data instanceof Float64Array) return data.map((x) => x * factor);
  if (!isTyped(data)) return data.map((x) => x * factor);
  return Float64Array.from(data as ArrayLike<number>, (x) => Number(x) * factor);
}

export const scaledType = (dtype: DType): DType => (dtype.startsWith('f') || dtype === 'bf16' ? dtype : 'f64');

export function checkFactor(factor: unknown): number {
  if (typeof factor === 'number' && Number.isFinite(factor)) return factor;
  throw invalidArgument({
    where: 'transform',
    problem: `the factor is ${String(factor)}`,
    fix: 'Use a finite number.',
  });
}
