// The structure of a lattice: adjacency on a device, analysis, centralities, communities.

import { type Tensor, throwIfAborted } from '../index.ts';
import { type Analysis, analysis, closedForm, estimateMemory, masked } from './analysis.ts';
import { MiB } from './base.ts';
import type { BatchOption } from './batch.ts';
import { betweenness, orbitsOf, sharedByOrbit, symmetricBetweenness } from './brandes.ts';
import { type Csr, computeCsr, denseAdjacency, freeCsr, uploadCsr } from './build.ts';
import {
  betweennessDivisor,
  type CentralityKind,
  centralityKinds,
  closeness,
  degrees,
  eigenvector,
} from './centrality.ts';
import {
  type CommunityMethod,
  type CommunityOptions,
  communityMethods,
  findCommunities,
  type Partition,
} from './communities.ts';
import { oneOf, wholeNumber } from './errors.ts';
import type { Grid } from './grid.ts';
import { searchBytes, surveyByLevels } from './levels.ts';
import { freeVertices, type Mask } from './mask.ts';
import { deviceDependencies } from './on-device/brandes.ts';
import { columnsFor } from './on-device/columns.ts';
import { gridNeighborhood } from './on-device/neighborhood.ts';
import { LatticePaths } from './paths.ts';

export interface Metrics extends Omit<Analysis, 'density'> {
  /** Tensors of this lattice and its cache of paths, in MB of 2^20 bytes. */
  readonly memoryUsageMb: number;
  /** 8 N² bytes of a dense matrix over the 8 E + 4 N of the sparse one: how the two forms compare, not a saving by computation. */
  readonly denseToSparseRatio: number;
}

export interface BuildOptions extends BatchOption {
  readonly signal?: AbortSignal | undefined;
}

const analyzeMethods = ['auto', 'levels'] as const;

export interface AnalyzeOptions extends BatchOption {
  /** With a mask. `levels`: searches from all vertices at once, on whatever device. `auto`: there, if the router says so. */
  readonly method?: (typeof analyzeMethods)[number] | undefined;
}

/** Vertices times sources of an analysis on a device: above, the host needs far fewer searches. */
const mostPlaces = 2 ** 28;

const centralityMethods = ['auto', 'host', 'device'] as const;

