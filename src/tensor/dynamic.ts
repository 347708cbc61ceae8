// Ops whose results have a shape that depends on the data: they wait for the device, and so return promises.
//
// What they do is in waiting.ts, which is loaded with the first of them that is called: most pages need none. Tensors may be
// disposed of right after a call, so they are held from its beginning.

import { type DType, promote } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { turnIfDueAfterShort } from '../base/turn.ts';
import { ShapeError } from '../errors.ts';
import { search } from '../graph/search.ts';
import { cast } from './build.ts';
import type { HistogramOptions } from './histogram.ts';
import { Network } from './nn.ts';
import type { Tensor } from './tensor.ts';
import type * as Waiting from './waiting.ts';

/** What `unique` finds. */
export interface Unique<D extends DType> {
  /** Each value once, in order. */
  readonly values: Tensor<D>;
  /** For each element of the tensor, the position of its value: of the tensor's shape. */
  readonly inverse: Tensor<'i32'>;
  /** How often each value occurs. */
  readonly counts: Tensor<'i32'>;
}

/** Asking for a module again takes longer than most of what these ops do, so what was loaded is kept. */
let loaded: typeof Waiting | null = null;
const load = async (): Promise<typeof Waiting> => {
  loaded = await import('./waiting.ts');
  return loaded;
};

export abstract class Dynamic<D extends DType = DType> extends Network<D> {
  /**
   * The positions of elements that are not zero: one tensor of indices for each axis, in row-major order. Waits for their number.
   * @example await rt.tensor([[0, 5], [7, 0]]).nonzero() // → [[0, 1], [1, 0]]
   */
  async nonzero(): Promise<readonly Tensor<'i32'>[]> {
    return this.waiting([], ({ nonzero }, made, [x]) => nonzero(x!, made));
  }

  /**
   * The elements for which a bool tensor is true (NumPy's `x[m]`). The mask has the shape of the tensor or of its first axes;
   * the others stay as they are. Waits for the number of elements.
   * @example await rt.tensor([1, 2, 3, 4]).mask(rt.tensor([1, 2, 3, 4]).greater(2)) // → [3, 4]
   */
  async mask(mask: Tensor<'bool'>): Promise<Tensor<D>> {
    this.sibling(mask, 'mask');
    return this.waiting([mask], ({ masked }, made, [x, m]) => masked(x as Tensor<D>, m!, made));
  }

  /**
   * Each value once, in order, with the position of every element's value and how often each occurs. Waits for their number.
   * @example (await rt.tensor([3, 1, 3]).unique()).values // → [1, 3]
   * @example (await rt.tensor([3, 1, 3]).unique()).inverse // → [1, 0, 1]
   * @example (await rt.tensor([3, 1, 3]).unique()).counts // → [1, 2]
   */
  async unique(): Promise<Unique<D>> {
    return this.waiting([], ({ unique }, made, [x]) => unique(x as Tensor<D>, made));
  }

  /**
   * How often each whole number from 0 on occurs in a row of them, or the sum of their weights. Waits for the largest one.
   * @example await rt.tensor([1, 3, 1], [3], { dtype: 'i32' }).bincount() // → [0, 2, 0, 1]
   */
  async bincount(options: { readonly minLength?: number; readonly weights?: Tensor } = {}): Promise<Tensor> {
    const { minLength = 0, weights } = options;
    if (weights !== undefined) this.sibling(weights, 'bincount');
    const others = weights ? [weights] : [];
    return this.waiting(others, ({ bincount }, made, [x, w]) => bincount(x!, minLength, w, made));
  }

  /**
   * Where values would go in this sorted row to keep it sorted: before equal elements (`left`) or after them. Does not wait.
   * @example rt.tensor([1, 3, 5]).searchsorted(rt.tensor([3, 4])) // → [1, 2]
   */
  searchsorted(values: Tensor, options: { readonly side?: 'left' | 'right' } = {}): Tensor<'i32'> {
    const { side = 'left' } = options;
    this.sibling(values, 'searchsorted');
    if (this.rank !== 1) {
      throw new ShapeError({
        code: 'NOT_A_ROW',
        message: `searchsorted: the sorted tensor has shape ${show(this.shape)}`,
        fix: 'Search in a tensor of rank 1.',
        where: 'searchsorted',
      });
    }
    const dtype = promote(this.dtype, values.dtype);
    return this.make<'i32'>(search(cast(this.node, dtype), cast(values.node, dtype), side === 'left' ? 'lt' : 'le'));
  }

  /**
   * How many elements fall into each bin: `bins` of equal width over the range of the data or a given one, or between given edges.
   * The last bin has both its ends. Waits for the smallest and largest element unless the range or the edges are given.
   * @example (await rt.tensor([1, 2, 2, 4]).histogram({ bins: 3 })).counts // → [1, 2, 1]
   * @example (await rt.tensor([1, 2, 2, 4]).histogram({ bins: 3 })).edges // → [1, 2, 3, 4]
   */
  async histogram(options: HistogramOptions = {}): Promise<{ readonly counts: Tensor<'i32'>; readonly edges: Tensor }> {
    return this.waiting([], ({ histogram }, made, [x]) => histogram(x!, options, made));
  }

  /** Runs an op that waits, on handles of its own of this tensor and others. */
  private async waiting<R>(
    others: readonly Tensor[],
    run: (ops: typeof Waiting, made: Waiting.Made, tensors: readonly Tensor[]) => Promise<R>,
  ): Promise<R> {
    const held = [this as unknown as Tensor, ...others].map((t) => t.clone() as Tensor);
    const made: Waiting.Made = { one: (node) => this.make(node), all: (nodes) => this.makeAll(nodes) };
    try {
      const result = await run(loaded ?? (await load()), made, held);
      // Where nothing had to be waited for, finalizers still get a turn now and then.
      const pause = turnIfDueAfterShort();
      if (pause) await pause;
      return result;
    } finally {
      for (const t of held) t.dispose();
    }
  }
}
