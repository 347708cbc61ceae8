// One kernel launch, ready to go: function, grid, and a packed block of arguments of which a launch rewrites a few words.

import type { DType } from '../../base/dtype.ts';
import { castValue, roundTo } from '../../kernel/semantics.ts';
import type { Driver } from './driver.ts';

/** What fills one 8-byte argument. */
export type Argument =
  | { readonly kind: 'buffer'; readonly index: number }
  /** An offset into the program's own memory, which is zeroed once and kept. */
  | { readonly kind: 'kept'; readonly offset: number }
  /** An offset into memory that a launch borrows. */
  | { readonly kind: 'borrowed'; readonly offset: number }
  | { readonly kind: 'scalar'; readonly index: number; readonly type: DType }
  /** Where the launch notes when it ran. */
  | { readonly kind: 'slot' }
  | { readonly kind: 'number'; readonly value: number };

export interface StepShape {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Dynamic shared memory in bytes. */
  readonly shared: number;
  readonly args: readonly Argument[];
}

/** Where a buffer's bytes are. */
export interface Located {
  readonly address: number;
}

/** Something a program enqueues: a kernel of ours, or a library's call. */
export interface StreamStep {
  run(stream: number, buffers: readonly Located[], borrowed: number, scalars: readonly number[]): void;
}

/** What steps of one module share. The module stays loaded as long as one of them can be reached. */
export interface StepHome {
  /** The address of the program's own memory, or 0. */
  readonly kept: number;
}

export class KernelStep implements StreamStep {
  readonly fn: number;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly shared: number;
  readonly name: string;
  readonly extraAddress: number;
  readonly #shape: StepShape;
  readonly #home: StepHome;
  readonly #driver: Driver;
  readonly #words: Uint32Array;
  /** The same memory: numbers of the most common type are written without a detour. */
  readonly #floats: Float32Array;
  readonly #view: DataView;
  readonly #size: BigUint64Array;
  readonly #extra: BigUint64Array;
  readonly #buffers: readonly { readonly word: number; readonly index: number }[];
  readonly #borrowed: readonly { readonly word: number; readonly offset: number }[];
  readonly #singles: readonly { readonly word: number; readonly index: number }[];
  readonly #scalars: readonly { readonly at: number; readonly index: number; readonly type: DType }[];
  /** The word of the slot; -1 if it has none. */
  #slot = -1;

  constructor(driver: Driver, name: string, fn: number, shape: StepShape, home: StepHome) {
    this.#driver = driver;
    this.#shape = shape;
    this.#home = home;
    const { kept } = home;
    this.name = name;
    this.fn = fn;
    this.grid = shape.grid;
    this.block = shape.block;
    this.shared = shape.shared;
    const bytes = new ArrayBuffer(Math.max(8, shape.args.length * 8));
    this.#words = new Uint32Array(bytes);
    this.#floats = new Float32Array(bytes);
    this.#view = new DataView(bytes);
    this.#size = new BigUint64Array(new ArrayBuffer(8));
    this.#size[0] = BigInt(shape.args.length * 8);
    this.#extra = new BigUint64Array(new ArrayBuffer(40));
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END.
    this.#extra.set([1n, BigInt(driver.ffi.address(this.#words)), 2n, BigInt(driver.ffi.address(this.#size)), 0n]);
    this.extraAddress = driver.ffi.address(this.#extra);
    const [buffers, borrowed, singles, scalars] = [[], [], [], []] as [
      { word: number; index: number }[],
      { word: number; offset: number }[],
      { word: number; index: number }[],
      { at: number; index: number; type: DType }[],
    ];
    shape.args.forEach((a, i) => {
      switch (a.kind) {
        case 'buffer':
          buffers.push({ word: 2 * i, index: a.index });
          break;
        case 'kept':
          this.#put(2 * i, kept + a.offset);
          break;
        case 'borrowed':
          borrowed.push({ word: 2 * i, offset: a.offset });
          break;
        case 'scalar':
          if (a.type === 'f32') singles.push({ word: 2 * i, index: a.index });
          else scalars.push({ at: 8 * i, index: a.index, type: a.type });
          break;
        case 'number':
          this.#put(2 * i, a.value);
          break;
        case 'slot':
          this.#slot = 2 * i;
          break;
        default:
          a satisfies never;
      }
    });
    this.#buffers = buffers;
    this.#borrowed = borrowed;
    this.#singles = singles;
    this.#scalars = scalars;
  }

  /** The same launch with arguments of its own, its buffers and scalars renumbered: one node of a recording. */
  renumbered(buffers: readonly number[], scalars: readonly number[]): KernelStep {
    const args = this.#shape.args.map((a): Argument => {
      if (a.kind === 'buffer') return { kind: 'buffer', index: buffers[a.index]! };
      return a.kind === 'scalar' ? { ...a, index: scalars[a.index]! } : a;
    });
    return new KernelStep(this.#driver, this.name, this.fn, { ...this.#shape, args }, this.#home);
  }

