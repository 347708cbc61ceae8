// Batches: one operation on many tensors, in chunks.
//
// Between chunks the event loop turns, the signal is looked at and progress is told. Lack of memory makes chunks smaller; the
// size that worked is remembered. A failure that stays is pinned to its item; what was made before is freed, unless the
// caller wants the errors item by item.

import { byteSize } from '../base/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import { ChunkSizer } from './adaptive.ts';
import type { Context } from './context.ts';
import type { Way } from './degradation.ts';
import {
  AbortError,
  BatchError,
  ComputeError,
  DisposedError,
  InvalidArgumentError,
  OutOfMemoryError,
  throwIfAborted,
} from './errors.ts';
import { type BatchOp, checkOp, checkOperand, nameOf } from './ops.ts';
import { type Attempted, type Maybe, promised } from './recovery.ts';
import type { Station } from './station.ts';
import { sizeClass } from './statistics.ts';
import { once } from './transfer.ts';

export interface BatchOptions {
  /** Tensors per chunk: a number, or as many as turn out best, starting with 100 (the default). */
  readonly chunkSize?: number | 'adaptive' | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** 'throw' (default) ends the batch at the first failure, 'collect' puts errors into the list of results. */
  readonly onError?: 'throw' | 'collect' | undefined;
}

/** A result, or why there is none. */
export type BatchItem = { readonly ok: true; readonly value: Tensor } | { readonly ok: false; readonly error: unknown };

export const defaultChunk = 100;
/** Adaptive chunks begin with fewer items if a hundred would be more than this. */
const startBytes = 32 << 20;

/** One result per tensor, or with `onError: 'collect'` one BatchItem. */
export function runBatch(
  ctx: Context,
  operation: string,
  tensors: readonly Tensor[],
  op: BatchOp,
  options: BatchOptions,
): Promise<unknown[]> {
  return promised<unknown[]>(() => {
    ctx.checkOpen(operation);
    checkArguments(tensors, op, options, operation);
    throwIfAborted(options.signal, operation);
    return tensors.length === 0 ? [] : new Batch(ctx, operation, tensors, op, options).run();
  });
}

class Batch {
  readonly #ctx: Context;
  readonly #tensors: readonly Tensor[];
  readonly #op: BatchOp;
  readonly #options: BatchOptions;
  readonly #sizer: ChunkSizer;
  readonly #name: string;
  /** Of chunks; and of single items, which may go elsewhere for lack of memory, as nothing smaller can be tried. */
  readonly #about: Attempted;
  readonly #aboutOne: Attempted;
  readonly #itemBytes: number;
  /** Results, and the errors of items that failed where those are collected. */
  readonly #made: (Tensor | Failure)[] = [];
  /** Items up to here are run alone, to find the one that fails. */
  #isolateUntil = 0;

