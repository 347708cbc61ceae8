// Errors of a call that was refused: what they are made from where messages begin with the method's name.

import { ArgumentError, type ErrorInfo, ForgeError } from '../errors.ts';

export interface RefusedCall {
  /** The method that refused. */
  readonly where: string;
  /** What happened; the method's name is put before it. */
  readonly problem: string;
  readonly fix: string;
  readonly cause?: unknown;
}

const told = ({ where, problem, fix, cause }: RefusedCall): ErrorInfo => ({
  where,
  fix,
  cause,
  message: `${where}: ${problem}`,
});

export const invalidArgument = (call: RefusedCall): ArgumentError => new ArgumentError(told(call));

/** A call that was right and could not be done. */
export abstract class RefusedCallError extends ForgeError {
  constructor(call: RefusedCall) {
    super(told(call));
  }
}

/** A call with an argument that cannot be used. */
export abstract class RefusedArgumentError extends ArgumentError {
  constructor(call: RefusedCall) {
    super(told(call));
  }
}
