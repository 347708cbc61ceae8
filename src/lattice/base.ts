// What every part of a lattice stands on: the grid, the mask, the runtime behind it, and what was made once and is kept.
//
// The constructor opens nothing and stores nothing per vertex. Methods here are arithmetic. A call answers for the mask that the lattice
// has when the call is made: methods read `mask` before they first wait, and hand it on.

import { argumentsOf } from '../base/signatures.ts';
import { ArgumentError, type DeviceId, formatBytes, type Runtime, type Tensor, throwIfAborted } from '../index.ts';
import { type Adjacency, edgeCount, gridAdjacency } from './adjacency.ts';
import { type Analysis, closedForm, estimateMemory, type MemoryEstimate } from './analysis.ts';
import { kindOf } from './arrays.ts';
import type { BatchOption } from './batch.ts';
import { type Csr, freeCsr } from './build.ts';
import { LatticeTooLargeError } from './errors.ts';
import { Grid } from './grid.ts';
import { type Blocked, Mask } from './mask.ts';
import { type LatticeOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { PathCache } from './path-cache.ts';
import { Session } from './session.ts';

export const MiB = 2 ** 20;

/** What asynchronous calls have in common. */
interface CallOptions extends BatchOption {
  readonly signal?: AbortSignal | undefined;
}

export abstract class LatticeBase implements AsyncDisposable {
  readonly dimensions: number;
  readonly size: number;
  protected readonly grid: Grid;
  protected readonly session: Session;
  protected readonly options: ResolvedOptions;
  protected readonly cache: PathCache;
  protected mask: Mask | null;
  protected csr: Csr | null = null;
  #adjacency: Adjacency | null = null;
  #disposed: Promise<void> | null = null;

  /**
   * ```ts
   * import { Lattice } from 'gpuforge/lattice';
   * await using lattice = new Lattice({ dimensions: 4, size: 10 });
   * const { length } = await lattice.shortestPath(0, 9999); // 36
   * ```
   */
  constructor(options: LatticeOptions = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    this.options = resolveOptions(options);
    this.grid = new Grid(this.options.dimensions, this.options.size);
    this.dimensions = this.grid.dimensions;
    this.size = this.grid.size;
    this.mask = Mask.of(this.grid, options.blocked, 'Lattice');
    this.cache = new PathCache(this.options.pathCache);
    this.session = new Session('lattice', { ...this.options, runtime: options.runtime });
  }

  toString(): string {
    const blocked = this.mask ? `, ${this.mask.blocked} of them blocked` : '';
    return `Lattice(${this.dimensions} axes of ${this.size}, ${this.grid.vertices} vertices${blocked})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Vertices that are not blocked. */
  get vertices(): number {
    return this.grid.vertices - (this.mask?.blocked ?? 0);
  }

  /** Edges between them. */
  get edges(): number {
    return this.mask ? edgeCount(this.graph('edges')) : this.grid.edges;
  }

  get built(): boolean {
    return this.csr !== null;
  }

  /** Where device work last ran; null before there was any. */
  get device(): DeviceId | null {
    return this.session.device;
  }

  /** Whether both were given the same runtime. */
  sharesRuntime(other: LatticeBase): boolean {
    return this.session.given !== null && this.session.given === other.session.given;
  }

  /** Blocks these vertices instead of those before; nothing for none. What was built and remembered is forgotten. */
  setBlocked(blocked: Blocked | null): void {
    this.session.check('setBlocked');
    this.mask = Mask.of(this.grid, blocked, 'setBlocked');
    this.forget();
  }

  indexToCoords(vertex: number): number[] {
    this.session.check('indexToCoords');
    return this.grid.coords(this.grid.check(vertex, 'indexToCoords'));
  }

  coordsToIndex(coords: readonly number[]): number {
    this.session.check('coordsToIndex');
    return this.grid.index(coords, 'coordsToIndex');
  }

  /** Whether these are coordinates of a vertex. */
  validateCoords(coords: unknown): boolean {
    this.session.check('validateCoords');
    return this.grid.valid(coords);
  }

  /** Ascending; blocked ones are left out. */
  neighbors(vertex: number): number[] {
    return this.near(this.free(vertex, 'neighbors'), this.mask);
  }

  /** Of the lattice without its mask. */
  analyzeClosedForm(): Analysis {
    this.session.check('analyzeClosedForm');
    return closedForm(this.grid);
  }

  estimateMemory(): MemoryEstimate {
    this.session.check('estimateMemory');
    return estimateMemory(this.grid);
  }

  /**
   * Frees everything, and closes the runtime if it is the lattice's own. All later calls are refused. Work in borrowed memory that is not
   * done is stopped and undone first.
   */
  async dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    await this.#disposed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  // For the other parts.

  async #end(): Promise<void> {
    const closing = this.session.close(this.stopWork());
    this.forget();
    await closing;
  }

  /** Ends work that has to be undone before the runtime may be closed. */
  protected async stopWork(): Promise<void> {}

  /** Bytes of the memory that catalytic methods borrow. */
  protected get auxBytes(): number {
    return 0;
  }

  /** Free neighbours, ascending. */
  protected near(vertex: number, mask: Mask | null): number[] {
    const all = this.grid.neighbors(vertex);
    return mask ? all.filter((v) => !mask.bytes[v]) : all;
  }

  /** A vertex that can be used. */
  protected free(vertex: number, where: string): number {
    this.session.check(where);
    return Mask.free(this.mask, this.grid.check(vertex, where), where);
  }

  protected ends(s: number, t: number, where: string): void {
    this.free(s, where);
    this.free(t, where);
  }

  /** Asked before anything is done: the batch of a call has this lattice, and its caller has not ended it. */
  protected wanted(where: string, { batch, signal }: CallOptions): void {
    batch?.check(this, where);
    throwIfAborted(signal, where);
  }

  /** The adjacency on the host, made once for the present mask. */
  protected graph(where: string, mask = this.mask): Adjacency {
    this.session.check(where);
    this.addressable(where);
    if (mask !== this.mask) return gridAdjacency(this.grid, mask, where);
    this.#adjacency ??= gridAdjacency(this.grid, mask, where);
    return this.#adjacency;
  }

  /** Refuses, before anything is allocated, what has no room. */
  protected affordable(rt: Runtime, bytes: number, what: string, where: string): void {
    const free = this.session.freeBytes(rt, 'lattice_creation', where);
    if (bytes <= free) return;
    throw new LatticeTooLargeError({
      where,
      problem: `${what} of the lattice ${this.grid} takes ${bytes} bytes (${formatBytes(bytes)}), ${free} (${formatBytes(free)}) are free`,
      fix: 'Use a smaller lattice, free memory, or methods with a closed form.',
    });
  }

  /** Refuses lattices whose vertices one array cannot hold. */
  protected addressable(where: string): void {
    const { vertices, edges } = this.grid;
    if (2 * edges < 2 ** 31) return;
    const { csr } = estimateMemory(this.grid);
    throw new LatticeTooLargeError({
      where,
      problem: `the lattice ${this.grid} has ${vertices} vertices; its adjacency takes ${csr} bytes, and the most that can be addressed is ${2 ** 33}`,
      fix: 'Use a smaller lattice, or methods with a closed form: distance, shortestPath and allPaths without a mask, analyzeClosedForm.',
    });
  }

  protected tooManyWords(words: number, where: string): LatticeTooLargeError {
    return new LatticeTooLargeError({
      where,
      problem: `one bit per vertex of the lattice ${this.grid} takes ${words} words of 32 bits; a tensor has at most ${2 ** 31 - 1} elements`,
      fix: 'Use a smaller lattice.',
    });
  }

  /** Refuses a tensor of another runtime. */
  protected own(rt: Runtime, x: Tensor, where: string): void {
    using probe = rt.zeros([0]);
    if (probe.host === x.host) return;
    throw new ArgumentError({
      code: 'FOREIGN_TENSOR',
      message: `${where}: ${kindOf(x)} belongs to another runtime than the lattice`,
      fix: 'Give the lattice that runtime: new Lattice({ runtime }), or copy the data.',
      where,
    });
  }

  protected forget(): void {
    this.cache.clear();
    this.#adjacency = null;
    if (this.csr) freeCsr(this.csr);
    this.csr = null;
  }
}

const takes = argumentsOf('Lattice', 'options:own?');
