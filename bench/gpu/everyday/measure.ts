// How an everyday program is measured: its values are checked first, then it is called a number of times and waited for once.
//
// The median over rounds, per call, in µs. A wrong value ends the run.

import type { DType, Runtime, Tensor } from '../../../src/index.ts';

export interface Measured {
  readonly name: string;
  readonly us: number;
  readonly low: number;
  readonly high: number;
}

export interface Program {
  readonly name: string;
  readonly run: () => Tensor;
  /** Calls that are waited for together. */
  readonly calls: number;
  readonly check: () => Promise<void>;
}

export interface MeasureOptions {
  /** Only programs whose names contain one of these. */
  readonly only: readonly string[] | undefined;
  /** How long each is called before it counts. */
  readonly warmUpMs: number;
  /** Show the launches of each, with the device's own times. */
  readonly parts?: boolean;
}

const rounds = 15;

export class Bench {
  readonly rows: Measured[] = [];
  readonly rt: Runtime;
  readonly #options: MeasureOptions;

  constructor(rt: Runtime, options: MeasureOptions) {
    this.rt = rt;
    this.#options = options;
  }

  /** Whether any of these programs is asked for: if not, their data need not be made. */
  wants(...names: readonly string[]): boolean {
    const { only } = this.#options;
    return !only || names.some((name) => only.some((text) => name.includes(text)));
  }

  /** Whether the device computes with a type. */
  has(dtype: DType): boolean {
    return this.rt.device(this.rt.devices().find((d) => d.open)!.id).caps.dtypes.has(dtype);
  }

  async measure({ name, run, calls, check }: Program): Promise<void> {
    if (!this.wants(name)) return;
    await check();
    const samples: number[] = [];
    const warm = performance.now() + this.#options.warmUpMs;
    for (let r = -1; r < rounds; r++) {
      const t = performance.now();
      if (t < warm) r = -1;
      let last: Tensor | undefined;
      for (let i = 0; i < calls; i++) {
        last?.dispose();
        last = run().compute();
      }
      await this.rt.flush();
      if (r >= 0) samples.push(((performance.now() - t) * 1000) / calls);
      last!.dispose();
    }
    samples.sort((a, b) => a - b);
    const quantile = (q: number): number => samples[Math.floor(q * (samples.length - 1))]!;
    this.rows.push({ name, us: quantile(0.5), low: quantile(0.1), high: quantile(0.9) });
    console.log(`${name.padEnd(46)} ${quantile(0.5).toFixed(1).padStart(9)} µs`);
    if (this.#options.parts) await this.#showParts(run);
  }

  async #showParts(run: () => Tensor): Promise<void> {
    await this.rt.spans('detailed');
    const names = new Map<number, string>();
    const stops = [
      this.rt.on('launch', ({ id, name }) => names.set(id, name)),
      this.rt.on('span', ({ id, start, end }) => {
        console.log(`   ${((end - start) * 1000).toFixed(1).padStart(9)} µs  ${names.get(id) ?? ''}`);
      }),
    ];
    run().compute().dispose();
    await this.rt.flush();
    for (const stop of stops) stop();
    await this.rt.spans(false);
  }
}

export function near(name: string, got: number, want: number, tolerance = 1e-4): void {
  if (Math.abs(got - want) <= tolerance * (1 + Math.abs(want))) return;
  throw new Error(`${name}: got ${got}, expected ${want}`);
}

export const random = (n: number): Float32Array => {
  const made = new Float32Array(n);
  for (let i = 0; i < n; i++) made[i] = Math.random() * 2 - 1;
  return made;
};

/** The first values of a result, which ends with this. */
export async function first(t: Tensor, n: number): Promise<Float32Array> {
  const data = await peek(t, n);
  t.dispose();
  return data;
}

/** The first values of a tensor, as f32. */
export async function peek(t: Tensor, n: number): Promise<Float32Array> {
  const flat = t
    .reshape([-1])
    .slice([[0, n]])
    .cast('f32');
  const data = (await flat.data()) as Float32Array;
  flat.dispose();
  return data;
}
