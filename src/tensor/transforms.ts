// Fourier transforms. How they are computed is in `fourier.ts`.

import type { DType } from '../base/dtype.ts';
import { normalizeAxis } from '../base/shape.ts';
import type { FloatOf } from './arithmetic.ts';
import { fourierBack, fourierNodes, realFourierNodes } from './fourier.ts';
import { Segments } from './segments.ts';
import type { Tensor } from './tensor.ts';

/** A complex value: two tensors of one shape. Each is disposed of by itself. */
export interface Complex<D extends DType = DType> {
  readonly real: Tensor<D>;
  readonly imag: Tensor<D>;
}

export interface FourierOptions {
  /** Default: the last one. */
  readonly axis?: number | undefined;
}

export interface ComplexFourierOptions extends FourierOptions {
  /** The imaginary parts of the input. Default: zeros. */
  readonly imag?: Tensor | undefined;
}

export abstract class Transforms<D extends DType = DType> extends Segments<D> {
  /**
   * The discrete Fourier transform along an axis, of any length, or with `inverse` the opposite of it. The tensor has the real parts.
   * @example rt.tensor([1, 2, 3, 4]).fft().real // → [10, -2, -2, -2]
   * @example rt.tensor([1, 2, 3, 4]).fft().imag // → [0, 2, 0, -2]
   * @example rt.tensor([10, -2, -2, -2]).fft({ imag: rt.tensor([0, 2, 0, -2]), inverse: true }).real // → [1, 2, 3, 4]
   */
  fft(options: ComplexFourierOptions & { readonly inverse?: boolean | undefined } = {}): Complex<FloatOf<D>> {
    const { axis = -1, inverse = false } = options;
    const imag = options.imag ? this.sibling(options.imag, 'fft').node : null;
    return complexOf(this.makeAll(fourierNodes(this.host, [this.node, imag], axis, inverse, 'fft')));
  }

  /**
   * The transform of real values: the first half of the frequencies, `n / 2 + 1` of them. The others are their conjugates.
   * @example rt.tensor([1, 2, 3, 4]).rfft().real // → [10, -2, -2]
   * @example rt.tensor([1, 2, 3, 4]).rfft().imag // → [0, 2, 0]
   */
  rfft({ axis = -1 }: FourierOptions = {}): Complex<FloatOf<D>> {
    return complexOf(this.makeAll(realFourierNodes(this.host, this.node, axis, 'rfft')));
  }

  /**
   * Real values from the first half of their frequencies: the opposite of `rfft`. The tensor has the real parts. `length`: how many values; by
   * default twice the number of frequencies less two.
   * @example rt.tensor([10, -2, -2]).irfft({ imag: rt.tensor([0, 2, 0]) }) // → [1, 2, 3, 4]
   */
  irfft(options: ComplexFourierOptions & { readonly length?: number | undefined } = {}): Tensor<FloatOf<D>> {
    const { axis = -1 } = options;
    const given = this.shape[normalizeAxis(axis, this.rank, 'irfft')]!;
    const { length = Math.max(1, 2 * given - 2) } = options;
    const imag = options.imag ? this.sibling(options.imag, 'irfft').node : null;
    return this.make(fourierBack(this.host, [this.node, imag], axis, length, 'irfft'));
  }
}

const complexOf = <D extends DType>([real, imag]: readonly Tensor[]): Complex<D> => ({ real, imag }) as Complex<D>;
