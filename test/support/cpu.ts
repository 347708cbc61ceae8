// Helpers of the CPU device's tests: kernels by hand, random buffers, and a run beside the reference device.

import { byteSize, type DType, dtypeInfo, isFloat, type TypedArray } from '../../src/base/dtype.ts';
import { numberToBf16, numberToF16 } from '../../src/base/half.ts';
import { sizeOf } from '../../src/base/shape.ts';
import type { Device, Program } from '../../src/devices/device.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Accumulator, Kernel, Output, Routine } from '../../src/kernel/kernel.ts';

export interface KernelSpec {
  readonly space: readonly number[];
  readonly reduced?: readonly number[];
  readonly inputs: readonly { readonly type: DType; readonly elements: number }[];
  readonly accumulators?: readonly Accumulator[];
  readonly outputs: readonly Output[];
  readonly scalars?: readonly DType[];
  readonly inPlace?: readonly number[];
}

export function makeKernel(spec: KernelSpec): Kernel {
  const n = sizeOf(spec.space);
  const read = spec.inputs.reduce((sum, i) => sum + i.elements * byteSize(i.type), 0);
  return {
    kind: 'kernel',
    name: `test_${spec.space.join('x')}`,
    reduced: [],
    accumulators: [],
    scalars: [],
    inPlace: [],
    estimate: {
      flops: n * sizeOf(spec.reduced ?? []),
      bytesRead: read,
      bytesWritten: spec.outputs.reduce((sum, o) => sum + n * byteSize(o.type), 0),
    },
    ...spec,
  };
}

/** An elementwise kernel over n elements of contiguous inputs. */
export function elementwise(
  n: number,
  types: readonly DType[],
  to: DType,
  value: (b: Exprs, loads: readonly Expr[]) => Expr,
  inPlace: readonly number[] = [],
): Kernel {
  const b = new Exprs();
  const i = b.axis(0, n);
  const loads = types.map((t, slot) => b.load(t, slot, i));
  return makeKernel({
    space: [n],
    inputs: types.map((type) => ({ type, elements: n })),
    outputs: [{ type: to, value: value(b, loads) }],
    inPlace,
  });
}

/** A small generator with a seed, so that failures repeat. */
export function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((s ^ (s >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Elements of a type in their storage form, from a function of the position. */
export function elementsOf(type: DType, n: number, value: (i: number) => number): TypedArray {
  const storage = dtypeInfo[type].storage;
  const array = new storage(new ArrayBuffer(n * byteSize(type)), 0, n);
  for (let i = 0; i < n; i++) {
    const v = value(i);
    if (type === 'i64' || type === 'u64') (array as BigInt64Array)[i] = BigInt(Math.trunc(v));
    else if (type === 'f16') array[i] = numberToF16(v);
    else if (type === 'bf16') array[i] = numberToBf16(v);
    else if (type === 'bool') array[i] = v > 0 ? 1 : 0;
    else (array as Float64Array)[i] = v;
  }
  return array;
}

/** Numbers that suit a type: whole and small for integers, so that float results are exact too where asked. */
export const sample = (type: DType, n: number, seed: number): TypedArray => {
  const next = random(seed);
  return elementsOf(type, n, () =>
    isFloat(type) ? next() * 8 - 4 : Math.floor(next() * 200) - (type === 'u8' ? 0 : 60),
  );
};

export const bytesOf = (a: TypedArray): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

const programs = new WeakMap<Device, Map<string, Program>>();

/** A routine that is all numbers and names is prepared once for a device, whatever data it gets. */
function programOf(device: Device, work: Kernel | Routine): Program {
  if (work.kind === 'kernel' || ('epilogue' in work && work.epilogue)) return device.prepare(work);
  const known = programs.get(device) ?? new Map<string, Program>();
  programs.set(device, known);
  const key = JSON.stringify(work);
  const found = known.get(key) ?? device.prepare(work);
  known.set(key, found);
  return found;
}

/** Runs work once; the bytes of each output. */
export function runOn(
  device: Device,
  work: Kernel | Routine,
  inputs: readonly TypedArray[],
  outputBytes: readonly number[],
  scalars: readonly number[] = [],
): Uint8Array[] {
  const program = programOf(device, work);
  const ins = inputs.map((a) => {
    const buffer = device.allocate(a.byteLength);
    device.write(buffer, bytesOf(a));
    return buffer;
  });
  const outs = outputBytes.map((n) => device.allocate(n));
  device.launch(program, [...ins, ...outs], scalars);
  const results = outs.map((b) => device.readSync!(b));
  for (const b of [...ins, ...outs]) device.release(b);
  return results;
}

/** Bytes as elements of a type. */
export const asType = (type: DType, bytes: Uint8Array): TypedArray =>
  new dtypeInfo[type].storage(bytes.slice().buffer, 0, bytes.byteLength / byteSize(type));

/** Compares long results without a diff of a million lines. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
