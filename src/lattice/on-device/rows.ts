// The rows of any graph on a device: gathers along rectangles of neighbours, sums and minima over them.
//
// Vertices are renumbered by group, so that the results of the groups, one after another, are a result for all vertices. A last row
// belongs to no vertex: places of a rectangle that no neighbour fills point to it, and it holds what changes nothing.

import type { Runtime, Tensor } from '../../index.ts';
import type { Adjacency } from '../adjacency.ts';
import { type Bucket, bucketsOf } from './buckets.ts';
import type { Neighborhood } from './neighborhood.ts';
import type { Pinned } from './rounds.ts';

interface Rectangle {
  readonly rows: number;
  readonly width: number;
  /** Rows of the neighbours. */
  readonly at: Tensor;
  readonly weights: Tensor | null;
}

export class DeviceRows implements Neighborhood {
  /** One more than there are vertices. */
  readonly rows: number;
  readonly vertices: number;
  /** The row of each vertex. */
  readonly places: Int32Array;
  /** The same on the device. */
  readonly at: Tensor;
  readonly free = null;
  /** A round is a dozen kernels: a GPU is told all of them with one call as it is, and has fewer of them to compile. */
  readonly together: number;
  readonly #rt: Runtime;
  /** Seen from outside, so that a scope in which this is made keeps them. */
  readonly rectangles: readonly Rectangle[];
  /** The axis of a rectangle along which a row lies: on a GPU threads that lie side by side read words that lie side by side. */
  readonly #along: 0 | 1;

  /** `host`: the device is the CPU. */
  constructor(rt: Runtime, graph: Adjacency, host: boolean) {
    this.vertices = graph.vertices;
    this.rows = graph.vertices + 1;
    this.#rt = rt;
    this.#along = host ? 1 : 0;
    this.together = host ? 8 : 1;
    const buckets = bucketsOf(graph, host);
    this.places = new Int32Array(graph.vertices);
    let next = 0;
    for (const { vertices } of buckets) for (const v of vertices) this.places[v] = next++;
    this.at = rt.tensor(Uint32Array.from(this.places), [graph.vertices], { dtype: 'u32' }).compute();
    this.rectangles = buckets.map((b) => this.#rectangle(graph, b));
  }

  /** Values of the vertices by row, and one for the row behind them: [rows, 1]. */
  placed(values: Float64Array, last: number): Tensor {
    const moved = new Float64Array(this.rows).fill(last);
    for (let v = 0; v < values.length; v++) moved[this.places[v]!] = values[v]!;
    return this.#rt.tensor(moved, [this.rows, 1], { dtype: 'f64' });
  }

  /** Values by row, read by vertex. The device puts them in order: it takes a fraction of the host's time. */
  async byVertex(pinned: Pinned, x: Tensor, signal: AbortSignal | undefined): Promise<Float64Array> {
    using ordered = pinned(() => x.reshape([this.rows]).gather(this.at, 0, { mode: 'clip' }).compute());
    return (await ordered.data({ signal })) as Float64Array;
  }

  sum(x: Tensor): Tensor {
    return this.#over(x, 'sum', 0, (near) => near);
  }

  /** The same with each neighbour times the weight of its edge. The last row of x is 0 in both. */
  weightedSum(x: Tensor): Tensor {
    return this.#over(x, 'sum', 0, (near, weight) => (weight ? near.mul(weight) : near));
  }

  /** The least of neighbour plus weight. The last row of x is Infinity. */
  least(x: Tensor): Tensor {
    return this.#over(x, 'min', Number.POSITIVE_INFINITY, (near, weight) => near.add(weight ?? 1));
  }

  dispose(): void {
    this.at.dispose();
    for (const { at, weights } of this.rectangles) for (const t of [at, weights]) t?.dispose();
  }

  #over(
    x: Tensor,
    name: 'sum' | 'min',
    otherwise: number,
    value: (near: Tensor, weight: Tensor | null) => Tensor,
  ): Tensor {
    const rt = this.#rt;
    const columns = x.shape[1]!;
    const axis = this.#along;
    const none = (rows: number): Tensor => rt.full([rows, columns], otherwise, { dtype: x.dtype });
    const parts = this.rectangles.map(({ rows, width, at, weights }) =>
      width === 0
        ? none(rows)
        : value(x.gather(at, 0, { mode: 'clip' }), weights)
            .cast(x.dtype)
            [name]({ axis }),
    );
    return rt.concat([...parts, none(1)], 0);
  }

  #rectangle({ offsets, neighbors, weights }: Adjacency, { vertices, width }: Bucket): Rectangle {
    const rows = vertices.length;
    // Unsigned: there is no sign to be looked at before each load.
    const at = new Uint32Array(rows * width).fill(this.rows - 1);
    const by = weights ? new Float64Array(rows * width) : null;
    const [step, next] = this.#along === 1 ? [1, width] : [rows, 1];
    vertices.forEach((v, row) => {
      for (let e = offsets[v]!, k = row * next; e < offsets[v + 1]!; e++, k += step) {
        at[k] = this.places[neighbors[e]!]!;
        if (by) by[k] = weights![e]!;
      }
    });
    const shape = this.#along === 1 ? [rows, width] : [width, rows];
    const tensor = (data: Uint32Array | Float64Array, of: number[]): Tensor =>
      this.#rt.tensor(data, of, { dtype: data instanceof Uint32Array ? 'u32' : 'f64' }).compute();
    return {
      rows,
      width,
      at: tensor(at, shape),
      weights: by ? tensor(by, [...shape, 1]) : null,
    };
  }
}
