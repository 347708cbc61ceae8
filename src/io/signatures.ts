// The kinds of arguments that functions of files take. How signatures are written: base/signatures.ts.

import { layerKinds } from '../base/layer-kinds.ts';
import { argumentKinds, Tensor } from '../index.ts';

const isRecord = (v: unknown): boolean => argumentKinds.object.is(v) && !ArrayBuffer.isView(v);
const plain = (v: unknown): v is object => layerKinds.plain.is(v);

const isEntry = (e: unknown): boolean => Array.isArray(e) && typeof e[0] === 'string' && isRecord(e[1]);

export const fileKinds = {
  ...argumentKinds,
  ...layerKinds,
  source: {
    is: (v: unknown) => v instanceof Uint8Array || v instanceof ArrayBuffer || layerKinds.path.is(v),
    words: 'bytes of a file, or its path',
  },
  tensors: {
    is: (v: unknown) => plain(v) && Object.values(v).every((t) => t instanceof Tensor),
    words: 'an object of tensors by name',
  },
  texts: {
    is: (v: unknown) => plain(v) && Object.values(v).every((t) => typeof t === 'string'),
    words: 'an object of texts by name',
  },
  entries: {
    // One that can be gone through only once is looked at on the way.
    is: (v: unknown) =>
      v instanceof Map || v instanceof Set || Array.isArray(v)
        ? [...v].every(isEntry)
        : layerKinds.iterable.is(v) && !ArrayBuffer.isView(v),
    words: 'pairs of a name and { dtype, shape, bytes }',
  },
};

export const recordSignature = '{dtype:dtype!,shape:numbers!,bytes:bytes!}';
