// The tensor users hold: all ops, each family in a file of its own.
//
//   TensorCore → Arithmetic → Functions → Movement → Indexing → Reductions → Ordering → Linear → Network → Dynamic → Segments → Transforms → Tensor

import type { DType } from '../base/dtype.ts';
import { checkMethods } from '../base/signatures.ts';
import { TensorCore } from './core.ts';
import { tensorKinds, tensorSignatures } from './signatures.ts';
import { Transforms } from './transforms.ts';

/**
 * A lazy array of numbers. Ops return at once; reading (`data`, `dataSync`, `item`) runs what is needed.
 * @example rt.tensor([1, 2, 3]).mul(2).sum() // → 12
 */
export class Tensor<D extends DType = DType> extends Transforms<D> {}

// Only the first of the classes has fields. So its constructor is called straight away: going through the twelve of the others takes
// longer than the rest of making a tensor.
Object.setPrototypeOf(Tensor, TensorCore);

checkMethods(Tensor.prototype, tensorSignatures, tensorKinds);
