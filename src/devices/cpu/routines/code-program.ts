// A routine that is one WebAssembly module: pointers in, one run over all items.

import { overlaps, stage, unstage, writePointers } from '../arguments.ts';
import type { CpuBuffer } from '../buffer.ts';
import type { WasmCode, WasmEngine, WasmTable } from '../engine.ts';
import type { CpuProgram } from '../program.ts';

export interface CodeProgramInfo {
  readonly code: WasmCode;
  readonly needs: readonly number[];
  /** How many of the buffers are inputs. */
  readonly inputs: number;
  readonly items: number;
  readonly grain: number;
  readonly nanoseconds: number;
  readonly scratchBytes: number;
  /** What the module reads besides: its address comes behind that of the scratch. */
  readonly table?: WasmTable;
}

export class CodeProgram implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #info: CodeProgramInfo;
  readonly #engine: WasmEngine;
  readonly #pointers: number[] = [];

  constructor(info: CodeProgramInfo, engine: WasmEngine) {
    this.name = info.code.name;
    this.needs = info.needs;
    this.#info = info;
    this.#engine = engine;
  }

  get source(): string {
    return this.#info.code.text;
  }

  run(buffers: readonly CpuBuffer[]): void {
    const { code, inputs, items, grain, nanoseconds, scratchBytes, table } = this.#info;
    const { memory } = this.#engine;
    const tableAddress = table ? this.#engine.published(table) : 0;
    const scratch = scratchBytes > 0 ? memory.take(scratchBytes, this.name) : null;
    try {
      stage(memory, buffers, inputs, this.#pointers);
      writePointers(memory, this.#pointers, buffers.length, scratch?.address ?? 0, tableAddress);
      const repeatable = !overlaps(buffers, inputs);
      this.#engine.run({ code, items, grain, nanoseconds, finish: false, repeatable });
      unstage(memory, buffers, inputs, this.#pointers);
    } finally {
      if (scratch) this.#engine.release(scratch);
    }
  }

  dispose(): void {
    const { code, table } = this.#info;
    this.#engine.drop(code);
    if (table) this.#engine.withdraw(table);
  }
}
