// The names of document 002.

import { argumentsOf, checkMethods } from '../base/signatures.ts';
import type { Analysis } from './analysis.ts';
import type { LatticeData } from './arrays.ts';
import type { Csr } from './build.ts';
import { Lattice } from './lattice.ts';
import { latticeKinds, unifiedSignatures } from './signatures.ts';

export interface UnifiedOptions {
  /** Whether a GPU may be used. Default true. */
  readonly enableGpu?: boolean | undefined;
  /** Whether the router decides where work runs. Default true. */
  readonly enableSmartRouting?: boolean | undefined;
}

export class UnifiedCatalyticLattice extends Lattice {
  constructor(dimensions = 4, size = 10, options: UnifiedOptions = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    const { enableGpu = true, enableSmartRouting = true } = options;
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

checkMethods(UnifiedCatalyticLattice.prototype, unifiedSignatures, latticeKinds);

const takes = argumentsOf(
  'UnifiedCatalyticLattice',
  'dimensions:number? size:number? options:{enableGpu:flag,enableSmartRouting:flag}?',
);
