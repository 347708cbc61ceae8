// Sorts of 64-bit types whose values would fit 32 bits: they are sorted as those, in half the time.
//
// Counts, keys and positions are rarely above two thousand million, and many an f64 was an f32 before. A few elements are looked at first,
// which is enough to tell most data that do not fit; then all of them. Converting is exact both ways, so the order and the bits of the
// result are the same. A NaN does not fit: its payload would be lost.

import { byteSize, type DType } from '../../../../base/dtype.ts';
import { Exprs } from '../../../../kernel/expr.ts';
import type { Kernel, Sort } from '../../../../kernel/kernel.ts';
import { CpuBuffer } from '../../buffer.ts';
import type { WasmEngine } from '../../engine.ts';
import { KernelProgram } from '../../kernel-program.ts';
import type { CpuProgram } from '../../program.ts';
import { Views } from '../../views.ts';
import { Widened } from '../widened.ts';

/** Sorts of fewer elements are done before it is known whether they fit. */
const leastElements = 1 << 14;
/** How many elements are looked at first. */
const samples = 64;

interface Narrow {
  readonly type: DType;
  /** Whether an element fits, by its two words. */
  readonly fits: (views: Views, at: number) => boolean;
}

const narrow: Readonly<Partial<Record<DType, Narrow>>> = {
  f64: { type: 'f32', fits: ({ f64 }, at) => Math.fround(f64[at / 8]!) === f64[at / 8] },
  i64: { type: 'i32', fits: ({ i32 }, at) => i32[at / 4 + 1] === i32[at / 4]! >> 31 },
  u64: { type: 'u32', fits: ({ u32 }, at) => u32[at / 4 + 1] === 0 },
};

export const mayNarrow = (r: Sort): boolean => narrow[r.type] !== undefined && r.rows * r.columns >= leastElements;

export class NarrowedSort implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #routine: Sort;
  readonly #engine: WasmEngine;
  readonly #make: (r: Sort) => CpuProgram;
  readonly #wide: CpuProgram;
  readonly #check: CpuProgram;
  readonly #verdict = new CpuBuffer(8, new Views(new ArrayBuffer(8)), 0, null);
  #narrow: CpuProgram | null = null;

  /** `make` makes the program of a sort as it is. */
  constructor(routine: Sort, engine: WasmEngine, make: (r: Sort) => CpuProgram) {
    this.#routine = routine;
    this.#engine = engine;
    this.#make = make;
    this.#wide = make(routine);
    this.#check = fitsProgram(routine, engine);
    this.name = routine.name;
    this.needs = this.#wide.needs;
  }

  get source(): string {
    const { name, source } = this.#narrowed();
    return `;; where every element fits 32 bits: ${name}\n${this.#check.source}\n${source}\n;; else\n${this.#wide.source}`;
  }

  run(buffers: readonly CpuBuffer[]): void {
    (this.#fits(buffers[0]!) ? this.#narrowed() : this.#wide).run(buffers, []);
  }

  dispose(): void {
    for (const p of [this.#wide, this.#check, this.#narrow]) p?.dispose();
  }

  #narrowed(): CpuProgram {
    return (this.#narrow ??= narrowedProgram(this.#routine, this.#engine, this.#make));
  }

  #fits(input: CpuBuffer): boolean {
    const { rows, columns, type } = this.#routine;
    const views = input.small ?? this.#engine.memory.views;
    const stretch = Math.floor((rows * columns) / samples);
    const { fits } = narrow[type]!;
    for (let i = 0; i < samples; i++) if (!fits(views, input.address + 8 * i * stretch)) return false;
    this.#check.run([input, this.#verdict], []);
    return this.#verdict.small!.u8[0] !== 0;
  }
}

/** The sort in the narrow type, with conversions around it. */
function narrowedProgram(r: Sort, engine: WasmEngine, make: (r: Sort) => CpuProgram): CpuProgram {
  const elements = r.rows * r.columns;
  const { type } = narrow[r.type]!;
  const inner = make({ ...r, type, name: `${r.name}_as_${type}` });
  return new Widened(inner, r.type, type, r.valuesOnly ? [elements, elements] : [elements, elements, null], 1, engine);
}

/** Whether every element is the same after a conversion there and back. */
function fitsProgram({ name, rows, columns, type }: Sort, engine: WasmEngine): CpuProgram {
  const elements = rows * columns;
  const b = new Exprs();
  const x = b.load(type, 0, b.axis(1, elements));
  const back = b.cast(type, b.cast(narrow[type]!.type, x));
  const kernel: Kernel = {
    kind: 'kernel',
    name: `fits_${name}`,
    space: [1],
    reduced: [elements],
    accumulators: [{ op: 'all', type: 'bool', value: b.alu('eq', back, x) }],
    outputs: [{ type: 'bool', value: b.acc('bool', 0) }],
    inputs: [{ type, elements }],
    scalars: [],
    inPlace: [],
    estimate: { flops: 2 * elements, bytesRead: elements * byteSize(type), bytesWritten: 1 },
  };
  return new KernelProgram(kernel, engine, 64);
}
