// Einstein summation, with TF.js's checks of the equation.

import type { Kernels } from '../kernel.ts';
import { numbers, stored } from './types.ts';

export const einsum: Kernels = {
  Einsum: (c) => {
    const { equation } = c.attrs<{ equation: string }>();
    const { backend_util } = c.tf;
    const list = c.list();
    const { allDims, idDims } = backend_util.decodeEinsumEquation(equation, list.length);
    backend_util.checkEinsumDimSizes(allDims.length, idDims, Object.values(c.inputs) as never);
    const [first, ...rest] = list.map(numbers);
    return stored(c.rt, c.rt.einsum(equation, first!, ...rest), list[0]!.dtype);
  },
};
