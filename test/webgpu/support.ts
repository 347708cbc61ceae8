// What the device checks share: kernels built by hand, data with every special value, and the comparison with the oracle.
//
// Checks know nothing of a test runner, so that the same ones run in Node, in a browser page and on a GPU host.

import { byteSize, type DType, isFloat } from '../../src/base/dtype.ts';
import { f16ToNumber, numberToF16 } from '../../src/base/half.ts';
import { seededRandom } from '../../src/base/seeded.ts';
import { sizeOf } from '../../src/base/shape.ts';
import type { Device, DeviceBuffer } from '../../src/devices/device.ts';
import { type Elements, interpret } from '../../src/devices/reference/interpret.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Accumulator, BufferParam, Kernel, Output } from '../../src/kernel/kernel.ts';

export interface Check {
  readonly name: string;
  /** A dtype without which the check cannot run; it is skipped, and counted as skipped, where the device lacks it. */
  readonly needs: DType;
  /** It takes long, and the same code runs in a check of another dtype: left to `npm run test:all` and GPU hosts. */
  readonly repeats: boolean;
  readonly run: (device: Device) => Promise<void>;
}

export const check = (
  name: string,
  run: (device: Device) => Promise<void>,
  needs: DType = 'f32',
  repeats = false,
): Check => ({ name, needs, repeats, run });

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export const noEstimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };

export interface KernelParts {
  readonly name?: string;
  readonly space: readonly number[];
  readonly reduced?: readonly number[];
  readonly inputs: readonly BufferParam[];
  readonly accumulators?: readonly Accumulator[];
  readonly outputs: readonly Output[];
  readonly scalars?: readonly DType[];
  readonly inPlace?: readonly number[];
}

export const kernelOf = (p: KernelParts): Kernel => ({
  kind: 'kernel',
  name: p.name ?? 'check',
  space: p.space,
  reduced: p.reduced ?? [],
  accumulators: p.accumulators ?? [],
  outputs: p.outputs,
  inputs: p.inputs,
  scalars: p.scalars ?? [],
  inPlace: p.inPlace ?? [],
  estimate: noEstimate,
});

/** Row-major position over consecutive axes. */
export function position(b: Exprs, sizes: readonly number[], firstAxis = 0): Expr {
  let at: Expr = b.const('index', 0);
  sizes.forEach((n, i) => {
    at = b.alu('add', b.alu('mul', at, b.const('index', n)), b.axis(firstAxis + i, n));
  });
  return at;
}

// ---- data ----

const readers: Readonly<Record<string, (v: DataView, i: number) => number>> = {
  f32: (v, i) => v.getFloat32(i * 4, true),
  f16: (v, i) => f16ToNumber(v.getUint16(i * 2, true)),
  i32: (v, i) => v.getInt32(i * 4, true),
  u32: (v, i) => v.getUint32(i * 4, true),
  u8: (v, i) => v.getUint8(i),
  bool: (v, i) => v.getUint8(i),
};

const writers: Readonly<Record<string, (v: DataView, i: number, x: number) => void>> = {
  f32: (v, i, x) => v.setFloat32(i * 4, x, true),
  f16: (v, i, x) => v.setUint16(i * 2, numberToF16(x), true),
  i32: (v, i, x) => v.setInt32(i * 4, x, true),
  u32: (v, i, x) => v.setUint32(i * 4, x, true),
  u8: (v, i, x) => v.setUint8(i, x),
  bool: (v, i, x) => v.setUint8(i, x ? 1 : 0),
};

export function elementsOf(bytes: Uint8Array, type: DType): Elements {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [get, set] = [readers[type]!, writers[type]!];
  return { get: (i) => get(view, i), set: (i, v) => set(view, i, Number(v)) };
}

export function bytesOf(type: DType, values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * byteSize(type));
  const e = elementsOf(bytes, type);
  values.forEach((v, i) => {
    e.set(i, v);
  });
  return bytes;
}

export const valuesOf = (type: DType, bytes: Uint8Array): number[] => {
  const e = elementsOf(bytes, type);
  return Array.from({ length: bytes.length / byteSize(type) }, (_, i) => e.get(i) as number);
};

const floatSpecials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  3.75,
  -7,
  Number.NaN,
  Infinity,
  -Infinity,
  1e-3,
  65504,
  -65504,
  12345.678,
  1 / 3,
  -1 / 3,
];
const specials: Readonly<Partial<Record<DType, readonly number[]>>> = {
  f32: [
    ...floatSpecials,
    1e38,
    -1e38,
    1e-30,
    -1e-30,
    2147483648,
    -2147483648,
    2147483520,
    4294967296,
    3e9,
    16777217,
    255.9,
    256,
    300,
  ],
  f16: [...floatSpecials, 1024, 0.1, 255.5, 300],
  i32: [0, 1, -1, 2, -2, 7, -7, 31, 32, 33, -33, 255, 256, 2147483647, -2147483648, 123456789, -987654321, 65535],
  u32: [0, 1, 2, 7, 31, 32, 33, 255, 256, 65535, 2147483647, 2147483648, 4294967295, 123456789],
  u8: [0, 1, 2, 3, 7, 8, 9, 31, 100, 127, 128, 200, 254, 255],
  bool: [0, 1],
};

