// Buffers for reuse, on one device: rounded sizes, zeroed, under a limit.
//
// A buffer carries no type: what is asked for is bytes, or a dtype and shape that come to bytes. Contents are zero on every
// request, fresh or reused, unless `uninitialised` is asked for. A miss at the limit evicts idle buffers, least recently used
// first, whatever their age; only then it fails. Work on one device runs in order, so a buffer that is released while
// work on it is enqueued can be lent again at once: the new work, its zeroing included, comes after.

import { byteSize, type DType } from '../../base/dtype.ts';
import { formatBytes } from '../../base/format.ts';
import { checkShape, sizeOf } from '../../base/shape.ts';
import { checkMethods } from '../../base/signatures.ts';
import type { Device, DeviceBuffer, DeviceId } from '../../devices/device.ts';
import { ArgumentError, DisposedError, OutOfMemory } from '../../errors.ts';
import { tensorKinds } from '../../tensor/signatures.ts';
import { Buckets, Slot } from './pool-buckets.ts';
import { type Rounding, roundSize } from './rounding.ts';
import { MiB } from './view.ts';
import { Zeroer } from './zero.ts';

/** Where a pool's buffers come from: a device's place in a runtime has all of this. */
export interface PoolSource {
  readonly id: DeviceId;
  readonly device: Device;
  /** Rises when the device was lost and opened again; buffers of an earlier one are gone. */
  readonly generation?: number;
  allocate(bytes: number): DeviceBuffer;
  release(buffer: DeviceBuffer): void;
}

export interface PoolOptions {
  /** The most bytes the pool holds, lent and idle. Default: 2 GiB. */
  readonly maxBytes?: number | undefined;
  /** Idle buffers older than this go when the pool is trimmed. Default: 5 minutes. */
  readonly idleMs?: number | undefined;
  /** Default: `fine`. */
  readonly rounding?: Rounding | undefined;
  readonly now?: (() => number) | undefined;
}

export type PoolRequest = number | { readonly dtype: DType; readonly shape: readonly number[] };

/** A buffer on loan from the pool. */
export class Lease {
  readonly buffer: DeviceBuffer;
  /** What was asked for; the buffer may be larger. */
  readonly bytes: number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The pool's own. */
  slot: Slot | null;

  constructor(slot: Slot, bytes: number, dtype: DType, shape: readonly number[]) {
    this.slot = slot;
    this.buffer = slot.buffer;
    this.bytes = bytes;
    this.dtype = dtype;
    this.shape = shape;
  }
}

export interface PoolStats {
  readonly totalAllocations: number;
  readonly inUseCount: number;
  readonly availableCount: number;
  readonly totalSizeMb: number;
  readonly maxSizeMb: number;
  /** Held bytes in per cent of the limit. */
  readonly utilization: number;
  readonly poolHits: number;
  readonly poolMisses: number;
  /** Per cent; 0 before the first request. */
  readonly hitRate: number;
  readonly uniqueSizes: number;
  readonly evictions: number;
  /** Sums over all requests: their difference is what rounding cost. */
  readonly requestedBytes: number;
  readonly roundedBytes: number;
}

/** A larger idle buffer serves a miss while it is less than this many times the request. */
const mostLarger = 1.25;

export class MemoryPool {
  readonly #source: PoolSource;
  readonly #maxBytes: number;
  readonly #idleMs: number;
  readonly #rounding: Rounding;
  readonly #now: () => number;
  readonly #zeroer = new Zeroer();
  readonly #buckets = new Buckets();
  readonly #lent = new Set<Lease>();
  #generation: number | undefined;
  #heldBytes = 0;
  #closed = false;
  #allocations = 0;
  #hits = 0;
  #misses = 0;
  #evictions = 0;
  #requestedBytes = 0;
  #roundedBytes = 0;

  constructor(source: PoolSource, options: PoolOptions = {}) {
    this.#source = source;
    this.#generation = source.generation;
    this.#maxBytes = positive(options.maxBytes ?? 2048 * MiB, 'maxBytes');
    this.#idleMs = positive(options.idleMs ?? 300_000, 'idleMs');
    this.#rounding = checkRounding(options.rounding ?? 'fine');
    this.#now = options.now ?? Date.now;
  }

