// Figures of a field tensor, computed on its device in one pass.

import { checked } from '../base/signatures.ts';
import type { Runtime, Tensor } from '../index.ts';
import { fieldKinds } from './signatures.ts';

export interface FieldMetrics {
  readonly mean: number;
  readonly std: number;
  readonly max: number;
  /** Root of the sum of squares. */
  readonly energy: number;
  /** The part of values with |x| < 0.01. */
  readonly sparsity: number;
  /** mean |x| · (1 + variance), as everywhere in this package. */
  readonly information: number;
}

export const fieldMetrics = checked(
  'fieldMetrics',
  'async rt:runtime field:tensor',
  async (rt: Runtime, field: Tensor): Promise<FieldMetrics> => {
    using sums = rt.scope(() => {
      const x = field.cast('f32').flatten();
      const size = x.abs();
      const totals = [x.sum(), size.sum(), x.square().sum(), x.max(), size.less(0.01).cast('f32').sum()];
      return rt.stack(totals).compute();
    });
    const [sum, absolute, squares, max, sparse] = (await sums.data()) as Float32Array;
    const n = field.size;
    const mean = sum! / n;
    const variance = Math.max(0, squares! / n - mean * mean);
    return {
      mean,
      std: Math.sqrt(variance),
      max: max!,
      energy: Math.sqrt(squares!),
      sparsity: sparse! / n,
      information: (absolute! / n) * (1 + variance),
    };
  },
  fieldKinds,
);
