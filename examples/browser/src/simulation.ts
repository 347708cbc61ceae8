// The field on one device. Knows nothing of the page.
//
// Each frame's state is read back, to be drawn and to be kept: when a device is lost, another one goes on from there.

import { type Compiled, createRuntime, type Device, type DeviceReport, type Runtime } from 'gpuforge';
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

/** What this browser has, best first, and why the rest was not opened. */
export async function survey(): Promise<readonly DeviceReport[]> {
  const rt = await createRuntime();
  const reports = rt.devices();
  await rt.close();
  return reports;
}

export const kindOf = (id: string): Kind | undefined => kinds.find((k) => id.startsWith(k));

export class Simulation {
  readonly kind: Kind;
  readonly device: Device;
  /** How the time of a step is measured here. */
  clock = '–';
  /** Why the device is gone, once it is. */
  loss: string | null = null;
  readonly #rt: Runtime;
  readonly #step: Compiled<[Field, Field], Field>;
  readonly #stir: Compiled<[Field, Field], Field>;
  #parameters: Field;
  #state: Field;

  private constructor(kind: Kind, rt: Runtime, state: Float32Array, parameters: Parameters) {
    this.kind = kind;
    this.#rt = rt;
    this.device = rt.device(rt.devices()[0]!.id);
    this.device.lost.then(({ reason }) => {
      this.loss = reason;
    });
    this.#step = rt.compile(advance);
    this.#stir = rt.compile(stirrer(rt));
    this.#state = rt.tensor(state, [2, size, size], { dtype: 'f32' });
    this.#parameters = rt.tensor(rowsOf(parameters), undefined, { dtype: 'f32' });
  }

  /** Throws a ForgeError where the device cannot be opened. */
  static async open(kind: Kind, state: Float32Array, parameters: Parameters): Promise<Simulation> {
    const rt = await createRuntime({ devices: [kind] });
    return new Simulation(kind, rt, state, parameters);
  }

  /** The kernels of the last step. */
  get kernels(): readonly string[] {
    return this.#step.kernels;
  }

  get stats(): ReturnType<Runtime['stats']> {
    return this.#rt.stats();
  }

  /** What one step takes, in words. */
  explain(): string {
    return String(this.#rt.scope(() => this.#rt.explain(advance(this.#state, this.#parameters))));
  }

  set parameters(values: Parameters) {
    this.#parameters.dispose();
    this.#parameters = this.#rt.tensor(rowsOf(values), undefined, { dtype: 'f32' });
  }

  set state(values: Float32Array) {
    this.#state.dispose();
    this.#state = this.#rt.tensor(values, [2, size, size], { dtype: 'f32' });
  }

  /** Puts v into a disc around a cell. */
  stir(x: number, y: number, radius: number): void {
    const brush = this.#rt.tensor([x, y, radius], [3], { dtype: 'f32' });
    this.#state = this.#stir(this.#state, brush);
    brush.dispose();
  }

  async advance(steps: number): Promise<Frame> {
    const started = performance.now();
    const before = this.device.mark();
    for (let i = 0; i < steps; i++) this.#state = this.#step(this.#state, this.#parameters);
    const after = this.device.mark();
    const [state] = await Promise.all([this.#state.data(), after.whenDone()]);
    const measured = after.since(before);
    this.clock =
      measured === null
        ? 'by the clock, read-back included'
        : this.device.caps.syncRead
          ? 'by the clock around the steps'
          : 'by timestamps on the GPU';
    return { state, steps, ms: measured ?? performance.now() - started };
  }

  async close(): Promise<void> {
    await this.#rt.close();
  }
}
