// Lattice: the grid graph L(d, n), optionally with blocked vertices, and the work on it. What is found is the same wherever it was
// computed.

import { checkMethods } from '../base/signatures.ts';
import type { BorrowReport, RouteExplanation } from '../index.ts';
import { LatticeCatalytic } from './catalytic/lattice.ts';
import { oneOf } from './errors.ts';
import { hostReason, methodRows } from './explain.ts';
import type { PathCacheStats } from './path-cache.ts';
import type { Fallback } from './session.ts';
import { latticeKinds, latticeSignatures } from './signatures.ts';

export interface LatticeStats {
  readonly cache: PathCacheStats;
  /** Searches on the host, and levels launched on devices. */
  readonly searches: number;
  readonly levels: number;
  /** Work that was not done where it was asked for, and why. */
  readonly fallbacks: readonly Fallback[];
  /** What the last work in borrowed memory took; null before there was any. */
  readonly borrowed: BorrowReport | null;
}

export class Lattice extends LatticeCatalytic {
  stats(): LatticeStats {
    this.session.check('stats');
    return {
      cache: this.cache.stats(),
      searches: this.searches,
      levels: this.levels,
      fallbacks: [...this.session.fallbacks],
      borrowed: this.borrowed,
    };
  }

  /**
   * Where a call would run, and why there: the method, and the arguments it would get.
   *
   * ```ts
   * import { Lattice } from 'gpuforge/lattice';
   * const lattice = new Lattice({ dimensions: 2, size: 5 });
   * lattice.explain('distancesFrom', 0).reason; // → 'distancesFrom is a formula as long as nothing is blocked'
   * ```
   */
  explain(method: string, ...args: readonly unknown[]): RouteExplanation {
    this.session.check('explain');
    const { op } = methodRows[oneOf('explain', 'method', method, Object.keys(methodRows))]!;
    const { vertices } = this.grid;
    const masked = this.mask !== null;
    const kept = hostReason(method, args, { vertices, masked }, (size) => this.session.keptOnHost(size));
    const rt = this.session.runtime;
    if (rt && op !== 'host' && kept === null && this.options.device === 'auto') return rt.routing.explain(op, vertices);
    const asked = `device: '${this.options.device}'`;
    return {
      device: kept !== null || !rt ? 'cpu' : (this.session.pin(rt, 'explain') ?? 'cpu'),
      outcome: 'no_preference',
      reason: kept ?? (rt ? `${asked} was asked for` : `no device is open yet; ${asked} is looked for on first use`),
      predictions: [],
      explored: false,
      op: op === 'host' ? 'graph_algorithm' : op,
      elements: vertices,
      location: ['host'],
      samples: 0,
    };
  }
}

checkMethods(Lattice.prototype, latticeSignatures, latticeKinds);
