// The tensor users hold: all ops, each family in a file of its own.
//
//   TensorCore → Arithmetic → Functions → Movement → Indexing → Reductions → Ordering → Linear → Network → Dynamic → Segments → Tensor

import type { DType } from '../base/dtype.ts';
import { checkMethods } from '../base/signatures.ts';
import { TensorCore } from './core.ts';
import { Segments } from './segments.ts';
import { tensorKinds, tensorSignatures } from './signatures.ts';

/**
 * A lazy array of numbers. Ops return at once; reading (`data`, `dataSync`, `item`) runs what is needed.
 * @example rt.tensor([1, 2, 3]).mul(2).sum() // → 12
 */
export class Tensor<D extends DType = DType> extends Segments<D> {}

// Only the first of the classes has fields. So its constructor is called straight away: going through the eleven of the others takes
// longer than the rest of making a tensor.
Object.setPrototypeOf(Tensor, TensorCore);

checkMethods(Tensor.prototype, tensorSignatures, tensorKinds);
