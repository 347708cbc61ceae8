// A routine computed in a wider type: operands converted first, the result converted back, by ordinary kernels.

import { byteSize, type DType } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { CpuBuffer } from '../buffer.ts';
import type { WasmEngine } from '../engine.ts';
import { KernelProgram } from '../kernel-program.ts';
import type { CpuProgram } from '../program.ts';

export class Widened implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #inner: CpuProgram;
  readonly #engine: WasmEngine;
  readonly #inputs: number;
  /** A conversion for each buffer; null for those that stay as they are. */
  readonly #casts: readonly (CpuProgram | null)[];

  /** `elements` counts each buffer's elements; null marks one that is not of the type being widened. */
  constructor(
    inner: CpuProgram,
    given: DType,
    wide: DType,
    elements: readonly (number | null)[],
    inputs: number,
    engine: WasmEngine,
  ) {
    this.name = inner.name;
    this.#inner = inner;
    this.#engine = engine;
    this.#inputs = inputs;
    this.needs = elements.map((n, i) => (n === null ? inner.needs[i]! : n * byteSize(given)));
    this.#casts = elements.map((n, i) => {
      if (n === null) return null;
      return i < inputs ? castProgram(given, wide, n, engine) : castProgram(wide, given, n, engine);
    });
  }

  get source(): string {
    return [...this.#casts, this.#inner].map((p) => (p ? `;; ${p.name}\n${p.source}` : '')).join('\n');
  }

  run(buffers: readonly CpuBuffer[]): void {
    const { memory } = this.#engine;
    const made: CpuBuffer[] = [];
    try {
      const bound = buffers.map((given, i) => {
        if (!this.#casts[i]) return given;
        const bytes = this.#inner.needs[i]!;
        const block = memory.take(bytes, this.name);
        const wide = new CpuBuffer(bytes, null, block.address, block);
        made.push(wide);
        return wide;
      });
      const convert = (i: number): void => {
        const pair = i < this.#inputs ? [buffers[i]!, bound[i]!] : [bound[i]!, buffers[i]!];
        this.#casts[i]?.run(pair, []);
      };
      for (let i = 0; i < this.#inputs; i++) convert(i);
      this.#inner.run(bound, []);
      for (let i = this.#inputs; i < buffers.length; i++) convert(i);
    } finally {
      for (const b of made) this.#engine.release(b.block!);
    }
  }

  dispose(): void {
    for (const p of [...this.#casts, this.#inner]) p?.dispose();
  }
}

function castProgram(from: DType, to: DType, elements: number, engine: WasmEngine): CpuProgram {
  const b = new Exprs();
  const kernel: Kernel = {
    kind: 'kernel',
    name: `cast_${from}_${to}_${elements}`,
    space: [elements],
    reduced: [],
    accumulators: [],
    outputs: [{ type: to, value: b.cast(to, b.load(from, 0, b.axis(0, elements))) }],
    inputs: [{ type: from, elements }],
    scalars: [],
    inPlace: [],
    estimate: { flops: elements, bytesRead: elements * byteSize(from), bytesWritten: elements * byteSize(to) },
  };
  return new KernelProgram(kernel, engine, 64);
}
