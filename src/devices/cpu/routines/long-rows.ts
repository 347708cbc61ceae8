// Work on few long rows (sorts, selections, compactions): one row after the other, each in steps that all threads share.
//
// Here is what such work has in common: the scratch, the words of the argument block, the run of one step.

import { stage, unstage } from '../arguments.ts';
import type { CpuBuffer } from '../buffer.ts';
import { SharedWork, WasmCode, type WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import type { Views } from '../views.ts';
import { moduleText } from '../wasm/text.ts';

/** What is known of a routine that goes row by row. */
export interface RowRoutine {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
}

/** Words of the argument block by name; `step` tells the code what to do. */
type ArgumentWords = Readonly<Record<string, number>> & { readonly step: number };

export interface LongRowsPlan<A extends ArgumentWords> {
  /** Bytes of the buffers, the inputs first. */
  readonly needs: readonly number[];
  readonly inputs: number;
  readonly scratchBytes: number;
  readonly args: A;
  readonly code: Uint8Array;
}

export abstract class LongRows<R extends RowRoutine, A extends ArgumentWords> implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  protected readonly routine: R;
  readonly #engine: WasmEngine;
  readonly #plan: LongRowsPlan<A>;
  readonly #code: WasmCode;
  readonly #pointers: number[] = [];

  constructor(routine: R, engine: WasmEngine, plan: LongRowsPlan<A>) {
    this.name = routine.name;
    this.needs = plan.needs;
    this.routine = routine;
    this.#engine = engine;
    this.#plan = plan;
    this.#code = new WasmCode(routine.name, plan.code, () => moduleText(plan.code));
  }

  get source(): string {
    return this.#code.text;
  }

  run(given: readonly CpuBuffer[]): void {
    const { rows } = this.routine;
    const { memory } = this.#engine;
    const { inputs, scratchBytes } = this.#plan;
    const scratch = memory.take(scratchBytes, this.name);
    try {
      stage(memory, given, inputs, this.#pointers);
      for (let row = 0; row < rows; row++)
        this.runRow(
          this.needs.map((bytes, k) => this.#pointers[k]! + (row * bytes) / rows),
          scratch.address,
        );
      unstage(memory, given, inputs, this.#pointers);
    } finally {
      this.#engine.release(scratch);
    }
  }

  dispose(): void {
    this.#engine.drop(this.#code);
  }

  /** Does the work on one row. `at`: where it begins in each buffer. */
  protected abstract runRow(at: readonly number[], scratch: number): void;

  /** Asked for anew after each step: one that wakes workers may grow the memory. */
  protected get views(): Views {
    return this.#engine.memory.views;
  }

  protected get words(): Uint32Array {
    return this.views.u32;
  }

  /** Where the argument block is. */
  protected get args(): number {
    return this.#engine.memory.args;
  }

  protected set(values: Readonly<Partial<Record<keyof A, number>>>): void {
    this.#write(this.words, values);
  }

  protected setFloats(values: Readonly<Partial<Record<keyof A, number>>>): void {
    this.#write(this.#engine.memory.views.f32, values);
  }

  #write(words: Uint32Array | Float32Array, values: Readonly<Partial<Record<keyof A, number>>>): void {
    const first = this.args >>> 2;
    for (const name of Object.keys(values)) words[first + this.#plan.args[name]!] = values[name]!;
  }

  /** Runs one step, so many nanoseconds for an element. */
  protected step(number: number, items: number, nanoseconds: number): void {
    this.words[(this.args >>> 2) + this.#plan.args.step] = number;
    const work = new SharedWork({
      code: this.#code,
      items,
      grain: 1,
      nanoseconds: this.routine.columns * nanoseconds,
      finish: false,
      repeatable: true,
    });
    this.#engine.run(work);
  }
}