  constructor(ctx: Context, operation: string, tensors: readonly Tensor[], op: BatchOp, options: BatchOptions) {
    this.#ctx = ctx;
    this.#tensors = tensors;
    this.#op = op;
    this.#options = options;
    const otherwise = typeof op === 'string' ? 'kernel' : undefined;
    this.#name = nameOf(op);
    const { signal } = options;
    const reclaim = once(ctx);
    this.#aboutOne = { operation, signal, otherwise, reclaim, moveForMemory: true };
    this.#about = { operation, signal, otherwise, reclaim, moveForMemory: false };
    const { chunkSize = 'adaptive' } = options;
    const adaptive = chunkSize === 'adaptive';
    const bytes = bytesOf(tensors[0]!);
    // Powers of two of the size in bytes: chunks that suit one size suit its neighbours.
    this.#itemBytes = bytes;
    const start = adaptive
      ? Math.max(1, Math.min(defaultChunk, Math.floor(startBytes / Math.max(1, bytes))))
      : chunkSize;
    this.#sizer = ctx.sizes.of(
      `${this.#name} ${sizeClass(bytes)} ${chunkSize}`,
      () => new ChunkSizer({ start, grow: adaptive }),
    );
  }

  async run(): Promise<unknown[]> {
    const { signal, onProgress, onError } = this.#options;
    const total = this.#tensors.length;
    try {
      while (this.#made.length < total) {
        const at = this.#made.length;
        const alone = at < this.#isolateUntil;
        const way = this.#way();
        const size = alone ? 1 : Math.max(1, Math.floor(this.#sizer.next(total - at) * (way?.scale ?? 1)));
        const start = this.#ctx.clock.now();
        try {
          const about = size === 1 ? this.#aboutOne : this.#about;
          const done = this.#ctx.recovery.run(about, (station) => this.#compute(station, at, size, way));
          const { value, ms } = done instanceof Promise ? await done : done;
          for (const tensor of value) this.#made.push(tensor);
          // Only chunks at home tell the size that suits it.
          const rest = this.#done(!alone && way?.device === way?.home, size, start, ms);
          if (rest) await rest;
        } catch (error) {
          this.#failed(error, at, size);
        }
        onProgress?.(this.#made.length, total);
        if (this.#made.length < total) {
          await this.#ctx.clock.turn();
          throwIfAborted(signal, this.#about.operation);
        }
      }
    } catch (e) {
      for (const made of this.#made) if (made instanceof Tensor) made.dispose();
      throw e;
    }
    if (onError !== 'collect') return this.#made;
    return this.#made.map(
      (m): BatchItem => (m instanceof Tensor ? { ok: true, value: m } : { ok: false, error: m.error }),
    );
  }

  /** A chunk is done; returns the rest that the device is due. */
  #done(typical: boolean, size: number, start: number, busyMs: number): Promise<void> | null {
    const { clock, devices, pacer } = this.#ctx;
    const ms = clock.now() - start;
    if (typical) this.#sizer.succeeded(size, ms);
    devices.signals.emit('chunk', { operation: this.#about.operation, size, ms });
    return pacer.rest(busyMs, this.#options.signal);
  }

  /** Where the next chunk is to run; null where slow-downs are not handled, or nobody knows yet. */
  #way(): Way | null {
    const { devices, degradation } = this.#ctx;
    const home = degradation && devices.current?.id;
    return home ? degradation.way(home, this.#name, this.#itemBytes) : null;
  }

  #compute(station: Station, at: number, size: number, way: Way | null): Maybe<Chunk> {
    const { book, degradation } = this.#ctx;
    const { operation } = this.#about;
    const here = new Array<Tensor>(size);
    let bytes = 0;
    for (let i = 0; i < size; i++) {
      const tensor = book.resolve(this.#tensors[at + i]!, station, operation);
      checkOperand(this.#op, tensor, at + i, operation);
      here[i] = tensor;
      bytes += bytesOf(tensor);
    }
    const known = way?.home === station.id ? way : null;
    const away = known && known.device !== station.id;
    const done = away ? this.#elsewhere(station, known, here, bytes) : this.#run(station, station.id, here, bytes);
    const tell = (chunk: Chunk): Chunk => {
      for (const t of chunk.value) book.track(t, station);
      if (known) degradation!.note(known, bytes, chunk.ms, () => station.others[0]);
      return chunk;
    };
    return done instanceof Promise ? done.then(tell) : tell(done);
  }

  #run(station: Station, device: string, here: readonly Tensor[], bytes: number): Maybe<Chunk> {
    const work = (): Tensor[] => this.#ctx.groups(station, device).run(here, this.#op);
    return this.#ctx.computing(station.runtime.device(device), this.#name, bytes, work);
  }

  /** On another device than the station's, the time of bringing the operands there included. */
  async #elsewhere(station: Station, way: Way, here: readonly Tensor[], bytes: number): Promise<Chunk> {
    const { clock, degradation } = this.#ctx;
    const { runtime } = station;
    const start = clock.now();
    const copies: Tensor[] = [];
    try {
      // What can be read at once is, by the runtime, where it is needed.
      if (!station.device.caps.syncRead) {
        for (const t of here) {
          const data = await t.bytes();
          copies.push(runtime.scope({ device: way.device }, () => runtime.fromBytes(data, t.dtype, t.shape)));
        }
      }
      const { value } = await this.#run(station, way.device, copies.length > 0 ? copies : here, bytes);
      return { value, ms: clock.now() - start };
    } catch (error) {
      degradation!.failed(way);
      throw error;
    } finally {
      for (const t of copies) t.dispose();
    }
  }

  #failed(error: unknown, at: number, size: number): void {
    const { operation } = this.#about;
    if (error instanceof AbortError || (error instanceof DisposedError && this.#ctx.disposed)) throw error;
    if (error instanceof OutOfMemoryError && size > 1) {
      this.#sizer.failed(size);
      return;
    }
    if (size > 1) {
      this.#isolateUntil = at + size;
      return;
    }
    if (this.#options.onError === 'collect') {
      this.#made.push(new Failure(error));
      return;
    }
    const cause = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    throw new BatchError({
      message: `${operation}: item ${at} of ${this.#tensors.length} failed: ${cause}`,
      operation,
      device: error instanceof ComputeError ? error.device : this.#ctx.devices.getActiveDevice(),
      attempts: error instanceof ComputeError ? error.attempts : 1,
      hint:
        error instanceof ComputeError
          ? error.hint
          : "The cause is the operation's own error. onError: 'collect' goes on with the other items.",
      index: at,
      completed: at,
      cause: error,
    });
  }
}

/** Results of a chunk, and how long the device was busy with it. */
interface Chunk {
  readonly value: Tensor[];
  readonly ms: number;
}

class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

const bytesOf = (t: Tensor): number => t.size * byteSize(t.dtype);

function checkArguments(tensors: readonly Tensor[], op: BatchOp, options: BatchOptions, operation: string): void {
  const refuse = (message: string, hint: string): never => {
    throw new InvalidArgumentError({ message: `${operation}: ${message}`, operation, hint });
  };
  if (!Array.isArray(tensors)) refuse(`the tensors are ${typeof tensors}`, 'Give an array of tensors.');
  checkOp(op, operation);
  const { chunkSize } = options;
  if (chunkSize !== undefined && chunkSize !== 'adaptive' && !(Number.isSafeInteger(chunkSize) && chunkSize > 0))
    refuse(`chunkSize is ${chunkSize}`, "Use a whole number above 0, or 'adaptive'.");
  tensors.forEach((t, i) => {
    if (!(t instanceof Tensor))
      refuse(
        `item ${i} is ${t === null ? 'null' : typeof t}, not a tensor`,
        'Use transferToGPU to make tensors of arrays.',
      );
    // With 'collect' an item that cannot be used is an error of that item alone.
    if (options.onError !== 'collect') checkOperand(op, t, i, operation);
  });
}
