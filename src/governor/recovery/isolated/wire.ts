// Kernels, routines, capabilities and errors as text, for another process.
//
// Expressions become a list in which operands come before their users, so what was shared stays shared. They are rebuilt as
// they were, without simplifying again: the device in the other process renders exactly the kernel it would have got here.

import { type DType, dtypes } from '../../../base/dtype.ts';
import type { Capabilities } from '../../../devices/device.ts';
import * as errors from '../../../errors.ts';
import type { Expr, ScalarType } from '../../../kernel/expr.ts';
import type { Epilogue, Kernel, Routine, RoutineOp } from '../../../kernel/kernel.ts';
import type { AluOp, ReduceOp } from '../../../kernel/ops.ts';
import { operands } from '../../../kernel/walk.ts';
import { DeadlineExceeded, TransientError } from '../errors.ts';

type Plain = string | number | boolean | null;
/** An expression: its kind, its own fields, then the positions of its operands. */
type Row = readonly Plain[];

/** JSON has no NaN, infinities, -0 or big integers. */
const packNumber = (v: number | bigint): Plain => {
  if (typeof v === 'bigint') return `${v}n`;
  return Number.isFinite(v) && !Object.is(v, -0) ? v : Object.is(v, -0) ? '-0' : String(v);
};

const unpackNumber = (v: Plain): number | bigint => {
  if (typeof v === 'number') return v;
  const text = String(v);
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
};

class Packer {
  readonly rows: Row[] = [];
  readonly #known = new Map<Expr, number>();

  add(e: Expr): number {
    const known = this.#known.get(e);
    if (known !== undefined) return known;
    const src = operands(e).map((s) => this.add(s));
    const row = [...headOf(e), ...src];
    this.#known.set(e, this.rows.length);
    return this.rows.push(row) - 1;
  }
}

function headOf(e: Expr): Plain[] {
  switch (e.kind) {
    case 'const':
      return ['const', e.type, packNumber(e.value)];
    case 'scalar':
      return ['scalar', e.type, e.slot];
    case 'axis':
      return ['axis', e.axis, e.size];
    case 'load':
      return ['load', e.type, e.slot];
    case 'acc':
      return ['acc', e.type, e.slot];
    case 'alu':
      return ['alu', e.type, e.op];
    case 'cast':
      return ['cast', e.type, e.bits];
    default:
      return e satisfies never;
  }
}

function unpack(rows: readonly Row[]): Expr[] {
  const made: Expr[] = [];
  rows.forEach(([kind, a, b, ...positions], id) => {
    const src = positions.map((p) => made[p as number]!);
    made.push(rebuild(kind as Expr['kind'], a as Plain, b as Plain, src, id));
  });
  return made;
}

function rebuild(kind: Expr['kind'], a: Plain, b: Plain, src: readonly Expr[], id: number): Expr {
  const type = a as ScalarType;
  switch (kind) {
    case 'const':
      return { kind, id, type, value: unpackNumber(b) };
    case 'scalar':
      return { kind, id, type: type as DType, slot: b as number };
    case 'axis':
      return { kind, id, type: 'index', axis: a as number, size: b as number };
    case 'load':
      return { kind, id, type: type as DType, slot: b as number, index: src[0]!, gate: src[1] ?? null };
    case 'acc':
      return { kind, id, type: type as DType, slot: b as number };
    case 'alu':
      return { kind, id, type, op: b as AluOp, src };
    case 'cast':
      return { kind, id, type, bits: b as boolean, src: [src[0]!] };
    default:
      return kind satisfies never;
  }
}

interface Packed {
  readonly rows: readonly Row[];
  /** The work with positions of expressions in place of expressions. */
  readonly work: unknown;
}

type Indexed<T> = { readonly [K in keyof T]: K extends 'value' ? number : T[K] };
type PackedEpilogue = Omit<Epilogue, 'output'> & { readonly output: Indexed<Epilogue['output']> };

export function packWork(work: Kernel | Routine): string {
  const packer = new Packer();
  const place = <T extends { readonly value: Expr }>(o: T) => ({ ...o, value: packer.add(o.value) });
  const kernel = (k: Kernel) => ({ ...k, accumulators: k.accumulators.map(place), outputs: k.outputs.map(place) });
  let packed: unknown = work;
  if (work.kind === 'kernel') packed = kernel(work);
  else if (work.op === 'rows')
    packed = { ...work, stages: work.stages.map((s) => ({ ...s, kernel: kernel(s.kernel) })) };
  else if (work.op === 'matmul' && work.epilogue)
    packed = { ...work, epilogue: { ...work.epilogue, output: place(work.epilogue.output) } };
  else if (work.op === 'attention') packed = { ...work, scores: { ...work.scores, output: place(work.scores.output) } };
  return JSON.stringify({ rows: packer.rows, work: packed } satisfies Packed);
}

export function unpackWork(text: string): Kernel | Routine {
  const { rows, work } = JSON.parse(text) as Packed;
  const made = unpack(rows);
  const restore = <T extends { readonly value: number }>(o: T) => ({ ...o, value: made[o.value]! });
  const plain = work as Kernel | Routine;
  const kernel = (of: unknown): Kernel => {
    const k = of as Kernel & {
      readonly accumulators: readonly { op: ReduceOp; type: DType; value: number }[];
      readonly outputs: readonly { type: DType; value: number }[];
    };
    return { ...k, accumulators: k.accumulators.map(restore), outputs: k.outputs.map(restore) } as Kernel;
  };
  if (plain.kind === 'kernel') return kernel(work);
  if (plain.op === 'rows') return { ...plain, stages: plain.stages.map((s) => ({ ...s, kernel: kernel(s.kernel) })) };
  const behind = (of: Epilogue): Epilogue => {
    const packed = of as unknown as PackedEpilogue;
    return { ...packed, output: restore(packed.output) };
  };
  if (plain.op === 'attention') return { ...plain, scores: behind(plain.scores) };
  return plain.op === 'matmul' && plain.epilogue ? { ...plain, epilogue: behind(plain.epilogue) } : plain;
}

