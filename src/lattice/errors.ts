// Errors of the lattice and of graphs: one class per reaction, each with a code and a sentence that says what to do.

import { shown } from '../base/arguments.ts';
import { invalidArgument, RefusedArgumentError, type RefusedCall, RefusedCallError } from '../base/refused-call.ts';

/** Any other argument that cannot be used. */
export { ArgumentError as InvalidArgumentError } from '../index.ts';
export { invalidArgument };

/** An option of the constructor outside its range. */
export class LatticeConfigError extends RefusedArgumentError {
  override name = 'LatticeConfigError';
  static override readonly code: string = 'LATTICE_CONFIG';
}

/** More vertices, bytes or work than can be had; nothing was allocated. */
export class LatticeTooLargeError extends RefusedCallError {
  override name = 'LatticeTooLargeError';
  static override readonly code: string = 'LATTICE_TOO_LARGE';
}

/** A vertex that is no whole number, is negative, or lies beyond the last one. */
export class VertexRangeError extends RefusedArgumentError {
  override name = 'VertexRangeError';
  static override readonly code: string = 'VERTEX_RANGE';
}

/** A vertex that the mask blocks. */
export class VertexBlockedError extends RefusedArgumentError {
  override name = 'VertexBlockedError';
  static override readonly code: string = 'VERTEX_BLOCKED';
}

/** There is no path between two vertices. On a lattice only a mask can cause this. */
export class PathNotFoundError extends RefusedCallError {
  override name = 'PathNotFoundError';
  static override readonly code: string = '2005';
}

/** Coordinates of the wrong number or out of range. */
export class CoordinateError extends RefusedArgumentError {
  override name = 'CoordinateError';
  static override readonly code: string = 'COORDINATE';
}

/** A key that does not fit the data. */
export class KeyLengthError extends RefusedArgumentError {
  override name = 'KeyLengthError';
  static override readonly code: string = 'KEY_LENGTH';
}

/** A number that does not fit a byte. */
export class ValueRangeError extends RefusedArgumentError {
  override name = 'ValueRangeError';
  static override readonly code: string = 'VALUE_RANGE';
}

/** A step of a register program that could not be undone. */
export class NotReversibleError extends RefusedArgumentError {
  override name = 'NotReversibleError';
  static override readonly code: string = 'NOT_REVERSIBLE';
  readonly step: number;

  constructor(call: RefusedCall & { readonly step: number }) {
    super(call);
    this.step = call.step;
  }
}

/** A name that must be one of a list. */
export function oneOf<T extends string>(where: string, what: string, name: unknown, legal: readonly T[]): T {
  if (typeof name === 'string' && (legal as readonly string[]).includes(name)) return name as T;
  throw invalidArgument({
    where,
    problem: `there is no ${what} ${shown(name)}`,
    fix: `Use one of ${legal.join(', ')}.`,
  });
}

/** A whole number from `least` upwards. */
export function wholeNumber(where: string, what: string, value: unknown, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw invalidArgument({
    where,
    problem: `${what} is ${String(value)}`,
    fix: `Use a whole number from ${least}.`,
  });
}
