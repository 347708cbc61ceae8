// The field on one runtime. Knows nothing of the page.
//
// The runtime is told which device to prefer and does the rest: a lost device is opened again in the background, the other one goes
// on meanwhile. Each frame begins from the bytes of the one before, so at most one frame is computed again.

import { type Compiled, createRuntime, type Device, type DeviceReport, ForgeError, type Runtime } from 'gpuforge';
import { advance, type Field, type Parameters, rowsOf, size, stirrer } from './model.ts';

export type Kind = 'webgpu' | 'cpu';
export const kinds: readonly Kind[] = ['webgpu', 'cpu'];

export interface Frame {
  /** u before v, row by row. */
  readonly state: Float32Array;
  readonly steps: number;
  /** Time of the steps, measured as `clock` of the simulation says. */
  readonly ms: number;
}

type Mark = ReturnType<Device['mark']>;

export const kindOf = (id: string): Kind | undefined => kinds.find((k) => id.startsWith(k));

export class Simulation {
  /** How the time of a step is measured here. */
  clock = '–';
  readonly rt: Runtime;
  readonly #step: Compiled<[Field, Field], Field>;
  readonly #stir: Compiled<[Field, Field], Field>;
  #parameters: Field;
  /** Where the last kernel ran. */
  #at: string;

  private constructor(rt: Runtime, wish: Kind | null, parameters: Parameters) {
    this.rt = rt;
    this.#step = rt.compile(advance);
    this.#stir = rt.compile(stirrer(rt));
    this.#parameters = rt.tensor(rowsOf(parameters), undefined, { dtype: 'f32' });
    const open = this.reports.filter((r) => r.open);
    this.#at = (open.find((r) => kindOf(r.id) === wish) ?? open[0]!).id;
    rt.on('launch', ({ device }) => {
      this.#at = device;
    });
  }

  /** On the device that is wished for where it is there, else on the best there is. */
  static async open(wish: Kind | null, parameters: Parameters): Promise<Simulation> {
    const routing = { mode: 'off', allowFallback: true, ...(wish ? { device: wish } : {}) } as const;
    return new Simulation(await createRuntime({ routing }), wish, parameters);
  }

  /** What this browser has, best first, and why the rest is not open. */
  get reports(): readonly DeviceReport[] {
    return this.rt.devices();
  }

  /** The device of the last kernel; null while it is lost. */
  get device(): Device | null {
    return this.reports.find((r) => r.id === this.#at)?.open ? this.rt.device(this.#at) : null;
  }

  /** The name of that device, whether it is there or not. */
  get at(): string {
    return this.#at;
  }

  get kind(): Kind {
    return kindOf(this.#at)!;
  }

  /** The kernels of the last step. */
  get kernels(): readonly string[] {
    return this.#step.kernels;
  }

  /** What one step takes, in words. */
  explain(): string {
    const field = () => this.#upload(new Float32Array(2 * size * size));
    return String(this.rt.scope(() => this.rt.explain(advance(field(), this.#parameters))));
  }

  set parameters(values: Parameters) {
    this.#parameters.dispose();
    this.#parameters = this.rt.tensor(rowsOf(values), undefined, { dtype: 'f32' });
  }

  /** Some steps from a state, with v put into discs around the cells of `strokes` before them. */
  async advance(from: Float32Array, steps: number, strokes: readonly (readonly [number, number])[]): Promise<Frame> {
    // These live until the frame was read: what a lost device takes is computed again from them.
    const starts = [this.#upload(from)];
    for (const [x, y] of strokes) {
      const brush = this.rt.tensor([x, y, 6], [3], { dtype: 'f32' });
      starts.push(this.#stir(starts.at(-1)!, brush));
      brush.dispose();
    }
    const started = performance.now();
    const { device } = this;
    const before = device && markOf(device);
    let field = this.#step(starts.at(-1)!, this.#parameters);
    for (let i = 1; i < steps; i++) {
      const next = this.#step(field, this.#parameters);
      field.dispose();
      field = next;
    }
    const after = device && markOf(device);
    const state = await field.data();
    for (const f of [...starts, field]) f.dispose();
    const measured = device === this.device && before && (await reached(after)) ? after!.since(before) : null;
    this.clock =
      measured === null
        ? 'by the clock, read-back included'
        : device!.caps.syncRead
          ? 'by the clock around the steps'
          : 'by timestamps on the GPU';
    return { state, steps, ms: measured ?? performance.now() - started };
  }

  async close(): Promise<void> {
    await this.rt.close();
  }

  #upload(state: Float32Array): Field {
    return this.rt.tensor(state, [2, size, size], { dtype: 'f32' });
  }
}

/** A point on the timeline of a device; null if that was lost. */
function markOf(device: Device): Mark | null {
  try {
    return device.mark();
  } catch (error) {
    if (error instanceof ForgeError) return null;
    throw error;
  }
}

async function reached(mark: Mark | null): Promise<boolean> {
  try {
    await mark?.whenDone();
    return mark !== null;
  } catch (error) {
    if (error instanceof ForgeError) return false;
    throw error;
  }
}
