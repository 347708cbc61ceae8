// Cells beside cells: one boundary rule for every operator of a field.
//
// `periodic`: the other end. `reflecting`: the last cell itself stands for the one behind it, so that symmetric weights keep the
// sum of the field.

import type { Runtime, Tensor } from '../../index.ts';
import type { Boundary } from '../settings.ts';

export type Edges = readonly [number, number, number];

export class Neighbours {
  readonly boundary: Boundary;
  readonly #rt: Runtime;
  /** By edge and direction. Made outside of any program: an index computed inside would be a kernel of its own. */
  readonly #indices = new Map<string, Tensor>();

  constructor(rt: Runtime, edges: Edges, boundary: Boundary) {
    this.#rt = rt;
    this.boundary = boundary;
    if (boundary === 'periodic') return;
    for (const n of new Set(edges)) {
      for (const offset of [-1, 1]) {
        const data = Int32Array.from({ length: n }, (_, i) => Math.min(n - 1, Math.max(0, i + offset)));
        this.#indices.set(`${n} ${offset}`, rt.tensor(data).keep());
      }
    }
  }

  /** The values one cell before (-1), at (0) or behind (1) along an axis of a tensor. */
  at(x: Tensor, axis: number, offset: -1 | 0 | 1): Tensor {
    if (offset === 0) return x;
    if (this.boundary === 'periodic') return x.roll(-offset, axis);
    return x.gather(this.#indices.get(`${x.shape[axis]} ${offset}`)!, axis, { mode: 'clip' });
  }

  /** Where the first (-1) or the last (1) cells along an axis are. */
  wall(x: Tensor, axis: number, end: -1 | 1): Tensor {
    const n = x.shape[axis]!;
    const at = this.#rt.iota(
      x.shape.map((_, i) => (i === axis ? n : 1)),
      axis,
    );
    return at.equal(end < 0 ? 0 : n - 1).broadcastTo(x.shape);
  }

  /** The sum of the 27 values around. Along the last axis last: what two neighbours there have in common is computed once. */
  sumAround(x: Tensor, firstAxis: number): Tensor {
    const around = this.around(x, firstAxis);
    return sumOf(steps.map((_, k) => sumOf(steps.map((_, j) => sumOf(steps.map((_, i) => around[i]![j]![k]!))))));
  }

  /** All 27 values around, by row: [first axis][second axis][third axis], each -1, 0, 1. */
  around(x: Tensor, firstAxis: number): Tensor[][][] {
    return steps.map((i) => {
      const a = this.at(x, firstAxis, i);
      return steps.map((j) => {
        const b = this.at(a, firstAxis + 1, j);
        return steps.map((k) => this.at(b, firstAxis + 2, k));
      });
    });
  }

  dispose(): void {
    for (const t of this.#indices.values()) t.dispose();
  }
}

const steps = [-1, 0, 1] as const;

export const sumOf = (list: readonly Tensor[]): Tensor => list.reduce((a, b) => a.add(b));
