// The lattice behind the page: walls, the device it runs on, and what was found last.

import { createRuntime, type DeviceReport, type Runtime } from 'gpuforge';
import { Lattice } from 'gpuforge/lattice';
import { end, side, start } from './walls.ts';

export const kinds = ['webgpu', 'cpu'] as const;
export type Kind = (typeof kinds)[number];
export const kindOf = (id: string): string => id.split(':')[0]!;

export interface Found {
  readonly distances: Int32Array;
  /** From corner to corner; empty where there is no way. */
  readonly path: readonly number[];
  readonly ms: number;
}

export class World {
  readonly rt: Runtime;
  readonly kind: Kind;
  readonly #lattice: Lattice;

  private constructor(rt: Runtime, kind: Kind) {
    this.rt = rt;
    this.kind = kind;
    const device = rt.devices().find((d) => d.open && kindOf(d.id) === kind)!.id;
    this.#lattice = new Lattice({ dimensions: 2, size: side, runtime: rt, device });
  }

  /** The device that was wished for, or the first there is. */
  static async open(wish: Kind | null): Promise<World> {
    const rt = await createRuntime({ devices: [...kinds] });
    const open = (kind: Kind): boolean => rt.devices().some((d) => d.open && kindOf(d.id) === kind);
    return new World(rt, wish && open(wish) ? wish : kinds.find(open)!);
  }

  get reports(): readonly DeviceReport[] {
    return this.rt.devices();
  }

  /** Where the last work ran: the host, if the device failed. */
  get device(): string {
    return this.#lattice.device ?? this.kind;
  }

  get levels(): number {
    return this.#lattice.stats().levels;
  }

  build(walls: Uint8Array): void {
    this.#lattice.setBlocked(walls);
  }

  /** One kernel per level, on whatever device. */
  async search(): Promise<Found> {
    const began = performance.now();
    const distances = await this.#lattice.distancesFrom(start, { method: 'levels' });
    const ms = performance.now() - began;
    return { distances, path: this.#pathTo(end, distances), ms };
  }

  /** Back to the start, always a step nearer; empty where there is no way. */
  #pathTo(vertex: number, distances: Int32Array): number[] {
    if (distances[vertex]! < 0) return [];
    const path = [vertex];
    for (let v = vertex; v !== start; path.push(v))
      v = this.#lattice.neighbors(v).find((u) => distances[u] === distances[v]! - 1)!;
    return path.reverse();
  }

  /** Spreads a field and keeps the start hot. */
  async spread(field: Float32Array, steps: number): Promise<{ readonly field: Float32Array; readonly ms: number }> {
    const began = performance.now();
    using result = await this.#lattice.diffuse(
      field.map((x, v) => (v === start ? 1 : x)),
      steps,
    );
    const next = (await result.data()) as Float32Array;
    return { field: next, ms: performance.now() - began };
  }

  async close(): Promise<void> {
    await this.#lattice.dispose();
    await this.rt.close();
  }
}
