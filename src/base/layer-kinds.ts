// Kinds of arguments that the layers above the runtime take besides: pages that use none of them do not load these.

import { isDetached } from './arguments.ts';
import { attached, isPlain, kindTable, plainKinds } from './kinds.ts';

const isText = plainKinds.text.is;
const isObject = (v: unknown): v is object => typeof v === 'object' && v !== null;

export const layerKinds = kindTable({
  ...plainKinds,
  plain: { is: (v) => isObject(v) && isPlain(v) && !Array.isArray(v), words: 'an object' },
  iterable: {
    is: (v) => isObject(v) && Symbol.iterator in v && !(v instanceof Map) && !isDetached(v),
    words: 'an array or another iterable',
    habit: attached,
  },
  amounts: {
    is: (v) =>
      Array.isArray(v) || v instanceof Set
        ? [...v].every((x) => typeof x === 'number')
        : isObject(v) && Symbol.iterator in v && !(v instanceof Map),
    words: 'an array of numbers',
  },
  texts: {
    is: (v) =>
      isText(v) || (Array.isArray(v) ? v.every(isText) : isObject(v) && Symbol.iterator in v && !ArrayBuffer.isView(v)),
    words: 'an array of texts',
  },
  arrayLike: {
    is: (v) => (Array.isArray(v) ? v.every((x) => typeof x === 'number') : plainKinds.view.is(v)),
    words: 'an array of numbers',
    many: 'arrays of numbers',
    habit: attached,
  },
  environment: {
    // The environment of Node is no plain object.
    is: (v) =>
      Object.prototype.toString.call(v) === '[object Object]' &&
      Object.values(v as object).every((t) => t === undefined || isText(t)),
    words: 'an object of texts such as process.env',
  },
  whole: { is: (v) => Number.isSafeInteger(v) && (v as number) >= 0, words: 'a whole number from 0 on' },
  // Longer timers than this fire at once in JavaScript.
  milliseconds: {
    is: (v) => typeof v === 'number' && v > 0 && v < 2 ** 31,
    words: 'a number of milliseconds above 0, up to 2147483647',
  },
  path: { is: (v) => isText(v) || v instanceof URL, words: 'a path or a file: URL' },
});
