// Batches: one operation on many tensors, in chunks.
//
// Between chunks the event loop turns, the signal is looked at and progress is told. Lack of memory makes chunks smaller; the
// size that worked is remembered. A failure that stays is pinned to its item; what was made before is freed, unless the
// caller wants the errors item by item.

import { byteSize } from '../base/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { ChunkSizer } from './adaptive.ts';
import type { Context } from './context.ts';
import {
  AbortError,
  BatchError,
  ComputeError,
  DisposedError,
  InvalidArgumentError,
  OutOfMemoryError,
  throwIfAborted,
} from './errors.ts';
import { type BatchOp, checkOp, checkOperand } from './ops.ts';
import type { Station } from './station.ts';
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

export async function runBatch(
  ctx: Context,
  operation: string,
  tensors: readonly Tensor[],
  op: BatchOp,
  options: BatchOptions,
): Promise<BatchItem[]> {
  ctx.checkOpen(operation);
  checkArguments(tensors, op, options, operation);
  throwIfAborted(options.signal, operation);
  const batch = new Batch(ctx, operation, tensors, op, options);
  return tensors.length === 0 ? [] : batch.run();
}

class Batch {
  readonly #ctx: Context;
  readonly #operation: string;
  readonly #tensors: readonly Tensor[];
  readonly #op: BatchOp;
  readonly #options: BatchOptions;
  readonly #sizer: ChunkSizer;
  readonly #items: BatchItem[] = [];
  readonly #reclaim: () => boolean;
  /** Items up to here are run alone, to find the one that fails. */
  #isolateUntil = 0;

  constructor(ctx: Context, operation: string, tensors: readonly Tensor[], op: BatchOp, options: BatchOptions) {
    this.#ctx = ctx;
    this.#operation = operation;
    this.#tensors = tensors;
    this.#op = op;
    this.#options = options;
    this.#reclaim = once(ctx);
    const { chunkSize = 'adaptive' } = options;
    const bytes = tensors.length === 0 ? 0 : bytesOf(tensors[0]!);
    const name = typeof op === 'string' ? op : op.name || 'function';
    const start =
      chunkSize === 'adaptive'
        ? Math.max(1, Math.min(defaultChunk, Math.floor(startBytes / Math.max(1, bytes))))
        : chunkSize;
    // Powers of two of the size in bytes: chunks that suit one size suit its neighbours.
    this.#sizer = ctx.sizes.for(`${name} ${Math.round(Math.log2(bytes + 1))} ${chunkSize}`, {
      start,
      grow: chunkSize === 'adaptive',
    });
  }

  async run(): Promise<BatchItem[]> {
    const { signal, onProgress, onError = 'throw' } = this.#options;
    const total = this.#tensors.length;
    try {
      while (this.#items.length < total) {
        await this.#chunk(onError);
        onProgress?.(this.#items.length, total);
        if (this.#items.length < total) {
          await this.#ctx.clock.turn();
          throwIfAborted(signal, this.#operation);
        }
      }
    } catch (e) {
      for (const item of this.#items) if (item.ok) item.value.dispose();
      throw e;
    }
    return this.#items;
  }

  async #chunk(onError: 'throw' | 'collect'): Promise<void> {
    const at = this.#items.length;
    const alone = at < this.#isolateUntil;
    const size = alone ? 1 : this.#sizer.next(this.#tensors.length - at);
    const start = this.#ctx.clock.now();
    let busyMs = 0;
    try {
      const made = await this.#ctx.recovery.run(
        {
          operation: this.#operation,
          signal: this.#options.signal,
          otherwise: typeof this.#op === 'string' ? 'kernel' : undefined,
          reclaim: this.#reclaim,
          moveForMemory: size === 1,
        },
        async (station) => {
          const { value, ms } = await this.#compute(station, at, size);
          busyMs = ms;
          return value;
        },
      );
      for (const value of made) this.#items.push({ ok: true, value });
    } catch (error) {
      this.#failed(error, at, size, onError);
      return;
    }
    const ms = this.#ctx.clock.now() - start;
    if (!alone) this.#sizer.succeeded(size, ms);
    this.#ctx.devices.signals.emit('chunk', { operation: this.#operation, size, ms });
    await this.#ctx.pacer.rest(busyMs, this.#options.signal);
  }

  async #compute(station: Station, at: number, size: number): Promise<{ value: Tensor[]; ms: number }> {
    const { book } = this.#ctx;
    const part = this.#tensors.slice(at, at + size);
    const here = part.map((t, i) => {
      const tensor = book.resolve(t, station, this.#operation);
      checkOperand(this.#op, tensor, at + i, this.#operation);
      return tensor;
    });
    const bytes = here.reduce((n, t) => n + bytesOf(t), 0);
    const name = typeof this.#op === 'string' ? this.#op : this.#op.name || 'function';
    const done = await this.#ctx.computing(station, name, bytes, () => this.#ctx.groups(station).run(here, this.#op));
    for (const t of done.value) book.track(t, station);
    return done;
  }

  #failed(error: unknown, at: number, size: number, onError: 'throw' | 'collect'): void {
    if (error instanceof AbortError || (error instanceof DisposedError && this.#ctx.disposed)) throw error;
    if (error instanceof OutOfMemoryError && size > 1) {
      this.#sizer.failed(size);
      return;
    }
    if (size > 1) {
      this.#isolateUntil = at + size;
      return;
    }
    if (onError === 'collect') {
      this.#items.push({ ok: false, error });
      return;
    }
    const cause = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    throw new BatchError({
      message: `${this.#operation}: item ${at} of ${this.#tensors.length} failed: ${cause}`,
      operation: this.#operation,
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
