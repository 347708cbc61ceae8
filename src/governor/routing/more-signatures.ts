// What is taken by those who make routers of their own: not loaded by pages that only have a runtime.

import { isPlain, kindTable, plainKinds } from '../../base/kinds.ts';
import { routingKinds } from './signatures.ts';

export const makingKinds = kindTable({
  ...routingKinds,
  settings: {
    is: (v: unknown) => plainKinds.object.is(v) && isPlain(v as object),
    words: 'an object of settings',
  },
  profiles: { is: (v: unknown) => v instanceof Map, words: 'a Map by the ids of devices' },
  work: {
    is: (v: unknown) => Array.isArray(v) && v.every(plainKinds.object.is),
    words: 'an array of { class, flops, bytes, elements }',
  },
});

export const setupOptions = 'devices:text[],hosts:text[],freeBytes:function,clock:function';
export const routerArguments = `options:settings profiles:profiles setup:{${setupOptions}}?`;
export const sharedArguments = `options:settings? profiles:profiles? setup:{${setupOptions}}?`;
