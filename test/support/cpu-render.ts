// Test helper: builds kernels by hand, runs them as WebAssembly and on the reference, and compares.

import { byteSize, type DType, dtypeInfo } from '../../src/base/dtype.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from '../../src/base/half.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { reach } from '../../src/devices/cpu/render/addresses.ts';
import { argsLayout, type WasmKernel } from '../../src/devices/cpu/render/module.ts';
import { renderKernel } from '../../src/devices/cpu/render/render.ts';
import { type Elements, interpret } from '../../src/devices/reference/interpret.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import type { Accumulator, Kernel, Output } from '../../src/kernel/kernel.ts';
import type { Value } from '../../src/kernel/semantics.ts';

export interface Spec {
  readonly space: readonly number[];
  readonly reduced?: readonly number[];
  readonly accumulators?: readonly Accumulator[];
  readonly outputs: readonly (Output | Expr)[];
  readonly inputs?: readonly Data[];
  readonly scalars?: readonly { readonly type: DType; readonly value: number }[];
  readonly inPlace?: readonly number[];
}

/** A typed list of values. */
export interface Data {
  readonly type: DType;
  readonly values: readonly Value[];
}

export const data = (type: DType, values: readonly Value[]): Data => ({ type, values });

export function kernelOf(spec: Spec): Kernel {
  return {
    kind: 'kernel',
    name: 'test',
    space: spec.space,
    reduced: spec.reduced ?? [],
    accumulators: spec.accumulators ?? [],
    outputs: spec.outputs.map((o) => ('kind' in o ? { type: o.type as DType, value: o } : o)),
    inputs: (spec.inputs ?? []).map((d) => ({ type: d.type, elements: d.values.length })),
    scalars: (spec.scalars ?? []).map((s) => s.type),
    inPlace: spec.inPlace ?? [],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
}

/** Elements of a dtype in raw bytes. */
export function elementsOf(type: DType, buffer: ArrayBufferLike, offset: number, length: number): Elements {
  const array = new dtypeInfo[type].storage(buffer, offset, length) as unknown as Value[];
  if (type === 'f16') {
    return { get: (i) => f16ToNumber(array[i] as number), set: (i, v) => (array[i] = numberToF16(v as number)) };
  }
  if (type === 'bf16') {
    return { get: (i) => bf16ToNumber(array[i] as number), set: (i, v) => (array[i] = numberToBf16(v as number)) };
  }
  return { get: (i) => array[i]!, set: (i, v) => (array[i] = v) };
}

interface KernelExports {
  run(args: number, begin: number, end: number): void;
  finish?(args: number): void;
}

const align = (n: number): number => (n + 63) & ~63;

/** Runs a kernel as WebAssembly, its items split as given, and returns the values and raw bytes of its outputs. */
export class Run {
  readonly kernel: Kernel;
  readonly wasm: WasmKernel;
  readonly #memory: WebAssembly.Memory;
  readonly #exports: KernelExports;
  readonly #outputs: {
    readonly at: number;
    readonly bytes: number;
    readonly elements: Elements;
    readonly n: number;
  }[] = [];

  constructor(spec: Spec, options: { shared?: boolean; overlay?: boolean; streamedBytes?: number } = {}) {
    this.kernel = kernelOf(spec);
    const { shared = false, streamedBytes } = options;
    this.wasm = renderKernel(this.kernel, { shared, ...(streamedBytes === undefined ? {} : { streamedBytes }) });
    const n = sizeOf(this.kernel.space);
    const layout = argsLayout(this.kernel);
    // As far from the beginning as the device's buffers are.
    let at = align(reach + layout.bytes);
    const place = (bytes: number): number => {
      const here = at;
      at = align(at + Math.max(bytes, 1));
      return here;
    };
    const inputs = (spec.inputs ?? []).map((d) => ({ d, at: place(d.values.length * byteSize(d.type)) }));
    const outputs = this.kernel.outputs.map((o, k) => ({
      o,
      at: options.overlay ? inputs[k]!.at : place(n * byteSize(o.type)),
    }));
    const scratch = place(this.wasm.scratchBytes);
    const pages = Math.ceil(at / 65536);
    this.#memory = options.shared
      ? new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true })
      : new WebAssembly.Memory({ initial: pages });
    const { buffer } = this.#memory;
    // Bytes that nobody wrote must not look like zeros.
    new Uint8Array(buffer).fill(0xa5);
    const u32 = new Uint32Array(buffer);
    const args = 64;
    [...inputs, ...outputs].forEach((b, i) => {
      u32[args / 4 + i] = b.at;
    });
    u32[(args + layout.scratch) / 4] = scratch;
    (spec.scalars ?? []).forEach((s, i) => {
      const type =
        s.type === 'f16' || s.type === 'bf16' ? 'f32' : s.type === 'bool' || s.type === 'u8' ? 'i32' : s.type;
      const value = type === 'i64' || type === 'u64' ? BigInt(s.value) : s.value;
      elementsOf(type, buffer, args + layout.scalars + 8 * i, 1).set(0, value);
    });
    for (const { d, at: from } of inputs) {
      const e = elementsOf(d.type, buffer, from, d.values.length);
      d.values.forEach((v, i) => {
        e.set(i, v);
      });
    }
    for (const { o, at: from } of outputs) {
      this.#outputs.push({ at: from, bytes: n * byteSize(o.type), elements: elementsOf(o.type, buffer, from, n), n });
    }
    const instance = new WebAssembly.Instance(new WebAssembly.Module(this.wasm.bytes as BufferSource), {
      env: { memory: this.#memory },
    });
    this.#exports = instance.exports as unknown as KernelExports;
  }

  /** Runs the items in pieces that end at these positions, the last piece first. */
  run(...cuts: readonly number[]): this {
    const ends = [0, ...cuts, this.wasm.items];
    for (let i = ends.length - 2; i >= 0; i--) this.#exports.run(64, ends[i]!, ends[i + 1]!);
    if (this.wasm.parts > 0) this.#exports.finish!(64);
    return this;
  }

  values(output = 0): Value[] {
    const { elements, n } = this.#outputs[output]!;
    return Array.from({ length: n }, (_, i) => elements.get(i));
  }

  bytes(output = 0): Uint8Array {
    const o = this.#outputs[output]!;
    return new Uint8Array(this.#memory.buffer, o.at, o.bytes).slice();
  }
}

