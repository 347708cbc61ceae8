// Tensors kept for reuse, by shape, dtype, device and layout.
//
// Tensors of this library never change. So a tensor that was lent as zeros is still zeros when it comes back, and lending it
// again costs nothing; a release makes the caller's handle unusable, and the next caller gets a handle of its own. Nobody can
// reach memory that somebody else has. The pool learns the order of requests, makes ready what comes next while nobody waits,
// and gives up first what is needed last.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import {
  ArgumentError,
  byteSize,
  DeviceUnavailable,
  DisposedError,
  type DType,
  type Runtime,
  type Shape,
  type Tensor,
} from '../index.ts';
import { Shared } from '../profile/shared.ts';
import { DeviceManager } from './device-manager.ts';
import { told } from './errors.ts';
import { filled, keyOf, type PoolInit, type PoolPlace } from './pool-fill.ts';
import { Loans } from './pool-loans.ts';
import { type Shelf, Stock } from './pool-stock.ts';
import { SequencePredictor } from './predictor.ts';
import { computeKinds, poolMakers, poolSignatures } from './signatures.ts';

export interface PoolRequest {
  /** Default f32. */
  readonly dtype?: DType | undefined;
  /** What the tensor holds: zeros (default), anything at all, or these values. */
  readonly init?: PoolInit | undefined;
}

export interface PoolOptions {
  /** Bytes that idle tensors may hold. Default 256 MiB. */
  readonly limitBytes?: number | undefined;
  /** Make ready what is asked for next. Default true. */
  readonly predict?: boolean | undefined;
  /** `init: 'none'` gives NaN, so that reads of values nobody set show up. Default false. */
  readonly debug?: boolean | undefined;
}

export interface PoolDeps extends PoolOptions {
  readonly devices?: DeviceManager | undefined;
}

export interface PoolStats {
  readonly hits: number;
  readonly misses: number;
  /** 0 to 1; 0 before the first request. */
  readonly hitRate: number;
  /** Bytes of idle tensors, and of tensors that callers have. */
  readonly bytesHeld: number;
  readonly bytesLent: number;
  readonly evictions: number;
  /** Tensors made ahead of a request. */
  readonly prepared: number;
  readonly keys: Readonly<
    Record<string, { readonly idle: number; readonly lent: number; readonly hits: number; readonly misses: number }>
  >;
}

/** Requests ahead for which tensors are made ready, and over which the order of eviction is decided. */
const lookAhead = 4;
const farAhead = 64;

const shared = new Shared<TensorPool, PoolOptions>('TensorPool', (options) =>
  TensorPool.create({ ...options, devices: DeviceManager.getInstance() }),
);

export class TensorPool {
  readonly #devices: DeviceManager;
  readonly #limit: number;
  readonly #debug: boolean;
  readonly #predictor: SequencePredictor | null;
  readonly #stock: Stock;
  readonly #loans = new Loans();
  readonly #leave: () => void;
  readonly #requested = new Set<(hit: boolean) => void>();
  #runtime: Runtime | null = null;
  #unregister: () => void = () => {};
  #hits = 0;
  #misses = 0;
  #prepared = 0;
  #scheduled = false;
  #disposed = false;

  static getInstance(options?: PoolOptions): TensorPool {
    return shared.get(options);
  }

  static create(deps: PoolDeps = {}): TensorPool {
    return new TensorPool(deps);
  }