export interface CentralityOptions extends BatchOption {
  readonly normalized?: boolean | undefined;
  /**
   * Of betweenness; the others are formulas or host work. `device`: all sources level by level, in doubles. `auto`: there, if the
   * router says so.
   */
  readonly method?: (typeof centralityMethods)[number] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export abstract class LatticeStructure extends LatticePaths {
  #building: Promise<Csr> | null = null;

  /** The adjacency on a device. A second call gives what the first one gave. */
  build(o: BuildOptions = {}): Promise<Csr> {
    this.#building ??= this.#build(o).catch((error: unknown) => {
      this.#building = null;
      throw error;
    });
    return this.#building;
  }

  /** As `build`; with `dense`, a matrix of ones and zeros. */
  async adjacency(o: BatchOption & { readonly dense?: boolean | undefined } = {}): Promise<Csr | Tensor> {
    const where = 'adjacency';
    this.session.check(where);
    this.wanted(where, o);
    if (!o.dense) return this.build();
    const { grid, mask } = this;
    const rt = await this.session.open(where);
    this.affordable(rt, 4 * grid.vertices ** 2, 'a dense matrix', where);
    return this.session.within(rt, 'lattice_creation', where, () => denseAdjacency(rt, grid, mask));
  }

  async analyze(o: AnalyzeOptions = {}): Promise<Analysis> {
    const where = 'analyze';
    this.session.check(where);
    this.wanted(where, o);
    const method = oneOf(where, 'method', o.method ?? 'auto', analyzeMethods);
    const { grid, mask } = this;
    if (!mask) return closedForm(grid);
    const host = (): Analysis => masked(grid, mask, this.graph(where, mask));
    const places = grid.vertices ** 2 * (o.batch?.lattices.length ?? 1);
    if (places > mostPlaces) return host();
    if (method === 'auto' && (await this.session.onHost('graph_algorithm', places, where))) return host();
    const together = (masks: readonly Mask[]): Promise<Analysis[]> => this.#analyzeTogether(masks);
    const byLevels = async (): Promise<Analysis> =>
      o.batch ? o.batch.join(where, mask, together) : (await together([mask]))[0]!;
    return this.session.orOnHost(where, byLevels, host);
  }

  /** Searches from every vertex of every lattice at once; what is asked of them is counted on the device. */
  async #analyzeTogether(masks: readonly Mask[]): Promise<Analysis[]> {
    const where = 'analyze';
    const { grid } = this;
    const each = masks.map((mask) => freeVertices(mask).map((source) => ({ mask, source })));
    const starts = each.flat();
    const none = { farthest: new Int32Array(0), reached: new Int32Array(0), near: new Int32Array(0) };
    const rt = await this.session.open(where);
    this.affordable(rt, searchBytes * grid.vertices * starts.length, 'searches from every vertex', where);
    const pinned = this.session.scoped(rt, 'graph_algorithm', where);
    const found = starts.length === 0 ? none : await surveyByLevels(rt, pinned, { grid, starts });
    let from = 0;
    return each.map(({ length }) => {
      const of = (values: Int32Array): Int32Array => values.subarray(from, from + length);
      const connected = length > 0 && of(found.reached).every((n) => n === length);
      const edges = of(found.near).reduce((a, b) => a + b, 0) / 2;
      const diameter = connected ? of(found.farthest).reduce((a, b) => Math.max(a, b), 0) : -1;
      from += length;
      return analysis(grid, length, edges, diameter);
    });
  }

  async metrics(o: AnalyzeOptions = {}): Promise<Metrics> {
    this.session.check('metrics');
    const { density: _, ...rest } = await this.analyze(o);
    const { vertices: n, edges } = rest;
    const csr = this.csr ? 4 * (this.csr.offsets.size + this.csr.neighbors.size) : 0;
    return {
      ...rest,
      memoryUsageMb: (csr + this.auxBytes + this.cache.stats().bytes) / MiB,
      denseToSparseRatio: n === 0 ? 0 : (8 * n ** 2) / (8 * edges + 4 * n),
    };
  }

  /** One number per vertex; blocked ones get 0. */
  async centrality(kind: CentralityKind, o: CentralityOptions = {}): Promise<Float64Array> {
    const where = 'centrality';
    this.session.check(where);
    oneOf(where, 'centrality', kind, centralityKinds);
    this.wanted(where, o);
    const method = oneOf(where, 'method', o.method ?? 'auto', centralityMethods);
    this.addressable(where);
    const { mask, vertices: n } = this;
    const host = (): Float64Array => (mask ? this.#maskedCentrality(mask, kind) : this.#gridCentrality(kind));
    const values =
      kind === 'betweenness' && method !== 'host' ? await this.#betweenness(mask, method, host, o.signal) : host();
    const divisors: Readonly<Record<CentralityKind, number>> = {
      betweenness: betweennessDivisor(n),
      degree: n - 1,
      closeness: 1,
      eigenvector: 1,
    };
    const divisor = divisors[kind];
    return o.normalized && divisor > 0 ? values.map((v) => v / divisor) : values;
  }

  async communities(
    method: CommunityMethod = 'modularity',
    o: CommunityOptions & BatchOption = {},
  ): Promise<Partition> {
    const where = 'communities';
    this.session.check(where);
    this.wanted(where, o);
    oneOf(where, 'method', method, communityMethods);
    if (o.seed !== undefined) wholeNumber(where, 'seed', o.seed);
    const graph = this.graph(where);
    return findCommunities({ graph, skip: this.mask?.bytes, starts: () => blocks(this.grid) }, method, o);
  }

  /** On a device where that is asked for or pays; on the host otherwise. */
  async #betweenness(
    mask: Mask | null,
    method: 'auto' | 'device',
    host: () => Float64Array,
    signal: AbortSignal | undefined,
  ): Promise<Float64Array> {
    const where = 'centrality';
    const { grid } = this;
    const orbits = mask ? null : orbitsOf(grid.vertices, (v) => grid.orbit(v));
    const sources = orbits?.sources ?? Int32Array.from(freeVertices(mask!));
    const places = sources.length * grid.vertices;
    if (method === 'auto' && (await this.session.onHost('graph_algorithm', places, where))) return host();
    const rt = await this.session.open(where);
    if (!this.session.can(rt, ['f64'])) {
      this.session.fellBack(where, this.device ?? 'auto', 'host', 'no open device has f64');
      return host();
    }
    const onDevice = async (): Promise<Float64Array> => {
      const pinned = this.session.scoped(rt, 'graph_algorithm', where, ['f64']);
      const hood = pinned(() => gridNeighborhood(rt, grid, mask));
      const sums = await deviceDependencies(rt, pinned, {
        hood,
        sources,
        times: Float64Array.from(orbits?.members ?? new Float64Array(sources.length).fill(1)),
        levels: mask ? undefined : grid.diameter,
        columns: columnsFor(rt, this.session, grid.vertices, sources.length, where),
        signal,
      }).finally(() => hood.dispose());
      return (orbits ? sharedByOrbit(orbits, sums) : sums).map((x) => x / 2);
    };
    return this.session.orOnHost(where, onDevice, host);
  }

  #gridCentrality(kind: CentralityKind): Float64Array {
    const { grid } = this;
    const each = (f: (v: number) => number): Float64Array =>
      Float64Array.from({ length: grid.vertices }, (_, v) => f(v));
    const sines = Array.from({ length: grid.size }, (_, x) => Math.sin((Math.PI * (x + 1)) / (grid.size + 1)));
    const most = Math.max(...sines);
    const by: Readonly<Record<CentralityKind, () => Float64Array>> = {
      degree: () => each((v) => grid.neighbors(v).length),
      closeness: () => each((v) => (grid.vertices - 1) / grid.distanceSum(v)),
      eigenvector: () => each((v) => grid.coords(v).reduce((product, x) => (product * sines[x]!) / most, 1)),
      betweenness: () => symmetricBetweenness(this.graph('centrality', null), (v) => grid.orbit(v)),
    };
    return by[kind]();
  }

  #maskedCentrality(mask: Mask, kind: CentralityKind): Float64Array {
    const graph = this.graph('centrality', mask);
    const by: Readonly<Record<CentralityKind, () => Float64Array>> = {
      degree: () => degrees(graph),
      closeness: () => closeness(graph, graph.vertices - mask.blocked),
      eigenvector: () => eigenvector(graph),
      betweenness: () => betweenness(graph),
    };
    return by[kind]();
  }

  async #build(o: BuildOptions): Promise<Csr> {
    const where = 'build';
    this.session.check(where);
    this.wanted(where, o);
    const estimate = estimateMemory(this.grid);
    this.addressable(where);
    const rt = await this.session.open(where);
    throwIfAborted(o.signal, where);
    this.affordable(rt, estimate.csr, 'the adjacency', where);
    const host = await this.session.onHost('lattice_creation', this.grid.vertices, where);
    for (;;) {
      const { mask } = this;
      const entries = 2 * this.edges;
      const csr = this.session.within(rt, 'lattice_creation', where, () =>
        host ? uploadCsr(rt, this.graph(where)) : computeCsr(rt, this.grid, mask, entries),
      );
      try {
        await rt.flush({ signal: o.signal }, csr.offsets, csr.neighbors);
        this.session.check(where);
      } catch (error) {
        freeCsr(csr);
        throw error;
      }
      this.cache.clear();
      if (mask === this.mask) return (this.csr = csr);
      // Other vertices were blocked in the meantime: what a lattice has built is of the mask it has.
      freeCsr(csr);
    }
  }

  protected override forget(): void {
    // A build that goes on sees the other mask by itself.
    if (this.csr) this.#building = null;
    super.forget();
  }
}

/** The lattice cut into equal blocks, 2, 3, 4 … along each axis: good partitions to begin with. */
function* blocks(grid: Grid): Generator<Int32Array> {
  for (let parts = 2; parts <= Math.min(grid.size, 6); parts++) {
    yield Int32Array.from({ length: grid.vertices }, (_, v) =>
      grid.coords(v).reduce((label, x) => label * parts + Math.floor((x * parts) / grid.size), 0),
    );
  }
}
