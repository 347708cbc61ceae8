// Where each method of a lattice would run: one row per method, and the rules that keep work on the host.

import { isPlain } from '../base/kinds.ts';
import type { OperationType } from '../index.ts';

export interface MethodRow {
  /** What the router is told; `host`: it runs on the host whatever the device. */
  readonly op: OperationType | 'host';
  /** Answered by a formula as long as nothing is blocked. */
  readonly formula?: true;
  /** Searched on the host where the lattice is small; what counts as its size, by the number of its vertices. */
  readonly small?: (vertices: number) => number;
}

const byVertices = (vertices: number): number => vertices;
const byPairs = (vertices: number): number => vertices ** 2;

export const methodRows: Readonly<Record<string, MethodRow>> = {
  build: { op: 'lattice_creation', small: byVertices },
  adjacency: { op: 'lattice_creation', small: byVertices },
  shortestPath: { op: 'path_finding', formula: true, small: byVertices },
  shortestPaths: { op: 'path_finding', formula: true, small: byVertices },
  distancesFrom: { op: 'path_finding', formula: true, small: byVertices },
  reach: { op: 'path_finding', formula: true, small: byVertices },
  countWalks: { op: 'path_finding' },
  distanceWithObstacles: { op: 'path_finding' },
  distance: { op: 'host' },
  allPaths: { op: 'host' },
  countShortestPaths: { op: 'host' },
  analyze: { op: 'graph_algorithm', formula: true, small: byPairs },
  metrics: { op: 'graph_algorithm', formula: true, small: byPairs },
  centrality: { op: 'graph_algorithm', small: byPairs },
  communities: { op: 'host' },
  xor: { op: 'transform' },
  xorWithNewKey: { op: 'transform' },
  transform: { op: 'transform' },
  permuteAxes: { op: 'transform' },
  reflect: { op: 'transform' },
  rotate90: { op: 'transform' },
  diffuse: { op: 'transform' },
  matmul: { op: 'matrix_multiply' },
  reduce: { op: 'reduction' },
};

/** Ways that are asked for by name and need a device. */
const onDevice: ReadonlySet<unknown> = new Set(['levels', 'bits', 'device']);

const isOptions = (x: unknown): x is { readonly method?: unknown } =>
  typeof x === 'object' && x !== null && !Array.isArray(x) && isPlain(x);

/** Why a call stays on the host; null where a device does it. `keeps`: what is small enough, and why. */
export function hostReason(
  method: string,
  args: readonly unknown[],
  lattice: { readonly vertices: number; readonly masked: boolean },
  keeps: (size: number) => string | null,
): string | null {
  const { op, formula, small } = methodRows[method]!;
  if (op === 'host') return `${method} is arithmetic or a walk over the graph, on the host`;
  const options = args.at(-1);
  const how = isOptions(options) ? options.method : undefined;
  if (onDevice.has(how)) return null;
  if (how === 'host') return "method: 'host' was asked for";
  if (method === 'centrality' && args.length > 0 && args[0] !== 'betweenness')
    return `the centrality ${String(args[0])} is computed on the host`;
  if (formula && !lattice.masked && how !== 'search') return `${method} is a formula as long as nothing is blocked`;
  return small ? keeps(small(lattice.vertices)) : null;
}
