// Launches recorded once and replayed with other buffers and scalars.
//
// WebGPU has no command buffers that run twice, so a replay encodes the dispatches again, but everything behind them
// (pipelines, bind groups, scratch) is looked up once per set of buffers and kept for the sets seen last.

import type { Launch, Recording } from '../device.ts';
import type { Launcher, Prepared } from './launcher.ts';
import type { GpuBuffer, Pool } from './memory.ts';
import type { WebGpuProgram } from './program.ts';

interface RecordedStep {
  readonly program: WebGpuProgram;
  readonly buffers: readonly number[];
  readonly scalars: readonly number[];
  readonly scratch: readonly GpuBuffer[];
}

interface Bound {
  readonly prepared: Prepared | null;
  readonly buffers: readonly GpuBuffer[];
}

const keptSets = 16;

export class WebGpuRecording implements Recording {
  readonly #launcher: Launcher;
  readonly #pool: Pool;
  readonly #check: (buffers: readonly GpuBuffer[]) => void;
  readonly #timed: (id: number | undefined, encode: () => void) => void;
  readonly #onDispose: (self: WebGpuRecording) => void;
  readonly #steps: readonly RecordedStep[];
  readonly #sets = new Map<string, { readonly bindings: readonly GpuBuffer[]; readonly bound: readonly Bound[] }>();
  #disposed = false;

  constructor(
    steps: readonly Launch[],
    launcher: Launcher,
    pool: Pool,
    check: (buffers: readonly GpuBuffer[]) => void,
    timed: (id: number | undefined, encode: () => void) => void,
    onDispose: (self: WebGpuRecording) => void,
  ) {
    this.#onDispose = onDispose;
    this.#launcher = launcher;
    this.#pool = pool;
    this.#check = check;
    this.#timed = timed;
    const scratch: GpuBuffer[] = [];
    try {
      this.#steps = steps.map(({ program, buffers, scalars }) => {
        const p = program as WebGpuProgram;
        const own = p.plain.plan.scratch.map((bytes) => {
          const made = pool.allocate(bytes);
          scratch.push(made);
          return made;
        });
        return { program: p, buffers, scalars, scratch: own };
      });
    } catch (error) {
      for (const s of scratch) pool.release(s);
      throw error;
    }
  }

  replay(bindings: readonly GpuBuffer[], scalars: readonly number[], id?: number): void {
    this.#check(bindings);
    this.#timed(id, () => this.#encode(bindings, scalars));
  }

  #encode(bindings: readonly GpuBuffer[], scalars: readonly number[]): void {
    const bound = this.#bind(bindings);
    for (let i = 0; i < this.#steps.length; i++) {
      const step = this.#steps[i]!;
      const { prepared, buffers } = bound[i]!;
      const values = step.scalars.map((s) => scalars[s]!);
      if (prepared) this.#launcher.encode(prepared, buffers, values);
      else this.#launcher.launch(step.program, buffers, values);
    }
  }

  /** Forgets bind groups; the next replay looks them up again. */
  forget(): void {
    this.#sets.clear();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#sets.clear();
    this.#onDispose(this);
    for (const step of this.#steps) for (const s of step.scratch) this.#pool.release(s);
  }

  #bind(bindings: readonly GpuBuffer[]): readonly Bound[] {
    let key = '';
    for (const b of bindings) key += `${b.block!.id},`;
    const known = this.#sets.get(key);
    // The same blocks may have been handed out as other buffers since.
    if (known?.bindings.every((b, i) => b === bindings[i])) return known.bound;
    const bound = this.#steps.map((step) => {
      const buffers = step.buffers.map((b) => bindings[b]!);
      return { prepared: this.#launcher.prepare(step.program, buffers, step.scratch), buffers };
    });
    if (this.#sets.size >= keptSets) this.#sets.delete(this.#sets.keys().next().value!);
    this.#sets.set(key, { bindings: [...bindings], bound });
    return bound;
  }
}
