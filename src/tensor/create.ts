// Making tensors from host data and from rules.

import { checkFinite, checkWhole, isDetached, shown } from '../base/arguments.ts';
import { accumulatorFor, byteSize, type DType, dtypeInfo, intRange, isFloat, isInt } from '../base/dtype.ts';
import { numberToBf16, numberToF16 } from '../base/half.ts';
import { checkShape, normalizeAxis, type Shape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { castValue, roundTo } from '../kernel/semantics.ts';
import { alu, cast, constant, constantFrom, expand, nestedShape, positionType, type ScalarInput } from './build.ts';
import { diagonalMask, triangleMask } from './views.ts';

/** Numbers, bigints or booleans, nested to any depth; typed arrays may be the innermost rows. */
export type NestedInput = ScalarInput | ArrayBufferView | readonly NestedInput[];

/** What `rt.tensor` takes. */
export type TensorInput = NestedInput;

interface Flat {
  readonly values: ArrayLike<number | bigint | boolean>;
  readonly shape: Shape;
  readonly dtype: DType;
  /** Numbers that somebody wrote: an integer dtype must hold them. Those of typed arrays are converted as `cast` does. */
  readonly written: boolean;
}

/** Typed arrays and the dtype their elements have; narrower integers are widened, which is exact. */
const arrayTypes = {
  Float32Array: 'f32',
  Float64Array: 'f64',
  Float16Array: 'f16',
  Int32Array: 'i32',
  Uint32Array: 'u32',
  BigInt64Array: 'i64',
  BigUint64Array: 'u64',
  Uint8Array: 'u8',
  Uint8ClampedArray: 'u8',
  Int8Array: 'i32',
  Int16Array: 'i32',
  Uint16Array: 'i32',
} as const satisfies Readonly<Record<string, DType>>;

type ArrayTypes = typeof arrayTypes;

/** The dtype that `rt.tensor` gives to data for which none is named; known to the compiler for arrays nested up to six deep. */
export type DTypeOf<T, Level extends readonly 0[] = []> = [T] extends [never]
  ? 'f32'
  : T extends boolean
    ? 'bool'
    : T extends bigint
      ? 'i64'
      : T extends number
        ? 'f32'
        : T extends readonly (infer U)[]
          ? Level['length'] extends 6
            ? DType
            : DTypeOf<U, readonly [...Level, 0]>
          : T extends { readonly [Symbol.toStringTag]: infer N extends keyof ArrayTypes }
            ? ArrayTypes[N]
            : DType;

/** The elements of some input in storage form. */
export function encode(
  input: TensorInput,
  shape: Shape | undefined,
  dtype: DType | undefined,
): { bytes: Uint8Array; dtype: DType; shape: Shape } {
  const flat = ArrayBuffer.isView(input) ? fromTypedArray(input) : fromNested(input);
  const target = shape ?? flat.shape;
  checkShape(target, 'tensor');
  if (sizeOf(target) !== flat.values.length) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `tensor: ${flat.values.length} values do not fit the shape ${show(target)} (${sizeOf(target)} elements)`,
      fix: 'Give as many values as the shape has elements.',
      where: 'tensor',
    });
  }
  const type = dtype ?? flat.dtype;
  const raw =
    ArrayBuffer.isView(input) && flat.dtype === type && input.constructor === dtypeInfo[type].storage ? input : null;
  const bytes = raw ? new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength) : convert(flat, type);
  return { bytes, dtype: type, shape: target };
}

function fromTypedArray(view: ArrayBufferView): Flat {
  const name = view.constructor.name === 'Buffer' ? 'Uint8Array' : view.constructor.name;
  const dtype = Object.hasOwn(arrayTypes, name) ? arrayTypes[name as keyof ArrayTypes] : undefined;
  if (!dtype) {
    throw new DTypeError({
      code: 'UNSUPPORTED_ARRAY',
      message: `tensor: a ${name} has no dtype`,
      fix: `Use one of ${Object.keys(arrayTypes).join(', ')}.`,
      where: 'tensor',
    });
  }
  if (isDetached(view)) {
    throw new ArgumentError({
      code: 'DETACHED_ARRAY',
      message: `tensor: a row is ${shown(view)}`,
      fix: 'Use it before it is transferred, or transfer a copy: array.slice().',
      where: 'tensor',
    });
  }
  const values = view as unknown as ArrayLike<number | bigint>;
  return { values, shape: [values.length], dtype, written: false };
}

