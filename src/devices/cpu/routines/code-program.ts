// A routine that is one WebAssembly module: pointers in, one run over all items.

import { overlaps } from '../arguments.ts';
import type { CpuBuffer } from '../buffer.ts';
import { SharedWork, type WasmCode, type WasmEngine, type WasmTable } from '../engine.ts';
import { launch } from '../launch.ts';
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
  /** What is run: where it overwrites an input it cannot be repeated. */
  readonly #once: SharedWork;
  readonly #again: SharedWork;

  constructor(info: CodeProgramInfo, engine: WasmEngine) {
    this.name = info.code.name;
    this.needs = info.needs;
    this.#info = info;
    this.#engine = engine;
    const { code, items, grain, nanoseconds } = info;
    const parts = { code, items, grain, nanoseconds, finish: false };
    this.#once = new SharedWork({ ...parts, repeatable: false });
    this.#again = new SharedWork({ ...parts, repeatable: true });
  }

  get source(): string {
    return this.#info.code.text;
  }

  run(buffers: readonly CpuBuffer[]): void {
    const { inputs, scratchBytes, table } = this.#info;
    const tableAddress = table ? this.#engine.published(table) : 0;
    const work = overlaps(buffers, inputs) ? this.#once : this.#again;
    launch(this.#engine, work, buffers, inputs, scratchBytes, tableAddress);
  }

  dispose(): void {
    const { code, table } = this.#info;
    this.#engine.drop(code);
    if (table) this.#engine.withdraw(table);
  }
}
