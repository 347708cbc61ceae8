// Errors of a field: one class per reaction, each with a code and a sentence that says what to do.

import { ArgumentError, type ErrorInfo, ForgeError } from '../index.ts';

export interface Refusal {
  /** The method that refused. */
  readonly where: string;
  /** What happened; the method's name is put before it. */
  readonly problem: string;
  readonly fix: string;
  readonly cause?: unknown;
}

const told = ({ where, problem, fix, cause }: Refusal): ErrorInfo => ({
  where,
  fix,
  cause,
  message: `${where}: ${problem}`,
});

/** An option or setting outside its range. */
export class FieldConfigError extends ArgumentError {
  override name = 'FieldConfigError';
  static override readonly code: string = 'FIELD_CONFIG';

  constructor(refusal: Refusal) {
    super(told(refusal));
  }
}

/** Sensor values that cannot be used. The field is as it was before the call. */
export class FieldInputError extends ArgumentError {
  override name = 'FieldInputError';
  static override readonly code: string = 'FIELD_INPUT';
  /** Where the first bad value is; -1 if it is not about one value. */
  readonly index: number;

  constructor(refusal: Refusal & { readonly index?: number }) {
    super(told(refusal));
    this.index = refusal.index ?? -1;
  }
}

/** A cycle gave a value that is no number. The field is as it was before that cycle. */
export class FieldStateError extends ForgeError {
  override name = 'FieldStateError';
  static override readonly code: string = 'FIELD_NOT_FINITE';
  readonly cycle: number;
  /** The first cell with such a value, and its channel. */
  readonly cell: readonly number[];

  constructor(refusal: Refusal & { readonly cycle: number; readonly cell: readonly number[] }) {
    super(told(refusal));
    this.cycle = refusal.cycle;
    this.cell = refusal.cell;
  }
}

/** A file that is broken or belongs to another field. Nothing was changed. */
export class FieldFileError extends ForgeError {
  override name = 'FieldFileError';
  static override readonly code: string = 'FIELD_FILE';

  constructor(refusal: Refusal) {
    super(told(refusal));
  }
}

/** Two calls at once: a field does one cycle after the other. */
export class FieldBusyError extends ForgeError {
  override name = 'FieldBusyError';
  static override readonly code: string = 'FIELD_BUSY';

  constructor(refusal: Refusal) {
    super(told(refusal));
  }
}