function fromNested(input: NestedInput): Flat {
  const shape = nestedShape(input, 'tensor');
  let first: unknown = input;
  for (let i = 0; i < shape.length && Array.isArray(first); i++) first = first[0];
  if (ArrayBuffer.isView(first)) return fromRows(input, shape, fromTypedArray(first).dtype);
  const values: ScalarInput[] = [];
  const walk = (v: NestedInput | undefined, depth: number): void => {
    if (Array.isArray(v)) {
      if (depth >= shape.length || v.length !== shape[depth]) throw ragged(shape, depth, v.length);
      for (const x of v) walk(x, depth + 1);
      return;
    }
    if (depth !== shape.length) throw ragged(shape, depth, 0);
    if (typeof v !== 'number' && typeof v !== 'bigint' && typeof v !== 'boolean') {
      throw new ArgumentError({
        code: 'NOT_A_NUMBER',
        message: `tensor: element ${values.length} is ${v === null ? 'null' : typeof v}`,
        fix: 'Elements must be numbers, bigints or booleans.',
        where: 'tensor',
      });
    }
    values.push(v);
  };
  walk(input, 0);
  const kind = typeof values[0];
  const other = values.findIndex((v) => typeof v !== kind);
  if (other > 0) throw mixed(other, typeof values[other], kind);
  return { values, shape, dtype: kind === 'boolean' ? 'bool' : kind === 'bigint' ? 'i64' : 'f32', written: true };
}

/** Rows that are typed arrays, of one kind and length, nested in arrays. */
function fromRows(input: NestedInput, outer: Shape, dtype: DType): Flat {
  const rows: ArrayLike<number | bigint>[] = [];
  const walk = (v: NestedInput | undefined, depth: number): void => {
    if (depth < outer.length) {
      if (!Array.isArray(v) || v.length !== outer[depth]) throw ragged(outer, depth, Array.isArray(v) ? v.length : 0);
      for (const x of v) walk(x, depth + 1);
      return;
    }
    const row = ArrayBuffer.isView(v) ? fromTypedArray(v) : null;
    const [length = row?.values.length ?? 0] = rows.map((r) => r.length);
    if (!row || row.values.length !== length) throw ragged([...outer, length], depth, row?.values.length ?? 0);
    if (row.dtype !== dtype) throw mixed(rows.length, `row of ${row.dtype}`, dtype);
    rows.push(row.values as ArrayLike<number | bigint>);
  };
  walk(input, 0);
  const length = rows[0]!.length;
  // Halves have no array of their own everywhere; f32 holds them as they are.
  const type = dtype === 'f16' ? 'f32' : dtype;
  const values = new dtypeInfo[type].storage(new ArrayBuffer(rows.length * length * byteSize(type)));
  for (const [i, row] of rows.entries()) (values as Float32Array).set(row as ArrayLike<number>, i * length);
  return { values, shape: [...outer, length], dtype, written: false };
}

function mixed(i: number, kind: string, before: string): ArgumentError {
  return new ArgumentError({
    code: 'MIXED_KINDS',
    message: `tensor: element ${i} is a ${kind}, the ones before are ${before}s`,
    fix: 'Use one kind of value for all elements.',
    where: 'tensor',
  });
}

function ragged(shape: Shape, depth: number, found: number): ArgumentError {
  return new ArgumentError({
    code: 'RAGGED_ARRAY',
    message: `tensor: the nested array is ragged: depth ${depth} has rows of length ${shape[depth] ?? 0} and ${found}`,
    fix: 'Every row must have the same length; pad the shorter ones.',
    where: 'tensor',
  });
}

function convert(flat: Flat, type: DType): Uint8Array {
  const { values } = flat;
  const out = new dtypeInfo[type].storage(new ArrayBuffer(values.length * byteSize(type)));
  const half = type === 'f16' ? numberToF16 : type === 'bf16' ? numberToBf16 : null;
  if (half) {
    for (let i = 0; i < values.length; i++) out[i] = half(Number(values[i]));
  } else if (type === 'f32' || type === 'f64') {
    for (let i = 0; i < values.length; i++) out[i] = Number(values[i]);
  } else {
    const holds = flat.written && isInt(type) ? holder(type as keyof typeof intRange) : null;
    for (let i = 0; i < values.length; i++) {
      const v = values[i]!;
      const from = typeof v === 'bigint' ? 'i64' : isFloat(flat.dtype) ? 'f64' : flat.dtype;
      if (from === 'f64' && type !== 'bool' && !Number.isFinite(v)) throw notWhole(i, v, type);
      if (holds && !holds(v)) throw tooLarge(i, v, type as keyof typeof intRange);
      out[i] = castValue(typeof v === 'boolean' ? Number(v) : v, from, type);
    }
  }
  return new Uint8Array(out.buffer);
}

function notWhole(i: number, v: unknown, type: DType): ArgumentError {
  return new ArgumentError({
    code: 'NOT_AN_INTEGER',
    message: `tensor: element ${i} is ${v}, which no ${type} can hold`,
    fix: "Replace it, or use a float dtype such as 'f32'.",
    where: 'tensor',
  });
}

/** Whether an integer dtype holds a value, without its fraction. */
function holder(type: keyof typeof intRange): (value: ScalarInput) => boolean {
  const [lo, hi] = intRange[type];
  // Powers of two, which are exact as numbers too.
  const [least, beyond] = [Number(lo), Number(hi + 1n)];
  return (v) => {
    if (typeof v === 'bigint') return v >= lo && v <= hi;
    const whole = Math.trunc(Number(v));
    return whole >= least && whole < beyond;
  };
}