  /** The next launch notes its times there: at an address, in two words. */
  stampAt(low: number, high: number): void {
    this.#words[this.#slot] = low;
    this.#words[this.#slot + 1] = high;
  }

  /** Writes the arguments; returns whether any of them differs from the last time. */
  bind(buffers: readonly Located[], borrowed: number, scalars: readonly number[]): boolean {
    let changed = false;
    const words = this.#words;
    for (const { word, index } of this.#buffers) {
      const address = buffers[index]!.address;
      const low = address >>> 0;
      if (words[word] === low && words[word + 1] === (address - low) / 2 ** 32) continue;
      words[word] = low;
      words[word + 1] = (address - low) / 2 ** 32;
      changed = true;
    }
    for (const { word, offset } of this.#borrowed) {
      const address = borrowed + offset;
      if (words[word] === address >>> 0 && words[word + 1] === Math.floor(address / 2 ** 32)) continue;
      this.#put(word, address);
      changed = true;
    }
    const floats = this.#floats;
    for (let i = 0; i < this.#singles.length; i++) {
      const { word, index } = this.#singles[i]!;
      const before = words[word];
      floats[word] = scalars[index]!;
      if (words[word] !== before) changed = true;
    }
    for (const { at, index, type } of this.#scalars) {
      const [low, high] = [words[at / 4], words[at / 4 + 1]];
      writeScalar[type](this.#view, at, scalars[index]!);
      changed ||= low !== words[at / 4] || high !== words[at / 4 + 1];
    }
    return changed;
  }

  run(stream: number, buffers: readonly Located[], borrowed: number, scalars: readonly number[]): void {
    this.bind(buffers, borrowed, scalars);
    const { grid, block } = this;
    const code = this.#driver.call.cuLaunchKernel(
      this.fn,
      grid[0],
      grid[1],
      grid[2],
      block[0],
      block[1],
      block[2],
      this.shared,
      stream,
      0,
      this.extraAddress,
    );
    if (code !== 0) throw this.#driver.error(code, `launch of ${this.name}`);
  }

  #put(word: number, value: number): void {
    const low = value % 2 ** 32;
    this.#words[word] = low;
    this.#words[word + 1] = (value - low) / 2 ** 32;
  }
}

type WriteScalar = (view: DataView, at: number, v: number) => void;
const wide: WriteScalar = (view, at, v) => view.setBigInt64(at, castValue(v, 'f64', 'i64') as bigint, true);
const word: WriteScalar = (view, at, v) => view.setInt32(at, castValue(v, 'f64', 'i32') as number, true);

/** A JavaScript number as the kernel reads it; f16 and bf16 travel as the f32 they equal, small integers as 32 bits. */
const writeScalar: Readonly<Record<DType, WriteScalar>> = {
  bool: (view, at, v) => view.setUint32(at, roundTo.bool(v) as number, true),
  u8: (view, at, v) => view.setUint32(at, castValue(v, 'f64', 'u8') as number, true),
  i32: word,
  u32: (view, at, v) => view.setUint32(at, castValue(v, 'f64', 'u32') as number, true),
  i64: wide,
  u64: (view, at, v) => view.setBigUint64(at, castValue(v, 'f64', 'u64') as bigint, true),
  f16: (view, at, v) => view.setFloat32(at, roundTo.f16(v) as number, true),
  bf16: (view, at, v) => view.setFloat32(at, roundTo.bf16(v) as number, true),
  f32: (view, at, v) => view.setFloat32(at, v, true),
  f64: (view, at, v) => view.setFloat64(at, v, true),
};