  private constructor(deps: PoolDeps = notMade('TensorPool', 'TensorPool.create()')) {
    this.#devices = deps.devices ?? DeviceManager.getInstance();
    this.#limit = deps.limitBytes ?? 256 << 20;
    this.#debug = deps.debug ?? false;
    this.#predictor = (deps.predict ?? true) ? new SequencePredictor() : null;
    if (!(this.#limit >= 0)) {
      throw new ArgumentError({
        message: `TensorPool: limitBytes is ${this.#limit}`,
        where: 'TensorPool',
        fix: 'Use a number of bytes, 0 or more.',
      });
    }
    this.#stock = new Stock(this.#limit, () => this.#predictor?.distances(farAhead) ?? new Map());
    this.#leave = this.#devices.on('reset', () => this.#stock.empty());
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * A tensor of zeros, or of what `init` says: an idle one if there is one, else a new one.
   * @example
   * ```ts
   * import { DeviceManager, TensorPool } from 'gpuforge/compute';
   * await using devices = DeviceManager.create();
   * await devices.selectDevice();
   * using pool = TensorPool.create({ devices });
   * const a = pool.reuseOrCreateTensor([2, 2]);
   * pool.releaseTensor(a);
   * const b = pool.reuseOrCreateTensor([2, 2]);
   * pool.stats().hits; // → 1
   * ```
   */
  reuseOrCreateTensor(shape: Shape, options: PoolRequest = {}): Tensor {
    const operation = 'reuseOrCreateTensor';
    this.#checkOpen(operation);
    const place = this.#here(operation);
    const { dtype = 'f32', init = 'zeros' } = options;
    try {
      const key = keyOf(place.device, shape, dtype);
      const shelf = this.#stock.find(key);
      const found = shelf ? this.#stock.take(shelf, init === 'zeros') : null;
      const { tensor, content } = filled(place, shape, dtype, found, init, this.#debug);
      this.#count(this.#stock.shelf(key, shape, dtype), found !== null);
      this.#loans.lend(tensor, key, content);
      this.#predictor?.add(key);
      this.#schedule();
      return tensor;
    } catch (e) {
      throw told(e, operation, place.device);
    }
  }

  /** Gives a tensor of this pool back. The handle cannot be used any more. */
  releaseTensor(tensor: Tensor): void {
    this.#checkOpen('releaseTensor');
    const { key, content, bytes } = this.#loans.takeBack(tensor);
    const home = this.#runtime !== null && this.#runtime === this.#devices.runtime && this.#runtime.owns(tensor);
    // Of a runtime that was closed meanwhile, or given up by a compiled function: nothing to keep.
    if (!home || !tensor.computed || bytes > this.#limit) {
      tensor.dispose();
      return;
    }
    const shelf = this.#stock.shelf(key, tensor.shape, tensor.dtype);
    // A second handle that no scope knows.
    const kept = tensor.clone().keep();
    tensor.dispose();
    this.#stock.keep(shelf, { tensor: kept, content, bytes });
    this.#schedule();
  }

  stats(): PoolStats {
    const requests = this.#hits + this.#misses;
    const lent = this.#loans.count();
    const keys = [...this.#stock.shelves].map(({ key, idle, hits, misses }) => {
      return [key, { idle: idle.length, lent: lent.byKey.get(key) ?? 0, hits, misses }] as const;
    });
    return {
      hits: this.#hits,
      misses: this.#misses,
      hitRate: requests === 0 ? 0 : this.#hits / requests,
      bytesHeld: this.#stock.held,
      bytesLent: lent.bytes,
      evictions: this.#stock.evictions,
      prepared: this.#prepared,
      keys: Object.fromEntries(keys),
    };
  }

  /** Gives back at least this many bytes of idle tensors, by default all of them; returns how many it was. */
  trim(bytes = Number.POSITIVE_INFINITY): number {
    const before = this.#stock.held;
    this.#stock.shrink(Math.max(0, before - bytes));
    return before - this.#stock.held;
  }

  /** Calls back at each request; returns a function that stops it. */
  onRequest(listener: (hit: boolean) => void): () => void {
    this.#requested.add(listener);
    return () => this.#requested.delete(listener);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#leave();
    this.#unregister();
    this.#stock.empty();
    this.#loans.recall();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #count(shelf: Shelf, hit: boolean): void {
    if (hit) {
      this.#hits++;
      shelf.hits++;
    } else {
      this.#misses++;
      shelf.misses++;
    }
    for (const listener of this.#requested) listener(hit);
  }

  /** Makes ready what comes next, when the caller has had its turn. */
  #schedule(): void {
    if (!this.#predictor || this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#prepare();
    });
  }

  #prepare(): void {
    const device = this.#devices.getActiveDevice();
    const runtime = this.#runtime;
    if (this.#disposed || !this.#predictor || !device || !runtime || runtime !== this.#devices.runtime) return;
    const wanted = new Map<string, number>();
    for (const key of this.#predictor.next(lookAhead)) wanted.set(key, (wanted.get(key) ?? 0) + 1);
    for (const [key, count] of wanted) {
      const shelf = this.#stock.find(key);
      if (!shelf || shelf.idle.length >= count) continue;
      const bytes = shelf.shape.reduce((n, d) => n * d, 1) * byteSize(shelf.dtype);
      if (!this.#stock.fits(bytes)) return;
      try {
        const { tensor } = filled({ runtime, device }, shelf.shape, shelf.dtype, null, 'zeros', false);
        this.#prepared++;
        this.#stock.keep(shelf, { tensor: tensor.keep(), content: 'zeros', bytes });
      } catch {
        // Making ready is a favour: if there is no room for it, the request itself will say so.
        return;
      }
    }
  }

  #here(operation: string): PoolPlace {
    const { runtime } = this.#devices;
    const device = this.#devices.getActiveDevice();
    if (!runtime || !device) {
      throw new DeviceUnavailable({
        message: `${operation}: no device is selected, or one is just being selected`,
        where: operation,
        fix: 'Await DeviceManager.selectDevice() or a transfer first: selecting a device takes time.',
      });
    }
    if (runtime !== this.#runtime) {
      this.#stock.empty();
      this.#runtime = runtime;
      this.#unregister();
      // Under pressure the runtime asks its users first; what is idle here is the least that anybody misses.
      this.#unregister = runtime.memory.registerCleanupCallback(() => {
        this.trim();
      });
    }
    return { runtime, device };
  }

  #checkOpen(operation: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({
      message: `${operation}: the pool was disposed`,
      where: operation,
      fix: 'Make a new one.',
    });
  }
}

checkMethods(TensorPool.prototype, poolSignatures, computeKinds);
checkMethods(TensorPool, poolMakers, computeKinds);
