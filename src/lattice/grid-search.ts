// Searches of a grid on the host, without its adjacency: one word per vertex says which of its neighbours can be entered. That is a
// sixth of the rows' memory, and a search is over in less than half the time.

import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { VertexSearch } from './search.ts';
import { giveSpare, sharedBy, takeSpare } from './shared.ts';

export class GridSearch extends VertexSearch {
  /** Bit b of a vertex: it has the neighbour at `offsets[b]`. */
  readonly #open: Uint16Array | Uint32Array;
  readonly #masked: boolean;
  /** Index distances of neighbours, ascending. */
  readonly #offsets: Int32Array;

  /** For one search after another of a lattice, which ends it. Memory that is given back and asked for again costs threads much of their time. */
  static of(grid: Grid, mask: Mask | null): GridSearch {
    return (!mask && takeSpare<GridSearch>('search', grid)) || new GridSearch(grid, mask);
  }

  /** Leaves its room to the next lattice of this shape. */
  end(grid: Grid): void {
    if (this.#masked) return;
    this.source = -1;
    this.whole = false;
    giveSpare('search', grid, this);
  }

  constructor(grid: Grid, mask: Mask | null) {
    super(grid.vertices);
    this.#masked = mask !== null;
    const { strides } = grid;
    this.#offsets = Int32Array.from([...strides.map((s) => -s), ...[...strides].reverse()]);
    this.#open = mask ? openNeighbors(grid, mask) : sharedBy('open', grid, (g) => openNeighbors(g, null));
  }

  override neighbors(v: number): number[] {
    const found: number[] = [];
    for (let f = this.#open[v]!; f !== 0; f &= f - 1) found.push(v + this.#offsets[lowestBit(f)]!);
    return found;
  }

  override from(source: number, target = -1): this {
    const { distances, order } = this;
    const [open, offsets] = [this.#open, this.#offsets];
    let tail = this.begin(source);
    search: for (let head = 0; head < tail; head++) {
      const v = order[head]!;
      const next = distances[v]! + 1;
      for (let f = open[v]!; f !== 0; f &= f - 1) {
        const u = v + offsets[31 - Math.clz32(f & -f)]!;
        if (distances[u] !== -1) continue;
        distances[u] = next;
        order[tail++] = u;
        if (u !== target) continue;
        this.whole = false;
        break search;
      }
    }
    this.reached = tail;
    return this;
  }
}

const lowestBit = (f: number): number => 31 - Math.clz32(f & -f);

function openNeighbors({ vertices, strides, size, dimensions: d }: Grid, mask: Mask | null): Uint16Array | Uint32Array {
  const open = d <= 8 ? new Uint16Array(vertices) : new Uint32Array(vertices);
  const blocked = mask?.bytes;
  const x = new Int32Array(d);
  for (let v = 0; v < vertices; v++) {
    let bits = 0;
    for (let k = 0; k < d; k++) {
      const stride = strides[k]!;
      if (x[k]! > 0 && !blocked?.[v - stride]) bits |= 1 << k;
      if (x[k]! < size - 1 && !blocked?.[v + stride]) bits |= 1 << (2 * d - 1 - k);
    }
    open[v] = blocked?.[v] ? 0 : bits;
    for (let k = d - 1; k >= 0 && ++x[k]! === size; k--) x[k] = 0;
  }
  return open;
}
