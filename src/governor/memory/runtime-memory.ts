// rt.memory: the monitor of the runtime's memory, with what needs places and tensors on top: pools and borrowing.

import type { DeviceId } from '../../devices/device.ts';
import type { Place } from '../../devices/place.ts';
import { ArgumentError } from '../../errors.ts';
import { addUse, dropUse } from '../../graph/holding.ts';
import { named } from '../../tensor/core.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { BorrowOptions, BorrowReport, Lendable, ReversibleProgram } from './borrow.ts';
import { lent } from './errors.ts';
import { MemoryMonitor, type MonitorParts } from './monitor.ts';
import type { MemorySettings } from './options.ts';
import { MemoryPool, type PoolOptions } from './pool.ts';
import { type MemoryView, MiB } from './view.ts';

export class RuntimeMemory extends MemoryMonitor {
  readonly #places: readonly Place[];
  readonly #pools = new Map<Place, MemoryPool>();

  /** Made by `createRuntime`. */
  constructor(places: readonly Place[], view: MemoryView, settings: MemorySettings, parts: MonitorParts) {
    super(view, settings, parts);
    this.#places = places;
    // Idle buffers of pools are the first to go.
    this.registerCleanupCallback((device) => {
      for (const [place, pool] of this.#pools) if (place.id === device) pool.clear();
    });
  }

  /**
   * The pool of plain buffers on a device, for work that goes to the device directly. There is one for each device; limits are
   * given when it is first asked for.
   * @example
   * ```ts
   * const small = await createRuntime({ devices: ['cpu'] });
   * small.memory.pool('cpu', { maxBytes: 2 ** 20 }).stats().maxSizeMb // → 1
   * small.memory.pool('cpu').stats().poolHits // → 0
   * await small.close();
   * ```
   */
  pool(device: DeviceId = this.#places[0]!.id, options?: PoolOptions): MemoryPool {
    const place = this.#places.find((p) => p.id === device);
    if (!place) throw unknownDevice(device, this.#places);
    const known = this.#pools.get(place);
    if (known && options && Object.keys(options).length > 0) throw poolExists(device);
    const pool = known ?? new MemoryPool(place, options);
    this.#pools.set(place, pool);
    return pool;
  }

  /** @internal Counts of the pool of a device; null if there is none. Makes none. */
  poolCounts(device: DeviceId): {
    readonly hits: number;
    readonly misses: number;
    readonly requestedBytes: number;
    readonly roundedBytes: number;
    readonly heldBytes: number;
  } | null {
    for (const [place, pool] of this.#pools) {
      if (place.id !== device) continue;
      const s = pool.stats();
      const { requestedBytes, roundedBytes } = s;
      return { hits: s.poolHits, misses: s.poolMisses, requestedBytes, roundedBytes, heldBytes: s.totalSizeMb * MiB };
    }
    return null;
  }

  /**
   * Lends the memory of live tensors to a reversible program, which must give it back bit for bit: that is checked. Until
   * then the tensors cannot be read. A program that throws is undone step by step; there is no backup copy.
   */
  async borrow<T = void>(
    tensors: readonly Tensor[],
    program: ReversibleProgram<T>,
    options: BorrowOptions = {},
  ): Promise<{ readonly value: T; readonly report: BorrowReport }> {
    for (const t of tensors) t.compute();
    const { borrow } = await import('./borrow.ts');
    return borrow(tensors.map(lendable), program, options, {
      inUse: (id) => this.#places.find((p) => p.id === id)?.inUse ?? 0,
    });
  }
}

function unknownDevice(device: DeviceId, places: readonly Place[]): ArgumentError {
  return new ArgumentError({
    code: 'UNKNOWN_DEVICE',
    message: `memory.pool: '${device}' is not open`,
    fix: `Open devices are ${places.map((p) => p.id).join(', ')}.`,
    where: 'memory.pool',
  });
}

function poolExists(device: DeviceId): ArgumentError {
  return new ArgumentError({
    code: 'POOL_EXISTS',
    message: `memory.pool: the pool of ${device} was made before, with the limits given then`,
    fix: 'Give the limits the first time it is asked for.',
    where: 'memory.pool',
  });
}

/** Hashes from the ends of loans: the bytes of a storage never change. */
const knownDigests = new WeakMap<object, string>();

function lendable(tensor: Tensor): Lendable {
  const { node } = tensor;
  const storage = node.storage!;
  const place = storage.place;
  if (!place || storage.lent) throw lent(node, 'memory.borrow');
  return {
    name: named(tensor),
    device: place.device,
    buffer: storage.on(place)!,
    bytes: storage.bytes,
    digest: knownDigests.get(storage),
    lend: () => {
      if (storage.lent) throw lent(node, 'memory.borrow');
      storage.lent = 'lent';
      // Disposing the tensor meanwhile must not pull the bytes away.
      addUse(node);
    },
    takeBack: (corrupt, digest) => {
      storage.lent = corrupt ? 'corrupt' : null;
      if (corrupt) knownDigests.delete(storage);
      else if (digest !== undefined) knownDigests.set(storage, digest);
      dropUse(node);
    },
  };
}
