// Tensors kept for reuse, by shape, dtype, device and layout.
//
// Tensors of this library never change. So a tensor that was lent as zeros is still zeros when it comes back, and lending it
// again costs nothing; a release makes the caller's handle unusable, and the next caller gets a handle of its own. Nobody can
// reach memory that somebody else has. The pool learns the order of requests, makes ready what comes next while nobody waits,
// and gives up first what is needed last.

import { byteSize, type DType, type TypedArray } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import { DeviceManager } from './device-manager.ts';
import { DeviceUnavailableError, DisposedError, InvalidArgumentError, toComputeError } from './errors.ts';
import { Loans } from './pool-loans.ts';
import { type Content, type Idle, type Shelf, Stock } from './pool-stock.ts';
import { SequencePredictor } from './predictor.ts';
import { Shared } from './shared.ts';
import type { Station } from './station.ts';

export interface PoolRequest {
  /** Default f32. */
  readonly dtype?: DType | undefined;
  /** What the tensor holds: zeros (default), anything at all, or these values. */
  readonly init?: 'zeros' | 'none' | TypedArray | undefined;
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
  #station: Station | null = null;
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

  private constructor(deps: PoolDeps) {
    this.#devices = deps.devices ?? DeviceManager.getInstance();
    this.#limit = deps.limitBytes ?? 256 << 20;
    this.#debug = deps.debug ?? false;
    this.#predictor = (deps.predict ?? true) ? new SequencePredictor() : null;
    if (!(this.#limit >= 0)) {
      throw new InvalidArgumentError({
        message: `TensorPool: limitBytes is ${this.#limit}`,
        operation: 'TensorPool',
        hint: 'Use a number of bytes, 0 or more.',
      });
    }
    this.#stock = new Stock(this.#limit, () => this.#predictor?.distances(farAhead) ?? new Map());
    this.#leave = this.#devices.join({
      // What is idle is nobody's tensor, and what is lent is in its borrower's hands.
      live: () => 0,
      leave: async () => {
        this.#stock.empty();
        return { restored: 0, lost: 0 };
      },
    });
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
    const station = this.#here(operation);
    const { dtype = 'f32', init = 'zeros' } = options;
    try {
      checkShape(shape, operation);
      const key = keyOf(station, shape, dtype);
      const shelf = this.#stock.shelf(key, shape, dtype);
      const found = this.#stock.take(shelf, init === 'zeros');
      const { tensor, content } = this.#filled(station, shelf, found, init);
      this.#count(shelf, found !== null);
      this.#loans.lend(tensor, key, content);
      this.#predictor?.add(key);
      this.#schedule();
      return tensor;
    } catch (e) {
      throw toComputeError(e, { operation, device: station.id });
    }
  }

  /** Gives a tensor of this pool back. The handle cannot be used any more. */
  releaseTensor(tensor: Tensor): void {
    this.#checkOpen('releaseTensor');
    const { key, content, bytes } = this.#loans.takeBack(tensor);
    const station = this.#devices.current;
    const home = station !== null && tensor.host === station.host && station === this.#station;
    // Of a device that was left meanwhile, or given up by a compiled function: nothing to keep.
    if (!home || !tensor.node.storage || bytes > this.#limit) {
      tensor.dispose();
      return;
    }
    const shelf = this.#stock.shelf(key, tensor.shape, tensor.dtype);
    const kept = unscoped(tensor);
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

  #filled(
    station: Station,
    shelf: Shelf,
    found: Idle | null,
    init: NonNullable<PoolRequest['init']>,
  ): { tensor: Tensor; content: Content } {
    const { runtime } = station;
    const { shape, dtype } = shelf;
    const blank = init === 'zeros' || (init === 'none' && !this.#debug);
    // What is found has the right content, or any will do.
    if (found && (init === 'zeros' ? found.content === 'zeros' : blank)) {
      const tensor = new Tensor(found.tensor.host, found.tensor.node);
      found.tensor.dispose();
      return { tensor, content: found.content };
    }
    // Its memory is the first that the device hands out again.
    found?.tensor.dispose();
    if (blank) return { tensor: runtime.zeros(shape, { dtype }).compute(), content: 'zeros' };
    const values = init === 'none' ? null : (init as TypedArray);
    const tensor = values
      ? (runtime.tensor(values, shape, { dtype }) as Tensor)
      : (runtime.full(shape, notSet[dtype] ?? 0, { dtype }).compute() as unknown as Tensor);
    return { tensor, content: 'other' };
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
    const station = this.#devices.current;
    if (this.#disposed || !this.#predictor || !station || station !== this.#station) return;
    const wanted = new Map<string, number>();
    for (const key of this.#predictor.next(lookAhead)) wanted.set(key, (wanted.get(key) ?? 0) + 1);
    for (const [key, count] of wanted) {
      const shelf = this.#stock.find(key);
      if (!shelf || shelf.idle.length >= count) continue;
      const bytes = sizeOf(shelf.shape) * byteSize(shelf.dtype);
      if (!this.#stock.fits(bytes)) return;
      try {
        const tensor = station.runtime.zeros(shelf.shape, { dtype: shelf.dtype }).compute() as unknown as Tensor;
        tensor.host.forget(tensor);
        this.#prepared++;
        this.#stock.keep(shelf, { tensor, content: 'zeros', bytes });
      } catch {
        // Making ready is a favour: if there is no room for it, the request itself will say so.
        return;
      }
    }
  }

  #here(operation: string): Station {
    const station = this.#devices.current;
    if (!station) {
      throw new DeviceUnavailableError({
        message: `${operation}: no device is selected, or one is just being selected`,
        operation,
        hint: 'Await DeviceManager.selectDevice() or a transfer first: selecting a device takes time.',
      });
    }
    if (station !== this.#station) {
      this.#stock.empty();
      this.#station = station;
      this.#unregister();
      // Under pressure the runtime asks its users first; what is idle here is the least that anybody misses.
      this.#unregister = station.runtime.memory.registerCleanupCallback(() => {
        this.trim();
      });
    }
    return station;
  }

  #checkOpen(operation: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({ message: `${operation}: the pool was disposed`, operation, hint: 'Make a new one.' });
  }
}

/** What `init: 'none'` holds in debug mode: NaN, or the value that is least likely meant. */
const notSet: Readonly<Partial<Record<DType, number>>> = {
  f32: Number.NaN,
  f64: Number.NaN,
  f16: Number.NaN,
  bf16: Number.NaN,
  i32: -(2 ** 31),
  u32: 2 ** 32 - 1,
  u8: 255,
};

// Layout: the library has one, row-major; the key names it so that a second one would be kept apart.
const keyOf = (station: Station, shape: Shape, dtype: DType): string =>
  `${dtype} ${show(shape)} ${station.id} row-major`;

/** A second handle that no scope knows. */
function unscoped(tensor: Tensor): Tensor {
  const copy = new Tensor(tensor.host, tensor.node);
  copy.host.forget(copy);
  return copy;
}