/** What the reference device gives for the same kernel. */
export function reference(spec: Spec): Value[][] {
  const kernel = kernelOf(spec);
  const n = sizeOf(kernel.space);
  const make = (type: DType, values: readonly Value[], length: number): Elements => {
    const e = elementsOf(type, new ArrayBuffer(length * byteSize(type)), 0, length);
    values.forEach((v, i) => {
      e.set(i, v);
    });
    return e;
  };
  const inputs = (spec.inputs ?? []).map((d) => make(d.type, d.values, d.values.length));
  const outputs = kernel.outputs.map((o) => make(o.type, [], n));
  interpret(
    kernel,
    inputs,
    outputs,
    (spec.scalars ?? []).map((s) => s.value),
  );
  return outputs.map((o) => Array.from({ length: n }, (_, i) => o.get(i)));
}

/** A repeatable source of random numbers in 0 … 1. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const floatSpecials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -1.5,
  2.5,
  3.7,
  -3.7,
  Infinity,
  -Infinity,
  NaN,
  1e-40,
  65504,
  65520,
  1e30,
  -1e38,
];
const intSpecials: Partial<Record<DType, readonly Value[]>> = {
  u8: [0, 1, 2, 7, 8, 127, 128, 255],
  i32: [0, 1, -1, 2, 31, 32, 33, -7, 7, 2 ** 31 - 1, -(2 ** 31), 255, 256, -256],
  u32: [0, 1, 2, 31, 32, 33, 7, 2 ** 31, 2 ** 32 - 1, 255, 256],
  i64: [0n, 1n, -1n, 2n, 63n, 64n, 7n, -7n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -(2n ** 32n)],
  u64: [0n, 1n, 2n, 63n, 64n, 7n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 53n + 1n, 2n ** 32n],
};

/** `n` values of a type: special ones first to last, random ones between them. */
export function samples(type: DType, n: number, seed: number, scale = 100): Value[] {
  const random = randomSource(seed);
  const special = type === 'bool' ? [0, 1] : (intSpecials[type] ?? floatSpecials);
  return Array.from({ length: n }, (): Value => {
    if (random() < 0.4) return special[Math.floor(random() * special.length)]!;
    const x = (random() - 0.5) * 2 * scale;
    switch (type) {
      case 'bool':
        return random() < 0.5 ? 0 : 1;
      case 'u8':
        return Math.floor(random() * 256);
      case 'i32':
        return Math.floor(random() < 0.5 ? x : x * 2e7) | 0;
      case 'u32':
        return Math.floor(random() < 0.5 ? Math.abs(x) : random() * 2 ** 32) >>> 0;
      case 'i64':
        return BigInt(Math.floor(random() < 0.5 ? x : x * 2 ** 56));
      case 'u64':
        return BigInt(Math.floor(Math.abs(random() < 0.5 ? x : x * 2 ** 56)));
      default:
        return random() < 0.8 ? x : x * 10 ** Math.floor((random() - 0.5) * 20);
    }
  });
}
