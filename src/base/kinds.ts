// Kinds of arguments: how a value is known to be one, and in which words it is asked for.
//
// Signatures (`signatures.ts`) are made of the names in a table of kinds. Layers add kinds of their own to those here.

import type { ArgumentError, ErrorInfo } from '../errors.ts';
import { isDetached } from './arguments.ts';

/** What a wrong value is told about itself, beyond what was expected. */
export type Habit = (value: unknown, call: Call) => string | undefined;

export interface Kind {
  readonly is: (value: unknown) => boolean;
  /** What is expected: 'a number'. */
  readonly words: string;
  /** Several of them: 'numbers'. */
  readonly many?: string;
  readonly code?: string;
  readonly error?: new (info: ErrorInfo) => ArgumentError;
  /** What to write here instead of what other libraries take. */
  readonly habit?: Habit;
  /** The call itself says what is wrong with it, by an error of its own. */
  readonly own?: boolean;
}

export type Kinds = Readonly<Record<string, Kind>>;

/** A call that is being refused. */
export interface Call {
  readonly where: string;
  readonly args: readonly unknown[];
}

const isText = (v: unknown): v is string => typeof v === 'string';
export const isObject = (v: unknown): v is object => typeof v === 'object' && v !== null;

/** A table of kinds whose names the compiler knows. */
export const kindTable = <N extends string>(kinds: Readonly<Record<N, Kind>>): Readonly<Record<N, Kind>> => kinds;

/** A typed array that was sent to a worker. */
export const attached: Habit = (v) =>
  isDetached(v) ? 'Use it before it is transferred, or transfer a copy: array.slice().' : undefined;

/** Kinds that every layer knows. */
export const plainKinds = kindTable({
  any: { is: () => true, words: 'a value' },
  number: { is: (v) => typeof v === 'number', words: 'a number', many: 'numbers' },
  bigint: { is: (v) => typeof v === 'bigint', words: 'a bigint', many: 'bigints' },
  text: { is: isText, words: 'a text', many: 'texts' },
  flag: { is: (v) => typeof v === 'boolean', words: 'true or false' },
  function: { is: (v) => typeof v === 'function', words: 'a function', many: 'functions' },
  object: { is: (v) => isObject(v) && !Array.isArray(v), words: 'an object', many: 'objects' },
  list: { is: Array.isArray, words: 'an array' },
  null: { is: (v) => v === null, words: 'null' },
  own: { is: () => true, words: 'a value', own: true },
  view: {
    is: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView) && !isDetached(v),
    words: 'a typed array',
    many: 'typed arrays',
    habit: attached,
  },
  bytes: {
    is: (v) => v instanceof Uint8Array && !isDetached(v),
    words: 'a Uint8Array',
    many: 'Uint8Arrays',
    habit: attached,
  },
  signal: {
    is: (v) => isObject(v) && typeof (v as AbortSignal).aborted === 'boolean' && 'addEventListener' in v,
    words: 'an AbortSignal: controller.signal, or AbortSignal.timeout(ms)',
    code: 'BAD_SIGNAL',
  },
});

/** Objects that have all of these. */
export const having = (words: string, names: readonly string[], many?: string): Kind => ({
  is: (v) => isObject(v) && names.every((name) => name in v),
  words,
  ...(many && { many }),
});

/** One value of a list. */
export const oneOf = (values: readonly (string | number)[]): Kind => {
  const names = values.join(', ');
  return { is: (v) => values.some((value) => value === v), words: `one of ${names}`, many: `any of ${names}` };
};

/** An object of no class: one of a class is taken for options only if it has one of them. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
