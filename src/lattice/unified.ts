// The names of document 002.

import type { Analysis } from './analysis.ts';
import type { LatticeData } from './arrays.ts';
import type { Csr } from './build.ts';
import { Lattice } from './lattice.ts';

export interface UnifiedOptions {
  /** Whether a GPU may be used. Default true. */
  readonly enableGpu?: boolean | undefined;
  /** Whether the router decides where work runs. Default true. */
  readonly enableSmartRouting?: boolean | undefined;
}

export class UnifiedCatalyticLattice extends Lattice {
  constructor(dimensions = 4, size = 10, { enableGpu = true, enableSmartRouting = true }: UnifiedOptions = {}) {
    super({ dimensions, size, device: enableGpu ? 'auto' : 'cpu', routing: enableSmartRouting });
  }

  buildLattice(): Promise<Csr> {
    return this.build();
  }

  /** With a new random key, which is the second property of the result. */
  xorTransform<T extends LatticeData>(data: T): Promise<{ data: T; key: T }> {
    return this.xorWithNewKey(data);
  }

  /** The path and the milliseconds it took. */
  async findShortestPath(start: number, end: number): Promise<[path: readonly number[], ms: number]> {
    const { path, ms } = await this.shortestPath(start, end);
    return [path, ms];
  }

  analyzeStructure(): Promise<Analysis> {
    return this.analyze();
  }
}
