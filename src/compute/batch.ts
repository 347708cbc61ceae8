// Batches: one operation on many tensors. The loop is batch/chunks.ts; here is what a chunk is and where it runs.

import type { ChunkDone, ChunkOptions, ChunkWork, Outcome } from '../batch/chunk-work.ts';
import { runChunks } from '../batch/chunks.ts';
import type { Way } from '../batch/degradation.ts';
import { type BatchOp, checkOp, checkOperand, nameOf } from '../batch/ops.ts';
import { ChunkSizer } from '../batch/sizer.ts';
import { ArgumentError, DisposedError, type Maybe, Tensor, throwIfAborted } from '../index.ts';
import { sizeClass } from '../profile/statistics.ts';
import { type Context, promised, type Site } from './context.ts';

export interface BatchOptions extends ChunkOptions {
  /** Tensors per chunk: a number, or as many as turn out best, starting with 100 (the default). */
  readonly chunkSize?: number | 'adaptive' | undefined;
}

/** A result, or why there is none. */
export type BatchItem = Outcome<Tensor>;

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
    return tensors.length === 0 ? [] : runChunks(new Batch(ctx, operation, tensors, op, options), options);
  });
}

class Batch implements ChunkWork<Tensor> {
  readonly operation: string;
  readonly total: number;
  readonly clock: Context['clock'];
  readonly stats: Context['stats'];
  readonly sizer: ChunkSizer;
  readonly #ctx: Context;
  readonly #tensors: readonly Tensor[];
  readonly #op: BatchOp;
  readonly #options: BatchOptions;
  readonly #name: string;
  readonly #itemBytes: number;
  /** Where the next chunk is to run; null where slow-downs are not handled, or nobody knows yet. */
  #way: Way | null = null;

  constructor(ctx: Context, operation: string, tensors: readonly Tensor[], op: BatchOp, options: BatchOptions) {
    this.#ctx = ctx;
    this.operation = operation;
    this.total = tensors.length;
    this.clock = ctx.clock;
    this.stats = ctx.stats;
    this.#tensors = tensors;
    this.#op = op;
    this.#options = options;
    this.#name = nameOf(op);
    const { chunkSize = 'adaptive' } = options;
    const adaptive = chunkSize === 'adaptive';
    const bytes = (this.#itemBytes = tensors[0]!.nbytes);
    const start = adaptive
      ? Math.max(1, Math.min(defaultChunk, Math.floor(startBytes / Math.max(1, bytes))))
      : chunkSize;
    // Powers of two of the size in bytes: chunks that suit one size suit its neighbours.
    this.sizer = ctx.sizes.of(
      `${this.#name} ${sizeClass(bytes)} ${chunkSize}`,
      () => new ChunkSizer({ start, grow: adaptive }),
    );
  }

  scale(): number {
    const { devices, degradation } = this.#ctx;
    const home = degradation && devices.station?.id;
    this.#way = home ? degradation.way(home, this.#name, this.#itemBytes) : null;
    return this.#way?.scale ?? 1;
  }

  run(at: number, size: number): Maybe<ChunkDone<Tensor>> {
    const way = this.#way;
    const { operation } = this;
    const { signal } = this.#options;
    const otherwise = typeof this.#op === 'string' ? 'kernel' : undefined;
    const away = way && way.device !== way.home ? way : null;
    const task = { operation, signal, otherwise, divisible: size > 1, device: away?.device } as const;
    const start = this.clock.now();
    const done = this.#ctx.run<ChunkDone<Tensor>>(task, (site) => this.#compute(site, at, size));
    const tell = (chunk: ChunkDone<Tensor>): ChunkDone<Tensor> => {
      // Elsewhere the time of bringing the operands there counts too.
      const ms = away ? this.clock.now() - start : chunk.ms;
      this.#ctx.handOut(chunk.value, operation);
      if (way) this.#ctx.degradation!.note(way, this.#bytes(at, size), ms, () => this.#ctx.devices.station?.others[0]);
      return { value: chunk.value, ms };
    };
    if (!(done instanceof Promise)) return tell(done);
    return done.then(tell, (error) => {
      if (away) this.#ctx.degradation!.failed(away);
      throw error;
    });
  }

  done(size: number, ms: number, busyMs: number, alone: boolean): Promise<void> | null {
    const { devices, pacer } = this.#ctx;
    // Only chunks at home tell the size that suits it.
    if (!alone && this.#way?.device === this.#way?.home) this.sizer.succeeded(size, ms);
    devices.signals.emit('chunk', { operation: this.operation, size, ms });
    return pacer.rest(busyMs, this.#options.signal);
  }

  ends(error: unknown): boolean {
    return error instanceof DisposedError && this.#ctx.disposed;
  }

  free(tensor: Tensor): void {
    tensor.dispose();
  }

  #bytes(at: number, size: number): number {
    let bytes = 0;
    for (let i = at; i < at + size; i++) bytes += this.#tensors[i]!.nbytes;
    return bytes;
  }

  #compute(site: Site, at: number, size: number): Maybe<ChunkDone<Tensor>> {
    const { runtime } = site.station;
    const here = this.#tensors.slice(at, at + size);
    const far: number[] = [];
    for (let i = 0; i < size; i++) {
      this.#ctx.checkTensor(here[i]!, site.station, this.operation);
      checkOperand(this.#op, here[i]!, at + i, this.operation);
      const from = here[i]!.device;
      // What can be read at once is, by the runtime, where it is needed.
      if (from !== null && from !== site.device && site.device !== null && !runtime.device(from).caps.syncRead)
        far.push(i);
    }
    return far.length === 0 ? this.#run(site, here) : this.#brought(site, here, far);
  }

  #run(site: Site, here: readonly Tensor[]): Maybe<ChunkDone<Tensor>> {
    const bytes = here.reduce((n, t) => n + t.nbytes, 0);
    const groups = this.#ctx.groups(site.station, site.device ?? site.station.id);
    return this.#ctx.computing(site, this.#name, bytes, () => site.run(() => groups.run(here, this.#op)));
  }

  /** Operands on a device that has to be waited for are copied to the one that needs them, for this chunk. */
  async #brought(site: Site, here: Tensor[], far: readonly number[]): Promise<ChunkDone<Tensor>> {
    const copies: Tensor[] = [];
    try {
      for (const i of far) {
        const t = here[i]!;
        const data = await t.bytes();
        copies.push((here[i] = site.run(() => site.station.runtime.fromBytes(data, t.dtype, t.shape))));
      }
      return await this.#run(site, here);
    } finally {
      for (const t of copies) t.dispose();
    }
  }
}

function checkArguments(tensors: readonly Tensor[], op: BatchOp, options: BatchOptions, operation: string): void {
  const refuse = (message: string, fix: string): never => {
    throw new ArgumentError({ message: `${operation}: ${message}`, where: operation, fix });
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
