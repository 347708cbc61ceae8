// Checks of what was read: each value against its rule, by path. Tables, so that the page of the format can be held against them.

import { FormatError } from '../../errors.ts';

/** Null if the value is good, else what it should be. */
export type Check = (value: unknown) => string | null;

const isNumber = (v: unknown): v is number => typeof v === 'number' && Number.isFinite(v);

export const number: Check = (v) => (isNumber(v) ? null : 'a number');
export const amount: Check = (v) => (isNumber(v) && v >= 0 ? null : 'a number from 0 up');
export const whole: Check = (v) => (Number.isSafeInteger(v) && (v as number) >= 0 ? null : 'a whole number from 0 up');
export const positive: Check = (v) =>
  Number.isSafeInteger(v) && (v as number) > 0 ? null : 'a whole number from 1 up';
export const text: Check = (v) => (typeof v === 'string' ? null : 'text');
export const flag: Check = (v) => (typeof v === 'boolean' ? null : 'true or false');
export const plainObject: Check = (v) =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? null : 'an object';

export const orNull =
  (check: Check): Check =>
  (v) => {
    const wrong = v === null ? null : check(v);
    return wrong === null ? null : `${wrong}, or null`;
  };

export const listOf =
  (check: Check): Check =>
  (v) =>
    Array.isArray(v) && v.every((item) => check(item) === null) ? null : `a list, each of it ${check(undefined)}`;

export const oneOf =
  (...values: readonly string[]): Check =>
  (v) =>
    values.includes(v as string) ? null : values.map((x) => `'${x}'`).join(' or ');

export type Shape = Readonly<Record<string, Check>>;

export const wrong = (path: string, value: unknown, must: string): FormatError =>
  new FormatError({
    code: 'BAD_PROFILE',
    message: `${path} is ${shown(value)}, not ${must}`,
    fix: 'Use a file as it was written by the profiler.',
    where: 'readProfile',
  });

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return value === undefined ? 'missing' : String(value);
}

/** Throws for the first value that is not as the shape says. Keys it does not name are ignored. */
export function checkShape(value: unknown, shape: Shape, path: string): void {
  if (plainObject(value) !== null) throw wrong(path, value, 'an object');
  for (const [key, check] of Object.entries(shape)) {
    const item = (value as Record<string, unknown>)[key];
    const must = check(item);
    if (must !== null) throw wrong(path === '' ? key : `${path}.${key}`, item, must);
  }
}
