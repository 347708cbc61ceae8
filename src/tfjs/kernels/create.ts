// Kernels that make tensors from numbers, and draw random ones.

import type { Tensor } from '../../index.ts';
import { isNumeric, ours } from '../convert.ts';
import { type Call, type Kernels, Reroute } from '../kernel.ts';
import type { DataType } from '../types.ts';

function fill(c: Call): Tensor | Reroute {
  const { shape, value, dtype } = c.attrs<{ shape: number[]; value: number | string; dtype?: DataType }>();
  const type = dtype ?? c.tf.util.inferDtype(value);
  if (!isNumeric(type) || typeof value === 'string') return new Reroute(`it makes ${type}`);
  return c.rt.full(shape, type === 'int32' ? Math.trunc(value) | 0 : value, { dtype: ours[type] });
}

function range(c: Call): Tensor {
  const attrs = c.attrs<{ start: number; stop: number; step: number; dtype: 'float32' | 'int32' }>();
  const { start, stop, dtype } = attrs;
  const type = ours[dtype] ?? 'f32';
  const empty = start === stop || (start < stop && attrs.step < 0) || (stop < start && attrs.step > 1);
  if (empty) return c.rt.zeros([0], { dtype: type });
  const count = Math.abs(Math.ceil((stop - start) / attrs.step));
  // A step of 1 downwards means -1.
  const step = stop < start && attrs.step === 1 ? -1 : attrs.step;
  if (type === 'f32' || (Number.isInteger(step) && Number.isInteger(start)))
    return c.rt.iota([count], 0, { dtype: type }).mul(step).add(start);
  const values = new Int32Array(count);
  values[0] = start;
  for (let i = 1; i < count; i++) values[i] = values[i - 1]! + step;
  return c.rt.tensor(values, [count], { dtype: type });
}

/** Numbers of classes drawn with their probabilities: how many sums of probabilities a random number passes. */
function multinomial(c: Call): Tensor {
  const { numSamples, seed, normalized } = c.attrs<{ numSamples: number; seed: number; normalized: boolean }>();
  const logits = c.f('logits');
  const [batch, classes] = logits.shape as [number, number];
  const sums = (normalized ? logits : logits.softmax(-1)).cumsum(1);
  const whole = Number.isSafeInteger(seed) ? seed : Math.floor(seed * 2 ** 32);
  const draw = c.rt.random.uniform([batch, numSamples, 1], { seed: Math.abs(whole) });
  const passed = sums
    .slice([null, [0, classes - 1]])
    .reshape([batch, 1, classes - 1])
    .lessEqual(draw);
  return passed.cast('i32').sum({ axis: -1, dtype: 'i32' });
}

export const create: Kernels = {
  Fill: fill,
  LinSpace: (c) => {
    const { start, stop, num } = c.attrs<{ start: number; stop: number; num: number }>();
    return c.rt.linspace(start, stop, num);
  },
  Multinomial: multinomial,
  Range: range,
};
