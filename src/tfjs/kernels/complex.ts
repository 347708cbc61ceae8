// Complex numbers as pairs of real tensors, and what turns one dtype into another.

import type { Runtime, Tensor } from '../../index.ts';
import { isNumeric, ours } from '../convert.ts';
import type { Call, Kernels, Native, Out } from '../kernel.ts';
import type { ComplexPair, DataType } from '../types.ts';
import { stored } from './types.ts';

export const sumOf = (a: ComplexPair, b: ComplexPair): ComplexPair => ({
  real: a.real.add(b.real),
  imag: a.imag.add(b.imag),
});

export const productOf = (a: ComplexPair, b: ComplexPair): ComplexPair => ({
  real: a.real.mul(b.real).sub(a.imag.mul(b.imag)),
  imag: a.real.mul(b.imag).add(a.imag.mul(b.real)),
});

/** Both parts changed in the same way. */
const both =
  (f: (x: Tensor, c: Call) => Tensor, name: string): Native =>
  (c) => {
    const { real, imag } = c.complex(name);
    return { real: f(real, c), imag: f(imag, c) };
  };

const pairs =
  (f: (a: ComplexPair, b: ComplexPair) => ComplexPair): Native =>
  (c) =>
    f(asFloats(c.complex('a')), asFloats(c.complex('b')));

const asFloats = ({ real, imag }: ComplexPair): ComplexPair => ({ real: real.cast('f32'), imag: imag.cast('f32') });

function cast(c: Call): Out {
  const { dtype } = c.attrs<{ dtype: DataType }>();
  const x = c.info('x');
  if (x.dtype === dtype) return c.share('x', x.shape);
  if (dtype === 'complex64') return { real: c.f('x'), imag: c.rt.zeros(x.shape) };
  if (!isNumeric(dtype)) throw new Error(`Error in Cast: failed to cast ${x.dtype} to ${dtype}`);
  return castTo(c.rt, c.x('x'), dtype);
}

function castTo(rt: Runtime, x: Tensor, dtype: keyof typeof ours): Tensor {
  return dtype === 'bool' ? x.notEqual(0) : stored(rt, x, ours[dtype]);
}

/** A view of one half of a complex value must outlive it: the data itself is shared, not the id. */
const half = (part: 'real' | 'imag'): Native => {
  return (c) => c.complex('input')[part].clone();
};

/** Kernels that make complex values, or take them apart. */
export const complex: Kernels = {
  Cast: cast,
  Complex: (c) => ({ real: c.f('real').clone(), imag: c.f('imag').clone() }),
  OnesLike: (c) => c.rt.ones(c.info('x').shape, { dtype: c.x('x').dtype }),
  ZerosLike: (c) => c.rt.zeros(c.info('x').shape, { dtype: c.x('x').dtype }),
  Imag: (c) => c.rt.zeros(c.info('input').shape),
  Real: (c) => c.f('input').clone(),
  ComplexAbs: (c) => c.f('x').abs(),
};

/** The same and others with complex64 inputs. */
export const onComplex: Kernels = {
  Add: pairs(sumOf),
  AddN: (c) =>
    Object.keys(c.inputs)
      .map((name) => c.complex(name))
      .reduce(sumOf),
  Cast: (c) => {
    const { dtype } = c.attrs<{ dtype: DataType }>();
    if (dtype === 'complex64') return c.share('x', c.info('x').shape);
    if (!isNumeric(dtype)) throw new Error(`Error in Cast: failed to cast complex64 to ${dtype}`);
    return castTo(c.rt, c.complex('x').real.clone(), dtype);
  },
  ComplexAbs: (c) => {
    const { real, imag } = c.complex('x');
    return real.hypot(imag);
  },
  Imag: half('imag'),
  Multiply: pairs(productOf),
  OnesLike: (c) => ({ real: c.rt.ones(c.info('x').shape), imag: c.rt.zeros(c.info('x').shape) }),
  Real: half('real'),
  Sub: pairs((a, b) => ({ real: a.real.sub(b.real), imag: a.imag.sub(b.imag) })),
  ZerosLike: both((x, { rt }) => rt.zeros(x.shape), 'x'),
};
