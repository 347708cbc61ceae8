// Checks of numbers and abort signals that any public call may take. Each fails with a typed error that names the call. What kinds of
// arguments a call takes is in signatures.ts.

import { ArgumentError } from '../errors.ts';

/** An argument as an error names it, whatever it is. */
export function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `'${value}'`;
  if (Array.isArray(value))
    return depth > 2 || value.length > 16 ? 'an array' : `[${value.map((v) => shown(v, depth + 1)).join(', ')}]`;
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return String(value);
  const name = value.constructor?.name || 'value';
  const article = /^[AEIO]/.test(name) ? 'an' : 'a';
  return `${article} ${name}${isDetached(value) ? ' whose memory was transferred' : ''}`;
}

/** Whether a typed array has lost its memory: to a worker that it was sent to, for example. It has no elements any more. */
export function isDetached(value: unknown): boolean {
  if (!ArrayBuffer.isView(value) || value.byteLength > 0) return false;
  try {
    new Uint8Array(value.buffer, 0, 0);
    return false;
  } catch {
    return true;
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

/** Refuses `new` where a function makes it. The default of a parameter that a user does not know of. */
export function notMade(name: string, how: string): never {
  const message = `${name}: it is not made with new`;
  throw new ArgumentError({ code: 'NOT_MADE_WITH_NEW', message, fix: `Write ${how}.`, where: name });
}
