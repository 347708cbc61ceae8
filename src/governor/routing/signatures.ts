// What the methods of a router take. How signatures are written: base/signatures.ts.

import { isPlain, type Kinds, kindTable, plainKinds } from '../../base/signatures.ts';
import { kernelClasses, operationTypes } from './types.ts';

const isObject = plainKinds.object.is;
const has = (v: unknown, ...lists: string[]): boolean =>
  isObject(v) && lists.every((name) => Array.isArray((v as Record<string, unknown>)[name]));

export const routingKinds: Kinds = kindTable({
  ...plainKinds,
  operation: {
    is: (v: unknown) => [...operationTypes, ...kernelClasses].some((t) => t === v),
    words: `one of ${[...operationTypes, ...kernelClasses].join(', ')}`,
  },
  settings: {
    is: (v: unknown) => isObject(v) && isPlain(v as object),
    words: 'an object of settings',
  },
  profiles: { is: (v: unknown) => v instanceof Map, words: 'a Map by the ids of devices' },
  sized: {
    is: (v: unknown) =>
      typeof v === 'number' ||
      v === null ||
      (isObject(v) && ('length' in (v as object) || 'size' in (v as object))) ||
      Array.isArray(v),
    words: 'a number of elements, or something that has a length',
  },
  request: {
    is: (v: unknown) => has(v, 'candidates', 'inputs'),
    words: 'a request with { op, candidates, inputs, … }',
  },
  decision: { is: (v: unknown) => has(v, 'predictions'), words: 'what decide() returned' },
  work: {
    is: (v: unknown) => Array.isArray(v) && v.every(isObject),
    words: 'an array of { class, flops, bytes, elements }',
  },
});

const call =
  'op:text data:sized? options:{elements:number,bytes:number,device:text,at:text,wanted:text|null,freeBytes:number}?';

export const setupOptions = 'devices:text[],hosts:text[],freeBytes:function,clock:function';

export const routerSignatures: Readonly<Record<string, string>> = {
  'touch stats exploration learned': '',
  profile: 'id:text',
  decide: 'request:request',
  home: 'bytes:number dtypeAllowed:text[]',
  observe: 'op:operation work:work device:text predictedUs:number measuredUs:number',
  observeCall: 'decision:decision measuredUs:number',
  relearn: 'saved:profiles',
  calibrated: 'profiles:profiles decides:function?',
  'analyze shouldUseGPU route': call,
  recordOperationResult: 'op:text elements:number device:text ms:number',
  explain: `${call} or request:request`,
};

export const routerArguments = `options:settings profiles:profiles setup:{${setupOptions}}?`;
export const sharedArguments = `options:settings? profiles:profiles? setup:{${setupOptions}}?`;
