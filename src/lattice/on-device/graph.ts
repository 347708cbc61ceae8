// A graph on a device: what is worth it for large graphs. Results are those of the host's methods; where no open device has f64, or
// the device fails, the host does the work and `fallbacks` says so.

import { notMade } from '../../base/arguments.ts';
import { checkMethods } from '../../base/signatures.ts';
import { type DeviceId, type Runtime, throwIfAborted } from '../../index.ts';
import type { Adjacency } from '../adjacency.ts';
import { betweennessDivisor } from '../centrality.ts';
import type { Graph } from '../graph.ts';
import { type PageRankOptions, resolvePageRank, strengths } from '../page-rank.ts';
import { type Fallback, Session } from '../session.ts';
import { deviceGraphSignatures, latticeKinds } from '../signatures.ts';
import { deviceDependencies } from './brandes.ts';
import { columnsFor } from './columns.ts';
import { deviceDistances } from './distances.ts';
import { deviceRank, type Giving, giving } from './rank.ts';
import type { Pinned } from './rounds.ts';
import { DeviceRows } from './rows.ts';

export interface DeviceGraphOptions {
  /** Default 'auto': the router's choice. */
  readonly device?: 'auto' | 'gpu' | 'cpu' | DeviceId | undefined;
}

export interface WorkOptions {
  readonly signal?: AbortSignal | undefined;
}

export class DeviceGraph implements Disposable {
  readonly #graph: Graph;
  readonly #rt: Runtime;
  readonly #session: Session;
  #rows: DeviceRows | null = null;
  #giving: Giving | null = null;

  /** @internal Made by `graph.on(rt)`. */
  constructor(
    graph: Graph,
    rt: Runtime,
    { device = 'auto' }: DeviceGraphOptions = notMade('DeviceGraph', 'graph.on(rt)'),
  ) {
    this.#graph = graph;
    this.#rt = rt;
    this.#session = new Session('graph', { runtime: rt, device, routing: true });
  }

  /** Where work last ran; null before there was any. */
  get device(): DeviceId | null {
    return this.#session.device;
  }

  /** Work that was not done where it was asked for, and why. */
  get fallbacks(): readonly Fallback[] {
    return this.#session.fallbacks;
  }

  /** As `Graph.pageRank`. The host looks at the change every eight rounds, so there may be up to seven more. */
  async pageRank(o: PageRankOptions & WorkOptions = {}): Promise<Float64Array> {
    const where = 'pageRank';
    this.#begin(where, o);
    const settings = resolvePageRank(o);
    if (this.#graph.vertices === 0) return new Float64Array(0);
    return this.#onDevice(
      where,
      async (rows, pinned) => {
        this.#giving ??= pinned(() => giving(this.#rt, rows, strengths(this.#graph.rows)));
        const work = { rows, giving: this.#giving, ...settings, signal: o.signal };
        return (await deviceRank(this.#rt, pinned, work)).rank;
      },
      () => this.#graph.pageRank(settings),
    );
  }

  /** As `Graph.distancesFrom`: -1 where there is no way. */
  async distancesFrom(s: number, o: WorkOptions = {}): Promise<Float64Array> {
    const where = 'distancesFrom';
    this.#begin(where, o);
    this.#graph.checkVertex(s, where);
    return this.#onDevice(
      where,
      (rows, pinned) => deviceDistances(this.#rt, pinned, rows, rows.places[s]!, o.signal),
      () => this.#graph.distancesFrom(s),
    );
  }

  /** As `Graph.centrality('betweenness')`, by steps: graphs with weights are left to the host. */
  async betweenness(o: WorkOptions & { readonly normalized?: boolean | undefined } = {}): Promise<Float64Array> {
    const where = 'betweenness';
    this.#begin(where, o);
    const { normalized } = o;
    const host = (): Promise<Float64Array> => this.#graph.centrality('betweenness', { normalized });
    if (this.#graph.weighted) {
      this.#session.fellBack(where, 'auto', 'host', 'betweenness by weight is computed on the host');
      return host();
    }
    return this.#onDevice(
      where,
      async (rows, pinned) => {
        const { offsets, vertices } = this.#graph.rows;
        // Vertices without edges start nothing.
        const sources = Int32Array.from({ length: vertices }, (_, v) => v).filter((v) => offsets[v]! < offsets[v + 1]!);
        const work = {
          hood: rows,
          sources: sources.map((v) => rows.places[v]!),
          times: new Float64Array(sources.length).fill(1),
          columns: columnsFor(this.#rt, this.#session, vertices, sources.length, where),
          signal: o.signal,
        };
        const divisor = 2 * (normalized ? betweennessDivisor(vertices) || 1 : 1);
        const found = await deviceDependencies(this.#rt, pinned, work);
        return Float64Array.from({ length: vertices }, (_, v) => found[rows.places[v]!]! / divisor);
      },
      host,
    );
  }

  dispose(): void {
    this.#forget();
    void this.#session.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #begin(where: string, { signal }: WorkOptions): void {
    this.#session.check(where);
    throwIfAborted(signal, where);
  }

  async #onDevice(
    where: string,
    body: (rows: DeviceRows, pinned: Pinned) => Promise<Float64Array>,
    host: () => Float64Array | Promise<Float64Array>,
  ): Promise<Float64Array> {
    const rt = this.#rt;
    if (!this.#session.can(rt, ['f64'])) {
      this.#session.fellBack(where, 'auto', 'host', 'no open device has f64');
      return host();
    }
    const onDevice = async (): Promise<Float64Array> => {
      const pinned = this.#session.scoped(rt, 'graph_algorithm', where, ['f64']);
      try {
        return await body(this.#placed(pinned), pinned);
      } catch (error) {
        // The rows may be lost with their device: the next call places them anew.
        this.#forget();
        throw error;
      }
    };
    return this.#session.orOnHost(where, onDevice, host);
  }

  #forget(): void {
    this.#rows?.dispose();
    this.#rows = null;
    this.#giving?.share.dispose();
    this.#giving?.idle?.dispose();
    this.#giving = null;
  }

  #placed(pinned: Pinned): DeviceRows {
    const host = this.#rt.device(this.#session.device!).caps.host === true;
    const graph: Adjacency = this.#graph.rows;
    this.#rows ??= pinned(() => new DeviceRows(this.#rt, graph, host));
    return this.#rows;
  }
}

checkMethods(DeviceGraph.prototype, deviceGraphSignatures, latticeKinds);
