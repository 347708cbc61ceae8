// How far a decomposed function may be from the true value, in units in the last place of the result; the tests assert it.

import type { AluOp } from '../ops.ts';

export const accuracy: Readonly<Partial<Record<AluOp, { readonly f32: number; readonly f64: number }>>> = {};
