// What the methods of a router take that users call. How signatures are written: base/signatures.ts.

import { type Kinds, kindTable, plainKinds } from '../../base/kinds.ts';

const isObject = plainKinds.object.is;

export const routingKinds: Kinds = kindTable({
  ...plainKinds,
  sized: {
    is: (v: unknown) =>
      typeof v === 'number' ||
      v === null ||
      Array.isArray(v) ||
      (isObject(v) && ('length' in (v as object) || 'size' in (v as object))),
    words: 'a number of elements, or something that has a length',
  },
  request: {
    is: (v: unknown) => Array.isArray((v as { candidates?: unknown } | null)?.candidates),
    words: 'a request with { op, candidates, inputs, … }',
  },
});

const call =
  'op:text data:sized? options:{elements:number,bytes:number,device:text,at:text,wanted:text|null,freeBytes:number}?';

export const routerSignatures: Readonly<Record<string, string>> = {
  'stats exploration': '',
  profile: 'id:text',
  'analyze shouldUseGPU route': call,
  recordOperationResult: 'op:text elements:number device:text ms:number',
  explain: `${call} or request:request`,
};