/** The special values of a type. */
export const specialsOf = (type: DType): readonly number[] => specials[type]!;

/** Values that mix specials with ordinary ones. */
export function mixed(type: DType, n: number, seed: number, special = 0.3): number[] {
  const next = seededRandom(seed);
  const list = specialsOf(type);
  return Array.from({ length: n }, () => {
    if (next() < special) return list[Math.floor(next() * list.length)]!;
    const r = next();
    switch (type) {
      case 'bool':
        return r < 0.5 ? 0 : 1;
      case 'u8':
        return Math.floor(r * 256);
      case 'u32':
        return Math.floor(r * 2 ** 32);
      case 'i32':
        return Math.floor((r - 0.5) * 2 ** 32);
      default:
        return (r - 0.5) * 2 ** Math.floor(next() * 16 - 6);
    }
  });
}

/** Values without specials, of moderate size: for sums and products of matrices. */
export function plain(type: DType, n: number, seed: number): number[] {
  const next = seededRandom(seed);
  return Array.from({ length: n }, () => {
    const r = next();
    return isFloat(type)
      ? (r - 0.5) * 2
      : type === 'bool'
        ? Math.round(r)
        : Math.floor(r * 100) - (type === 'i32' ? 50 : 0);
  });
}

// ---- running ----

export function upload(device: Device, bytes: Uint8Array): DeviceBuffer {
  const b = device.allocate(bytes.length);
  device.write(b, bytes);
  return b;
}

/** Runs a kernel on a device; gives the outputs' bytes. Outputs start poisoned. */
export async function runOn(
  device: Device,
  kernel: Kernel,
  inputs: readonly Uint8Array[],
  scalars: readonly number[] = [],
): Promise<Uint8Array[]> {
  const total = sizeOf(kernel.space);
  const ins = inputs.map((i) => upload(device, i));
  const outs = kernel.outputs.map((o) => upload(device, new Uint8Array(total * byteSize(o.type)).fill(0xa5)));
  device.launch(device.prepare(kernel), [...ins, ...outs], scalars);
  const result = await Promise.all(outs.map((o) => device.read(o)));
  for (const b of [...ins, ...outs]) device.release(b);
  return result;
}

export function expected(kernel: Kernel, inputs: readonly Uint8Array[], scalars: readonly number[] = []): Uint8Array[] {
  const total = sizeOf(kernel.space);
  const outs = kernel.outputs.map((o) => new Uint8Array(total * byteSize(o.type)));
  interpret(
    kernel,
    inputs.map((bytes, i) => elementsOf(bytes, kernel.inputs[i]!.type)),
    outs.map((bytes, i) => elementsOf(bytes, kernel.outputs[i]!.type)),
    scalars,
  );
  return outs;
}

const view = new DataView(new ArrayBuffer(4));
function ordered(x: number): number {
  view.setFloat32(0, x);
  const bits = view.getInt32(0);
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}

/** Distance in units of the last place of f32. */
export const ulps = (a: number, b: number): number => Math.abs(ordered(a) - ordered(b));

export interface Tolerance {
  /** Units in the last place (floats only). */
  readonly ulp?: number;
  /** Relative to `scale`, or to the expected value. */
  readonly relative?: number;
  /** Subnormals and zeros are alike: WGSL may flush. */
  readonly flush?: boolean;
}

export function compare(type: DType, got: Uint8Array, want: Uint8Array, tolerance: Tolerance, label: string): void {
  assert(got.length === want.length, `${label}: ${got.length} bytes instead of ${want.length}`);
  const [g, w] = [valuesOf(type, got), valuesOf(type, want)];
  let scale = 0;
  for (const x of w) if (Number.isFinite(x)) scale = Math.max(scale, Math.abs(x));
  w.forEach((x, i) => {
    const y = g[i]!;
    if (Object.is(x, y)) return;
    const off = `${label}: element ${i} is ${y} instead of ${x}`;
    assert(isFloat(type), off);
    if (tolerance.flush && Math.abs(x) < 2 ** -126 && Math.abs(y) < 2 ** -126) return;
    assert(!Number.isNaN(x) && !Number.isNaN(y), off);
    const close =
      ulps(x, y) <= (tolerance.ulp ?? 0) * (type === 'f16' ? 2 ** 13 : 1) &&
      !(x === 0 && y === 0 && tolerance.ulp === undefined);
    const near =
      tolerance.relative !== undefined &&
      Number.isFinite(y) &&
      Math.abs(x - y) <= tolerance.relative * Math.max(scale, 1e-30);
    assert(close || near, `${off} (${ulps(x, y)} ulp)`);
  });
}

/** Runs a kernel on the device and on the oracle, and compares. */
export async function agree(
  device: Device,
  kernel: Kernel,
  inputs: readonly Uint8Array[],
  tolerance: Tolerance = {},
  scalars: readonly number[] = [],
  label = kernel.name,
): Promise<void> {
  const got = await runOn(device, kernel, inputs, scalars);
  const want = expected(kernel, inputs, scalars);
  kernel.outputs.forEach((o, k) => {
    compare(o.type, got[k]!, want[k]!, tolerance, `${label} output ${k}`);
  });
}

export { Exprs };
