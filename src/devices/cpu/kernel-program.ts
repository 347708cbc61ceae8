// A fused kernel on the CPU: interpreted while it is tiny, WebAssembly otherwise.
//
// Which of the two is decided by the kernel alone where they could differ in the last bit (float sums), so results
// never depend on how often something ran. Where both give the same bits, an interpreted kernel that turns out to be
// launched often is compiled after all; from then on it is interpreted only where WebAssembly would have to copy its buffers.

import { sizeOf } from '../../base/shape.ts';
import { ArgumentError } from '../../errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { bytesOf, maxBuffers, overlaps, writeScalars } from './arguments.ts';
import type { CpuBuffer } from './buffer.ts';
import { nanosecondsOf, SharedWork, WasmCode, type WasmEngine } from './engine.ts';
import { launch } from './launch.ts';
import { argsBytes } from './memory.ts';
import type { CpuProgram } from './program.ts';
import { argsLayout, type WasmKernel } from './render/module.ts';
import { renderKernel } from './render/render.ts';
import { compileTiny, tinyWork } from './tiny/compile.ts';
import type { TinyKernel } from './tiny/run.ts';

/** Turns of loops after which an interpreted kernel has cost as much as compiling it does. Starting a loop costs as much as some of its turns. */
const hotWork = 1 << 16;
const loopStart = 16;
/** Turns below which WebAssembly does not win. Each word of buffers outside its memory, which it copies, takes as long as a turn. */
const smallWork = 32;

interface Compiled {
  readonly wasm: WasmKernel;
  readonly code: WasmCode;
  /** What is run: where it overwrites an input it cannot be repeated. */
  readonly once: SharedWork;
  readonly again: SharedWork;
}

const copiedBytes = (buffers: readonly CpuBuffer[]): number => {
  let bytes = 0;
  for (let i = 0; i < buffers.length; i++) if (buffers[i]!.small !== null) bytes += buffers[i]!.bytes;
  return bytes;
};

export class KernelProgram implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars: number;
  readonly #kernel: Kernel;
  readonly #engine: WasmEngine;
  #tiny: TinyKernel | null = null;
  #compiled: Compiled | null = null;
  readonly #layout;
  readonly #inputs: number;
  readonly #nanoseconds: number;
  /** Turns of loops of one launch, as far as WebAssembly would give the same bits; else none. */
  #work = 0;
  /** Turns of loops that were interpreted so far. */
  #interpreted = 0;

  /** `tinyElements`: the most loop iterations that are interpreted. */
  constructor(kernel: Kernel, engine: WasmEngine, tinyElements: number) {
    this.name = kernel.name;
    this.#kernel = kernel;
    this.#engine = engine;
    this.#inputs = kernel.inputs.length;
    this.#layout = argsLayout(kernel);
    this.#nanoseconds = nanosecondsOf(kernel.estimate);
    this.scalars = kernel.scalars.length;
    const elements = sizeOf(kernel.space);
    this.needs = [
      ...kernel.inputs.map((p) => bytesOf(p.type, p.elements)),
      ...kernel.outputs.map((o) => bytesOf(o.type, elements)),
    ];
    if (this.needs.length > maxBuffers || this.#layout.bytes > argsBytes) {
      throw new ArgumentError({
        code: 'TOO_MANY_ARGUMENTS',
        message: `${kernel.name}: ${this.needs.length} buffers and ${this.scalars} scalars are more than one launch can bind (cpu)`,
        fix: `Split the kernel: at most ${maxBuffers} buffers, inputs and outputs together.`,
        where: kernel.name,
      });
    }
    if (tinyWork(kernel) <= tinyElements) {
      this.#tiny = compileTiny(kernel);
      const { work, loops, exact } = this.#tiny;
      if (exact) this.#work = work + loops * loopStart;
    } else this.#compile();
  }

  get source(): string {
    return this.#tiny && !this.#compiled
      ? `;; interpreted: ${this.#tiny.work} loop iterations\n`
      : this.#compile().wasm.text;
  }

  /** Elements per step of the main loop; 0 while interpreted. */
  get lanes(): number {
    return this.#compiled?.wasm.lanes ?? 0;
  }

  run(buffers: readonly CpuBuffer[], scalars: readonly number[]): void {
    const tiny = this.#tiny;
    if (tiny === null || this.#isWorthCode(buffers)) this.#launch(buffers, scalars);
    else tiny.run(buffers, scalars, this.#engine.memory.views, this.#engine.sums);
  }

  /** Whether an interpreted kernel was launched so often that WebAssembly is worth it, for these buffers. */
  #isWorthCode(buffers: readonly CpuBuffer[]): boolean {
    const work = this.#work;
    if (work <= smallWork + (copiedBytes(buffers) >> 2)) return false;
    if (this.#interpreted >= hotWork) return true;
    this.#interpreted += work;
    return false;
  }

  dispose(): void {
    if (this.#compiled) this.#engine.drop(this.#compiled.code);
    this.#compiled = null;
  }

  #compile(): Compiled {
    if (this.#compiled) return this.#compiled;
    const wasm = renderKernel(this.#kernel, { shared: this.#engine.memory.shared });
    const code = new WasmCode(this.name, wasm.bytes, () => wasm.text);
    const { items, grain } = wasm;
    const parts = { code, items, grain, nanoseconds: this.#nanoseconds, finish: wasm.parts > 0 };
    const once = new SharedWork({ ...parts, repeatable: false });
    return (this.#compiled = { wasm, code, once, again: new SharedWork({ ...parts, repeatable: true }) });
  }

  #launch(buffers: readonly CpuBuffer[], scalars: readonly number[]): void {
    const { wasm, once, again } = this.#compiled ?? this.#compile();
    const { memory } = this.#engine;
    if (scalars.length > 0) writeScalars(memory, this.#layout.scalars, this.#kernel.scalars, scalars);
    const overwrites = this.#kernel.inPlace.length > 0 && overlaps(buffers, this.#inputs);
    launch(this.#engine, overwrites ? once : again, buffers, this.#inputs, wasm.scratchBytes);
  }
}