function tooLarge(i: number, v: ScalarInput, type: keyof typeof intRange): DTypeError {
  const [lo, hi] = intRange[type];
  return new DTypeError({
    code: 'VALUE_OUT_OF_RANGE',
    message: `tensor: element ${i} is ${v}, which ${type} cannot hold (${lo} … ${hi})`,
    fix: `Use a wider dtype, or limit the values first: rt.tensor(data).clip(${lo}, ${hi}).cast('${type}').`,
    where: 'tensor',
  });
}

export function full(shape: Shape, value: ScalarInput, dtype: DType, where: string): Node {
  checkShape(shape, where);
  return expand(constantFrom(dtype, value, where), shape);
}

/** The position along an axis, at every position of a shape. */
export function iota(shape: Shape, axis: number, dtype: DType): Node {
  checkShape(shape, 'iota');
  return makeNode('iota', dtype, shape, [], args.axis(normalizeAxis(axis, shape.length, 'iota')));
}

/** start, start + step, … below stop. Without a dtype: i32 if it holds all of them, i64 if they are whole numbers, else f32. */
export function arange(start: number, stop: number, step: number, dtype: DType | undefined): Node {
  for (const [name, v] of Object.entries({ start, stop, step })) checkFinite(v, name, 'arange');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  const last = start + Math.max(0, count - 1) * step;
  const whole = Number.isInteger(start) && Number.isInteger(step);
  if (!Number.isSafeInteger(count) || step === 0 || (whole && !dtype && !(isExact(start) && isExact(last)))) {
    throw new ArgumentError({
      code: 'BAD_RANGE',
      message: `arange: from ${start} to ${stop} by ${step}`,
      fix: 'Use a step that is not zero, and whole numbers below 2⁵³.',
      where: 'arange',
    });
  }
  const type = dtype ?? (whole ? (isI32(start) && isI32(last) ? 'i32' : 'i64') : 'f32');
  const wide = type !== 'bool' ? accumulatorFor(type) : whole ? positionType(count) : 'f32';
  const [first, apart] = isInt(wide) && count > 0 ? wholeSteps(start, step, count, wide) : [start, step];
  const i = makeNode('iota', wide, [count], [], args.axis(0));
  return cast(alu('add', alu('mul', i, constant(wide, apart)), constant(wide, first)), type);
}

/** As NumPy has it: integers begin with the whole parts of the first two values, which have to fit, and go on at their distance. */
function wholeSteps(start: number, step: number, count: number, dtype: DType): readonly [number, number] {
  const [first, second] = [start, count > 1 ? start + step : start].map((v) => Math.trunc(v)) as [number, number];
  for (const v of [first, second]) constantFrom(dtype, v, 'arange');
  return [first, second - first];
}

const isExact = Number.isSafeInteger;
const isI32 = (v: number): boolean => v === (v | 0);

/** `count` values from start to stop, both included. */
export function linspace(start: number, stop: number, count: number, dtype: DType): Node {
  checkShape([count], 'linspace');
  checkFinite(start, 'start', 'linspace');
  checkFinite(stop, 'stop', 'linspace');
  if (!isFloat(dtype)) {
    throw new DTypeError({
      code: 'UNSUPPORTED_DTYPE',
      message: `linspace: ${dtype} cannot hold evenly spaced values`,
      fix: "Use a float dtype such as 'f32', and cast afterwards.",
      where: 'linspace',
    });
  }
  const wide = dtype === 'f64' ? 'f64' : 'f32';
  const i = makeNode('iota', wide, [count], [], args.axis(0));
  // A range that the dtype cannot hold is gone through at half its size.
  const far = !Number.isFinite(roundTo[wide](stop - start));
  const [from, to] = far ? [start / 2, stop / 2] : [start, stop];
  const step = count > 1 ? (to - from) / (count - 1) : 0;
  const line = alu('add', alu('mul', i, constant(wide, step)), constant(wide, from));
  const value = far ? alu('mul', line, constant(wide, 2)) : line;
  // The last value is the end itself, whatever rounding did on the way.
  const last = alu('eq', i, constant(wide, count - 1));
  return cast(count > 1 ? alu('where', last, expand(constant(wide, stop), [count]), value) : value, dtype);
}

/** Ones on diagonal k. */
export function eye(rows: number, columns: number, k: number, dtype: DType): Node {
  return cast(diagonalMask(matrixShape(rows, columns, k, 'eye'), k), dtype);
}

/** Ones on and below diagonal k. */
export function tri(rows: number, columns: number, k: number, dtype: DType): Node {
  return cast(triangleMask(matrixShape(rows, columns, k, 'tri'), k, true), dtype);
}

function matrixShape(rows: number, columns: number, k: number, where: string): Shape {
  checkShape([rows, columns], where);
  checkWhole(k, 'k', where);
  return [rows, columns];
}
