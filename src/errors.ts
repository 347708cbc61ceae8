// Errors: one base class, one subclass per reaction.
//
// Every error of the library is a ForgeError. `message` says what happened and names the op, shapes, dtypes and device;
// `fix` is a sentence the reader can act on; `where` is the op or part that refused. Different reactions get different
// classes: out of memory can be retried after freeing, a shape error never. An argument error of any kind is an
// ArgumentError.

export interface ErrorInfo {
  /** Default: the code of the class. */
  readonly code?: string | undefined;
  readonly message: string;
  readonly fix: string;
  readonly where: string;
  readonly device?: string | null | undefined;
  readonly attempts?: number | undefined;
  readonly cause?: unknown;
}

export class ForgeError extends Error {
  static readonly code: string = 'FORGE_ERROR';
  /** Whether another attempt can help once something was done about it: waiting, more room, a new device. */
  static readonly retryable: boolean = false;
  /** Written out in each class: bundlers shorten the names of classes. */
  override name = 'ForgeError';
  readonly code: string;
  readonly fix: string;
  readonly where: string;
  readonly retryable: boolean;
  /** The call that failed, and the device it failed on: known to whoever made the call, who fills them in. */
  operation: string;
  device: string | null;
  /** How often it was tried. */
  attempts: number;

  constructor(info: ErrorInfo) {
    super(
      info.fix ? `${info.message}\n  fix: ${info.fix}` : info.message,
      info.cause === undefined ? {} : { cause: info.cause },
    );
    const { code, retryable } = new.target as unknown as { readonly code: string; readonly retryable: boolean };
    this.code = info.code ?? code;
    this.fix = info.fix;
    this.where = info.where;
    this.retryable = retryable;
    this.operation = info.where;
    this.device = info.device ?? null;
    this.attempts = info.attempts ?? 1;
  }

  /** The same as `fix`. */
  get hint(): string {
    return this.fix;
  }
}

/** An argument that cannot be used: option values, ragged arrays, NaN where an index is needed. */
export class ArgumentError extends ForgeError {
  static override readonly code: string = 'INVALID_ARGUMENT';
  override name = 'ArgumentError';
}

/** Shapes, axes, sizes or indices that do not fit the op. */
export class ShapeError extends ArgumentError {
  override name = 'ShapeError';
}

/** A dtype the op, the device or the data does not allow. */
export class DTypeError extends ArgumentError {
  override name = 'DTypeError';
}

/** A tensor, runtime or device used after it was disposed or closed. */
export class DisposedError extends ForgeError {
  static override readonly code: string = 'DISPOSED';
  override name = 'DisposedError';
}

/** An index read at run time lies outside the axis it selects from. */
export class IndexError extends ArgumentError {
  override name = 'IndexError';
}

/** The device has no room now; freeing something and trying again can help. Nothing was changed. */
export class OutOfMemory extends ForgeError {
  static override readonly code: string = 'OUT_OF_MEMORY';
  static override readonly retryable: boolean = true;
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
  static override readonly code: string = 'DEVICE_LOST';
  static override readonly retryable: boolean = true;
  override name = 'DeviceLost';
}

/** No device can do what was asked (missing, refused, or it lacks a feature or dtype). */
export class DeviceUnavailable extends ForgeError {
  static override readonly code: string = 'DEVICE_UNAVAILABLE';
  override name = 'DeviceUnavailable';
  /** Why each device that was looked at does not do. */
  readonly rejected: readonly { readonly device: string; readonly reason: string }[];

  constructor(info: ErrorInfo & { readonly rejected?: DeviceUnavailable['rejected'] | undefined }) {
    super(info);
    this.rejected = info.rejected ?? [];
  }
}

/** Generated code was rejected or failed on the device; `source` is what was generated. */
export class KernelError extends ForgeError {
  static override readonly code: string = 'KERNEL_FAILED';
  static override readonly retryable: boolean = true;
  override name = 'KernelError';
  readonly source: string;

  constructor(info: ErrorInfo & { readonly source?: string | undefined }) {
    super(info);
    this.source = info.source ?? '';
  }
}

/** A file that is truncated, malformed, or does not hold what it claims. */
export class FormatError extends ForgeError {
  override name = 'FormatError';
}