/** The buffers a launch only reads come first; this many. */
export function inputsOf(work: Kernel | Routine): number {
  if (work.kind === 'kernel') return work.inputs.length;
  switch (work.op) {
    case 'matmul':
      return 2 + (work.epilogue?.inputs.length ?? 0);
    case 'attention':
      return 3 + work.scores.inputs.length;
    case 'products':
      return 2 * work.count;
    case 'sort':
    case 'topk':
    case 'scan':
      return 1;
    case 'scatter':
      return 3;
    case 'compact':
      return work.what === 'values' ? 2 : 1;
    case 'fourier':
      return work.form === 'real' ? 1 : 2;
    case 'rows':
    case 'raw':
      return work.inputs.length;
    default:
      return work satisfies never;
  }
}

/** How many buffers a launch takes, inputs and outputs. */
export function buffersOf(work: Kernel | Routine): number {
  return inputsOf(work) + outputsOf(work);
}

function outputsOf(work: Kernel | Routine): number {
  if (work.kind === 'kernel' || work.op === 'raw' || work.op === 'rows') return work.outputs.length;
  if (work.op === 'products') return work.count;
  if (work.op === 'sort') return work.valuesOnly ? 1 : 2;
  return work.op === 'topk' ? 2 : 1;
}

export function scalarsOf(work: Kernel | Routine): number {
  if (work.kind === 'kernel' || work.op === 'raw' || work.op === 'rows') return work.scalars.length;
  if (work.op === 'attention') return work.scores.scalars.length;
  return work.op === 'matmul' ? (work.epilogue?.scalars.length ?? 0) : 0;
}

type Details = Capabilities['details'];

interface PackedCaps {
  readonly dtypes: readonly DType[];
  readonly native: readonly (readonly [DType, readonly AluOp[]])[];
  readonly routines: readonly RoutineOp[];
  readonly rest: Omit<Capabilities, 'dtypes' | 'native' | 'routines' | 'details'>;
  readonly details: Details;
  /** Details that take time to find out: asked for when somebody looks. */
  readonly late: readonly string[];
}

export function packCaps(caps: Capabilities): PackedCaps {
  const { dtypes: types, native, routines, details, ...rest } = caps;
  const properties = Object.entries(Object.getOwnPropertyDescriptors(details));
  return {
    dtypes: [...types],
    native: dtypes.flatMap((t) => (native[t] ? [[t, [...native[t]]] as const] : [])),
    routines: [...routines],
    rest,
    details: Object.fromEntries(properties.flatMap(([k, p]) => (p.get ? [] : [[k, p.value]]))) as Details,
    late: properties.flatMap(([k, p]) => (p.get ? [k] : [])),
  };
}

/** `ask` answers for the details that take time. */
export function unpackCaps(packed: PackedCaps, ask: (name: string) => string | number | boolean): Capabilities {
  const details = { ...packed.details };
  for (const name of packed.late) Object.defineProperty(details, name, { enumerable: true, get: () => ask(name) });
  return {
    ...packed.rest,
    dtypes: new Set(packed.dtypes),
    native: Object.fromEntries(packed.native.map(([t, ops]) => [t, new Set(ops)])),
    routines: new Set(packed.routines),
    details,
  };
}

/** Classes that keep their meaning on the other side; any other error arrives as a plain ForgeError. */
const classes = {
  ShapeError: errors.ShapeError,
  DTypeError: errors.DTypeError,
  ArgumentError: errors.ArgumentError,
  DisposedError: errors.DisposedError,
  IndexError: errors.IndexError,
  OutOfMemory: errors.OutOfMemory,
  DeviceLost: errors.DeviceLost,
  DeviceUnavailable: errors.DeviceUnavailable,
  KernelError: errors.KernelError,
  TransientError,
  DeadlineExceeded,
} as const;

export interface PackedError {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  readonly where: string;
  readonly requested?: number;
  readonly available?: number;
  readonly source?: string;
  readonly limitMs?: number;
}

export function packError(error: unknown): PackedError {
  if (!(error instanceof errors.ForgeError)) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { name: 'ForgeError', code: 'DEVICE_PROCESS_ERROR', message, fix: 'Please report this.', where: 'isolated' };
  }
  const { code, fix, where, message } = error;
  return {
    name: error.name,
    code,
    // The constructor adds the fix again.
    message: message.split('\n  fix: ')[0]!,
    fix,
    where,
    ...(error instanceof errors.OutOfMemory ? { requested: error.requested, available: error.available } : {}),
    ...(error instanceof errors.KernelError ? { source: error.source } : {}),
    ...(error instanceof DeadlineExceeded ? { limitMs: error.limitMs } : {}),
  };
}

export function unpackError(packed: PackedError): errors.ForgeError {
  const { requested = 0, available = 0, source = '', limitMs = 0 } = packed;
  const Class = classes[packed.name as keyof typeof classes] as new (info: object) => errors.ForgeError;
  const Made = Class ?? errors.ForgeError;
  return new Made({ ...packed, requested, available, source, limitMs });
}
