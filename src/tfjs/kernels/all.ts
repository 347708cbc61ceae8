// Every native kernel, by TF.js's name.

import type { Kernels } from '../kernel.ts';
import { sharing } from './sharing.ts';

export const kernels: Kernels = { ...sharing };

/** Those that take complex64. */
export const complexKernels: Kernels = { ...sharing };
