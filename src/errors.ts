// Errors: one base class, one subclass per reaction.
//
// Every error of the library is a ForgeError. `message` says what happened and names the op, shapes, dtypes and device;
// `fix` is a sentence the reader can act on; `where` is the op or part that refused. Different reactions get different
// classes: out of memory can be retried after freeing, a shape error never.

export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  readonly where: string;
  readonly cause?: unknown;
}

export class ForgeError extends Error {
  /** Written out in each class: bundlers shorten the names of classes. */
  override name = 'ForgeError';
  readonly code: string;
  readonly fix: string;
  readonly where: string;

  constructor(info: ErrorInfo) {
    super(
      info.fix ? `${info.message}\n  fix: ${info.fix}` : info.message,
      info.cause === undefined ? {} : { cause: info.cause },
    );
    this.code = info.code;
    this.fix = info.fix;
    this.where = info.where;
  }
}

/** Shapes, axes, sizes or indices that do not fit the op. */
export class ShapeError extends ForgeError {
  override name = 'ShapeError';
}

/** A dtype the op, the device or the data does not allow. */
export class DTypeError extends ForgeError {
  override name = 'DTypeError';
}

/** Any other argument that cannot be used: option values, ragged arrays, NaN where an index is needed. */
export class ArgumentError extends ForgeError {
  override name = 'ArgumentError';
}

/** A tensor, runtime or device used after it was disposed or closed. */
export class DisposedError extends ForgeError {
  override name = 'DisposedError';
}

/** An index read at run time lies outside the axis it selects from. */
export class IndexError extends ForgeError {
  override name = 'IndexError';
}

/** The device has no room now; freeing something and trying again can help. Nothing was changed. */
export class OutOfMemory extends ForgeError {
  override name = 'OutOfMemory';
  readonly requested: number;
  readonly available: number;

  constructor(info: ErrorInfo & { readonly requested: number; readonly available: number }) {
    super(info);
    this.requested = info.requested;
    this.available = info.available;
  }
}

/** The device, or a part of it, is gone; what was in flight is lost. */
export class DeviceLost extends ForgeError {
  override name = 'DeviceLost';
}

/** No device can do what was asked (missing, refused, or it lacks a feature or dtype). */
export class DeviceUnavailable extends ForgeError {
  override name = 'DeviceUnavailable';
}

/** Generated code was rejected or failed on the device; `source` is what was generated. */
export class KernelError extends ForgeError {
  override name = 'KernelError';
  readonly source: string;

  constructor(info: ErrorInfo & { readonly source: string }) {
    super(info);
    this.source = info.source;
  }
}

/** A file that is truncated, malformed, or does not hold what it claims. */
export class FormatError extends ForgeError {
  override name = 'FormatError';
}
