// Every native kernel, by TF.js's name.

import type { Kernels } from '../kernel.ts';
import { binary } from './binary.ts';
import { complex, onComplex } from './complex.ts';
import { conv } from './conv.ts';
import { create } from './create.ts';
import { einsum } from './einsum.ts';
import { fourierTransforms } from './fft.ts';
import { image } from './image.ts';
import { indexing } from './indexing.ts';
import { products } from './matmul.ts';
import { morphology } from './morphology.ts';
import { movement, movementOfComplex } from './movement.ts';
import { norm } from './norm.ts';
import { pool } from './pool.ts';
import { reduce } from './reduce.ts';
import { sharing } from './sharing.ts';
import { unary } from './unary.ts';

export const kernels: Kernels = {
  ...sharing,
  ...unary,
  ...binary,
  ...reduce,
  ...complex,
  ...products,
  ...conv,
  ...pool,
  ...movement,
  ...indexing,
  ...create,
  ...norm,
  ...morphology,
  ...image,
  ...fourierTransforms,
  ...einsum,
};

/** Those that take complex64. */
export const complexKernels: Kernels = { ...sharing, ...onComplex, ...movementOfComplex, ...fourierTransforms };

/** Those that do not look at the values, so that strings will do. */
export const stringKernels: Kernels = sharing;
