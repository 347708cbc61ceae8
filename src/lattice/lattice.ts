// Lattice: the grid graph L(d, n), optionally with blocked vertices, and the work on it. What is found is the same wherever it was
// computed.

import { checkMethods } from '../base/signatures.ts';
import type { BorrowReport, OperationType, RouteExplanation } from '../index.ts';
import { LatticeCatalytic } from './catalytic/lattice.ts';
import { oneOf } from './errors.ts';
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

  /** Where a method would run, and why there. */
  explain(method: string): RouteExplanation {
    this.session.check('explain');
    const known = operations[oneOf('explain', 'method', method, Object.keys(operations))]!;
    const op = !this.mask && formulas.has(method) ? 'host' : known;
    const rt = this.session.runtime;
    const { vertices } = this.grid;
    if (rt && op !== 'host' && this.options.device === 'auto') return rt.routing.explain(op, vertices);
    const reason =
      op === 'host'
        ? `${method} is arithmetic or a walk over the graph on the host`
        : rt
          ? `device: '${this.options.device}' was asked for`
          : `no device is open yet; device: '${this.options.device}' is looked for on first use`;
    return {
      device: op === 'host' || !rt ? 'cpu' : (this.session.pin(rt, 'explain') ?? 'cpu'),
      outcome: 'no_preference',
      reason,
      predictions: [],
      explored: false,
      op: op === 'host' ? 'graph_algorithm' : op,
      elements: vertices,
      location: ['host'],
      samples: 0,
    };
  }
}

/** Arithmetic as long as nothing is blocked. */
const formulas: ReadonlySet<string> = new Set(['analyze', 'metrics']);

/** What the router is told about each method; `host` runs on the host whatever the device. */
const operations: Readonly<Record<string, OperationType | 'host'>> = {
  build: 'lattice_creation',
  adjacency: 'lattice_creation',
  shortestPath: 'path_finding',
  shortestPaths: 'path_finding',
  distancesFrom: 'path_finding',
  reach: 'path_finding',
  countWalks: 'path_finding',
  distanceWithObstacles: 'path_finding',
  distance: 'host',
  allPaths: 'host',
  countShortestPaths: 'host',
  analyze: 'graph_algorithm',
  metrics: 'graph_algorithm',
  centrality: 'graph_algorithm',
  communities: 'host',
  xor: 'transform',
  xorWithNewKey: 'transform',
  transform: 'transform',
  permuteAxes: 'transform',
  reflect: 'transform',
  rotate90: 'transform',
  diffuse: 'transform',
  matmul: 'matrix_multiply',
  reduce: 'reduction',
};

checkMethods(Lattice.prototype, latticeSignatures, latticeKinds);
