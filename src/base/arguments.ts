// Checks of arguments that any public call may take: options, whole numbers, abort signals. Each fails with a typed error that
// names the call.

import { ArgumentError } from '../errors.ts';

/** An argument as an error names it, whatever it is. */
export function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `'${value}'`;
  if (Array.isArray(value))
    return depth > 2 || value.length > 16 ? 'an array' : `[${value.map((v) => shown(v, depth + 1)).join(', ')}]`;
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return String(value);
  return `a ${value.constructor?.name || 'value'}`;
}

/** One value, or a list of them, as a list. */
export function listOf<T>(value: T | readonly T[], name: string, where: string): readonly T[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'number') return [value];
  throw new ArgumentError({
    code: 'NOT_A_LIST',
    message: `${where}: ${name} is ${shown(value)}`,
    fix: 'Give an array of whole numbers.',
    where,
  });
}

/** Refuses options that are no object, and names that the call does not know: `{ axes: 0 }` where `axis` is meant. */
export function checkOptions(options: object, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ArgumentError({
      code: 'BAD_OPTIONS',
      message: `${where}: the options are ${shown(options)}, not an object`,
      fix: known.length > 0 ? `Give an object with any of ${known.join(', ')}.` : 'Leave them out.',
      where,
    });
  }
  for (const name in options) {
    if (known.includes(name)) continue;
    throw new ArgumentError({
      code: 'UNKNOWN_OPTION',
      message: `${where}: there is no option '${name}'`,
      fix: `Use any of ${known.join(', ')}.`,
      where,
    });
  }
}

/** A whole number that is exact in JavaScript. */
export function checkWhole(value: unknown, name: string, where: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new ArgumentError({
    code: 'NOT_AN_INTEGER',
    message: `${where}: ${name} is ${shown(value)}`,
    fix: 'Use a whole number.',
    where,
  });
}

/** A number that is neither infinite nor NaN. */
export function checkFinite(value: unknown, name: string, where: string): number {
  if (Number.isFinite(value)) return value as number;
  throw new ArgumentError({
    code: 'NOT_FINITE',
    message: `${where}: ${name} is ${shown(value)}`,
    fix: 'Use a finite number.',
    where,
  });
}

/** Refuses what is no signal, such as the controller itself. */
export function checkSignal(signal: unknown, where: string): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new ArgumentError({
    code: 'BAD_SIGNAL',
    message: `${where}: signal is ${shown(signal)}, not an AbortSignal`,
    fix: 'Give controller.signal, or AbortSignal.timeout(ms).',
    where,
  });
}
