// Errors of a field: one class per reaction, each with a code and a sentence that says what to do.

import { RefusedArgumentError, type RefusedCall, RefusedCallError } from '../base/refused-call.ts';

/** An option or setting outside its range. */
export class FieldConfigError extends RefusedArgumentError {
  override name = 'FieldConfigError';
  static override readonly code: string = 'FIELD_CONFIG';
}

/** Sensor values that cannot be used. The field is as it was before the call. */
export class FieldInputError extends RefusedArgumentError {
  override name = 'FieldInputError';
  static override readonly code: string = 'FIELD_INPUT';
  /** Where the first bad value is; -1 if it is not about one value. */
  readonly index: number;

  constructor(call: RefusedCall & { readonly index?: number }) {
    super(call);
    this.index = call.index ?? -1;
  }
}

/** A cycle gave a value that is no number. The field is as it was before that cycle. */
export class FieldStateError extends RefusedCallError {
  override name = 'FieldStateError';
  static override readonly code: string = 'FIELD_NOT_FINITE';
  readonly cycle: number;
  /** The first cell with such a value, and its channel. */
  readonly cell: readonly number[];

  constructor(call: RefusedCall & { readonly cycle: number; readonly cell: readonly number[] }) {
    super(call);
    this.cycle = call.cycle;
    this.cell = call.cell;
  }
}

/** A file that is broken or belongs to another field. Nothing was changed. */
export class FieldFileError extends RefusedCallError {
  override name = 'FieldFileError';
  static override readonly code: string = 'FIELD_FILE';
}

/** Two calls at once: a field does one cycle after the other. */
export class FieldBusyError extends RefusedCallError {
  override name = 'FieldBusyError';
  static override readonly code: string = 'FIELD_BUSY';
}
