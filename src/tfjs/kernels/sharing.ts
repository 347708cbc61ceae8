// Kernels whose result is the data of their input.

import type { Kernels } from '../kernel.ts';

export const sharing: Kernels = {
  Identity: (c) => c.share('x', c.info('x').shape),
  Reshape: (c) => {
    const x = c.info('x');
    const { shape } = c.attrs<{ shape: number[] }>();
    const size = c.tf.util.sizeFromShape(x.shape);
    const target = c.tf.util.inferFromImplicitShape(shape, size);
    const fits = size === c.tf.util.sizeFromShape(target);
    c.tf.util.assert(
      fits,
      () =>
        `The new shape (${target}) has ${c.tf.util.sizeFromShape(target)} elements and the old shape (${x.shape}) has ${size} elements. The new shape and old shape must have the same number of elements.`,
    );
    return c.share('x', target);
  },
  ExpandDims: (c) => {
    const { shape } = c.info('input');
    const { dim } = c.attrs<{ dim: number }>();
    c.tf.util.assert(
      -(shape.length + 1) <= dim && dim <= shape.length,
      () => `Axis must be in the interval [${-(shape.length + 1)}, ${shape.length}]`,
    );
    const at = dim < 0 ? shape.length + dim + 1 : dim;
    return c.share('input', [...shape.slice(0, at), 1, ...shape.slice(at)]);
  },
};
