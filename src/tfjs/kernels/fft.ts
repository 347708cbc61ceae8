// Discrete Fourier transforms of the last axis.

import type { Call, Kernels } from '../kernel.ts';
import type { ComplexPair } from '../types.ts';

const fourier =
  (inverse: boolean) =>
  (c: Call): ComplexPair => {
    const { real, imag } = c.complex('input');
    if (real.size === 0) return { real: real.clone(), imag: imag.clone() };
    return real.cast('f32').fft({ imag: imag.cast('f32'), inverse });
  };

export const fourierTransforms: Kernels = { FFT: fourier(false), IFFT: fourier(true) };