  get device(): DeviceId {
    return this.#source.id;
  }

  /** A buffer of at least so many bytes, zeroed unless `uninitialised`. Throws OutOfMemory if there is no room. */
  take(request: PoolRequest, options: { readonly uninitialised?: boolean } = {}): Lease {
    this.#checkOpen('take');
    this.#checkGeneration();
    const { bytes, dtype, shape } = resolve(request);
    const size = roundSize(bytes, this.#rounding);
    const idle = this.#buckets.find(size, Math.max(size, Math.ceil(bytes * mostLarger) - 1));
    const slot = idle ?? this.#make(size);
    if (idle) this.#buckets.remove(idle);
    try {
      if (!options.uninitialised) this.#zeroer.zero(this.#source.device, slot.buffer, slot.bucket.size);
    } catch (error) {
      this.#buckets.add(slot, this.#now());
      throw error;
    }
    if (idle) this.#hits++;
    else this.#misses++;
    this.#requestedBytes += bytes;
    this.#roundedBytes += slot.bucket.size;
    const lease = new Lease(slot, bytes, dtype, shape);
    this.#lent.add(lease);
    return lease;
  }

  /** Gives a lease back; its buffer may be lent again at once. */
  release(lease: Lease): void {
    this.#checkOpen('release');
    if (!this.#lent.delete(lease)) throw notLent(lease, this.#source.id);
    const slot = lease.slot!;
    lease.slot = null;
    this.#checkGeneration();
    // A buffer of a device that is gone.
    if (slot.generation !== this.#generation) return;
    this.#buckets.add(slot, this.#now());
  }

  /** Whether a lease is out. */
  holds(lease: Lease): boolean {
    return this.#lent.has(lease);
  }

  /** Frees buffers that have been idle for long. Returns the bytes freed. */
  trim(): number {
    const before = this.#heldBytes;
    const limit = this.#now() - this.#idleMs;
    for (let slot = this.#buckets.oldest; slot && slot.idleSince <= limit; slot = this.#buckets.oldest)
      this.#evict(slot);
    return before - this.#heldBytes;
  }

  /** Frees all idle buffers; lent ones stay known and can be given back. Returns the bytes freed. */
  clear(): number {
    const before = this.#heldBytes;
    for (let slot = this.#buckets.oldest; slot; slot = this.#buckets.oldest) this.#evict(slot);
    return before - this.#heldBytes;
  }

  /** Frees everything, lent buffers too. */
  close(): void {
    if (this.#closed) return;
    this.clear();
    for (const { slot } of this.#lent) if (slot && slot.generation === this.#source.generation) this.#free(slot);
    this.#lent.clear();
    this.#closed = true;
  }

  stats(): PoolStats {
    const requests = this.#hits + this.#misses;
    return {
      totalAllocations: this.#allocations,
      inUseCount: this.#lent.size,
      availableCount: this.#buckets.count,
      totalSizeMb: this.#heldBytes / MiB,
      maxSizeMb: this.#maxBytes / MiB,
      utilization: (this.#heldBytes / this.#maxBytes) * 100,
      poolHits: this.#hits,
      poolMisses: this.#misses,
      hitRate: requests === 0 ? 0 : (this.#hits / requests) * 100,
      uniqueSizes: this.#buckets.sizes,
      evictions: this.#evictions,
      requestedBytes: this.#requestedBytes,
      roundedBytes: this.#roundedBytes,
    };
  }

  #make(size: number): Slot {
    this.trim();
    // Refused before anything idle is given up for it.
    if (size > this.#maxBytes) throw this.#outOfRoom(size);
    while (this.#heldBytes + size > this.#maxBytes && this.#buckets.oldest) this.#evict(this.#buckets.oldest);
    if (this.#heldBytes + size > this.#maxBytes) throw this.#outOfRoom(size);
    const buffer = this.#allocate(size);
    this.#allocations++;
    this.#heldBytes += size;
    return new Slot(this.#buckets.bucket(size), buffer, this.#generation);
  }

  /** The device may be fuller than the pool's limit says: idle buffers go there too. */
  #allocate(size: number): DeviceBuffer {
    for (;;) {
      try {
        return this.#source.allocate(size);
      } catch (error) {
        if (!(error instanceof OutOfMemory) || !this.#buckets.oldest) throw error;
        this.#evict(this.#buckets.oldest);
      }
    }
  }

  #evict(slot: Slot): void {
    this.#buckets.remove(slot);
    this.#free(slot);
    this.#evictions++;
  }

  #free(slot: Slot): void {
    this.#heldBytes -= slot.bucket.size;
    this.#buckets.drop(slot.bucket);
    if (!slot.buffer.collected) this.#source.release(slot.buffer);
  }

  /** After a device was lost, none of its buffers exists any more. */
  #checkGeneration(): void {
    if (this.#source.generation === this.#generation) return;
    this.#generation = this.#source.generation;
    this.#buckets.forget();
    this.#heldBytes = 0;
  }

  #checkOpen(where: string): void {
    if (!this.#closed) return;
    throw new DisposedError({
      code: 'POOL_CLOSED',
      message: `${where}: the memory pool of ${this.#source.id} is closed`,
      fix: 'Use the pool of a runtime that is open.',
      where: `pool.${where}`,
    });
  }

  #outOfRoom(size: number): OutOfMemory {
    const lentBytes = [...this.#lent].reduce((n, l) => n + (l.slot?.bucket.size ?? 0), 0);
    const available = Math.max(0, this.#maxBytes - lentBytes);
    return new OutOfMemory({
      code: 'POOL_FULL',
      message:
        `pool: ${formatBytes(size)} do not fit (${this.#source.id}): ` +
        `${formatBytes(lentBytes)} of ${formatBytes(this.#maxBytes)} are lent in ${this.#lent.size} buffers`,
      fix: 'Release buffers that are no longer needed, ask for less, or raise maxBytes.',
      where: 'pool.take',
      requested: size,
      available,
    });
  }
}

function resolve(request: PoolRequest): { bytes: number; dtype: DType; shape: readonly number[] } {
  if (typeof request === 'number') {
    if (Number.isSafeInteger(request) && request >= 0) return { bytes: request, dtype: 'u8', shape: [request] };
    throw new ArgumentError({
      code: 'BAD_SIZE',
      message: `pool.take: ${request} bytes`,
      fix: 'Ask for a whole number of bytes, zero or more.',
      where: 'pool.take',
    });
  }
  checkShape(request.shape, 'pool.take');
  return { ...request, bytes: sizeOf(request.shape) * byteSize(request.dtype) };
}

function notLent(lease: Lease, device: DeviceId): ArgumentError {
  const twice = lease.slot === null;
  return new ArgumentError({
    code: twice ? 'RELEASED_TWICE' : 'UNKNOWN_LEASE',
    message: `pool.release: this buffer of ${lease.bytes} bytes ${twice ? 'has been given back before' : 'is not from this pool'} (${device})`,
    fix: twice ? 'Give each lease back once.' : 'Give a lease back to the pool it came from.',
    where: 'pool.release',
  });
}

function positive(value: number, key: string): number {
  if (value > 0) return value;
  throw new ArgumentError({
    code: 'BAD_OPTION',
    message: `pool: ${key} is ${value}`,
    fix: 'Use a number above 0.',
    where: key,
  });
}

function checkRounding(rounding: Rounding): Rounding {
  if (rounding === 'fine' || rounding === 'table' || rounding === 'none') return rounding;
  throw new ArgumentError({
    code: 'BAD_OPTION',
    message: `pool: there is no rounding '${String(rounding)}'`,
    fix: "Use 'fine', 'table' or 'none'.",
    where: 'rounding',
  });
}

const poolKinds = {
  ...tensorKinds,
  lease: { is: (v: unknown) => v instanceof Lease, words: 'what take() returned' },
};

checkMethods(
  MemoryPool.prototype,
  {
    'trim clear close stats': '',
    take: 'request:number|{dtype:dtype!,shape:numbers!} options:{uninitialised:flag}?',
    'release holds': 'lease:lease',
  },
  poolKinds,
);
