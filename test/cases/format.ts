// The case files: one JSON object a line, tensors as `dtype[shape]:base64` with the exact bits of their elements.

import { type DType, dtypeInfo, type HostArrays } from '../../src/base/dtype.ts';
import { bf16ToNumber, f16ToNumber } from '../../src/base/half.ts';
import { sizeOf } from '../../src/base/shape.ts';

export type HostArray = HostArrays[DType];

/** A tensor as data, in the form `Tensor.data()` gives. */
export interface HostTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

/** An input, and the movement ops that lead from it to the op under test. */
export interface Input extends HostTensor {
  readonly via: readonly Step[];
}

export type Step = readonly [op: string, ...args: unknown[]];

export interface Case {
  /** File and line, to find it again. */
  readonly at: string;
  readonly op: string;
  readonly inputs: readonly Input[];
  readonly args: readonly unknown[];
  readonly outputs: readonly HostTensor[];
  /** The op gives an array of tensors even if there is one. */
  readonly many: boolean;
  /** Terms of the longest sum and the largest sum of their magnitudes; absent where the result is exact or bounded in ulp. */
  readonly acc: readonly [terms: number, magnitude: number] | undefined;
  /** The class of the error that must be thrown instead. */
  readonly throws: string | undefined;
}

interface Row {
  readonly op: string;
  readonly in: readonly (string | { readonly t: string; readonly via: readonly Step[] })[];
  readonly args?: readonly unknown[];
  readonly out?: string | readonly string[];
  readonly acc?: readonly [number, number];
  readonly throws?: string;
}

/** The cases of a file, from its text. */
export function parseCases(file: string, text: string): Case[] {
  const lines = text.trimEnd().split('\n');
  return lines.map((line, i) => parseCase(JSON.parse(line) as Row, `${file}:${i + 1}`));
}

function parseCase(row: Row, at: string): Case {
  const out = row.out === undefined ? [] : typeof row.out === 'string' ? [row.out] : row.out;
  return {
    at,
    op: row.op,
    inputs: row.in.map((i) =>
      typeof i === 'string' ? { ...parseTensor(i), via: [] } : { ...parseTensor(i.t), via: i.via.map(decodeStep) },
    ),
    args: (row.args ?? []).map(decode),
    outputs: out.map(parseTensor),
    many: Array.isArray(row.out),
    acc: row.acc,
    throws: row.throws,
  };
}

export function parseTensor(text: string): HostTensor {
  const [, dtype, sizes, payload] = /^(\w+)\[([\d,]*)\]:(.*)$/.exec(text) as unknown as [string, DType, string, string];
  const shape = sizes === '' ? [] : sizes.split(',').map(Number);
  const bytes = Uint8Array.from(atob(payload), (c) => c.charCodeAt(0));
  const info = dtypeInfo[dtype];
  if (bytes.length !== sizeOf(shape) * info.bytes)
    throw new Error(`case data: ${text.slice(0, 60)} has ${bytes.length} bytes`);
  const raw = new info.storage(bytes.buffer);
  if (dtype === 'f16') return { dtype, shape, data: Float32Array.from(raw as Uint16Array, f16ToNumber) };
  if (dtype === 'bf16') return { dtype, shape, data: Float32Array.from(raw as Uint16Array, bf16ToNumber) };
  return { dtype, shape, data: raw as HostArray };
}

const decodeStep = ([op, ...args]: Step): Step => [op, ...args.map(decode)];

const special: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-0': -0,
};

/** Numbers that JSON cannot hold travel as text; an argument left out travels as null. */
function decode(arg: unknown): unknown {
  if (arg === null) return undefined;
  if (typeof arg === 'string') return special[arg] ?? arg;
  if (Array.isArray(arg)) return arg.map(decode);
  if (typeof arg === 'object') return Object.fromEntries(Object.entries(arg).map(([k, v]) => [k, decode(v)]));
  return arg;
}
