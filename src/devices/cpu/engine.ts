// Runs WebAssembly code on the device's memory, on one thread or on all of them.
//
// Splits work into chunks only where the estimate says that waking workers pays. Work that lost a worker is repeated on the calling thread
// if that cannot change the result; else it fails, and says so. A worker that was given up may only be slow: until its thread has ended it
// may read and write what it was told to. So it is left alone with that: arguments and staging area move, work that is repeated has other
// memory, and nothing is shared with workers meanwhile.

import { DeviceLost, KernelError } from '../../errors.ts';
import type { Estimate } from '../../kernel/kernel.ts';
import type { Block } from './heap.ts';
import type { ThreadHost } from './host.ts';
import type { CpuMemory } from './memory.ts';
import { type LaneTime, WorkerPool } from './pool/pool.ts';
import { WasmSums } from './tiny/wasm-sums.ts';

interface Exports {
  readonly run: (args: number, begin: number, end: number) => void;
  readonly finish?: (args: number) => void;
}

let codes = 0;

/** A module, compiled when first run; workers find its bytes in the shared memory. */
export class WasmCode {
  readonly id = ++codes;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly #text: () => string;
  #exports: Exports | null = null;
  /** The memory the instance is bound to. */
  #memory: WebAssembly.Memory | null = null;
  #block: Block | null = null;

  constructor(name: string, bytes: Uint8Array, text: () => string) {
    this.name = name;
    this.bytes = bytes;
    this.#text = text;
  }

  get text(): string {
    return this.#text();
  }

  exports(memory: CpuMemory): Exports {
    if (this.#exports && this.#memory === memory.memory) return this.#exports;
    try {
      const module = new WebAssembly.Module(this.bytes as Uint8Array<ArrayBuffer>);
      const instance = new WebAssembly.Instance(module, { env: { memory: memory.memory } });
      this.#memory = memory.memory;
      return (this.#exports = instance.exports as unknown as Exports);
    } catch (cause) {
      throw new KernelError({
        code: 'COMPILE_FAILED',
        message: `${this.name}: the WebAssembly engine refused the module: ${(cause as Error).message} (cpu)`,
        fix: 'This is a fault of the library: please report it with the source of the kernel.',
        where: this.name,
        source: this.text,
        cause,
      });
    }
  }

  /** Where the workers read the bytes; null if there is no room for them. */
  address(memory: CpuMemory): number | null {
    if (!this.#block) {
      this.#block = memory.heap.allocate(this.bytes.length);
      if (this.#block) memory.views.u8.set(this.bytes, this.#block.address);
    }
    return this.#block?.address ?? null;
  }

  /** Takes the bytes out of the shared memory; the next job puts them there again. */
  withdraw(memory: CpuMemory): void {
    if (this.#block) memory.heap.free(this.#block);
    this.#block = null;
  }

  dispose(memory: CpuMemory): void {
    this.withdraw(memory);
    this.#exports = null;
  }
}

/** Numbers that a module reads, in the shared memory from its first run on. */
export class WasmTable {
  readonly #name: string;
  readonly #bytes: Uint8Array;
  #block: Block | null = null;

  constructor(name: string, bytes: Uint8Array) {
    this.#name = name;
    this.#bytes = bytes;
  }

  /** Where they are; OutOfMemory if there is no room for them. */
  address(memory: CpuMemory): number {
    if (!this.#block) {
      this.#block = memory.take(this.#bytes.length, this.#name);
      memory.views.u8.set(this.#bytes, this.#block.address);
    }
    return this.#block.address;
  }

  withdraw(memory: CpuMemory): void {
    if (this.#block) memory.heap.free(this.#block);
    this.#block = null;
  }
}

/** What is run, and whether it is worth more than one thread. A class: whatever it is, it has one layout. */
export class SharedWork {
  readonly code: WasmCode;
  readonly items: number;
  /** Items below which a split does not pay. */
  readonly grain: number;
  readonly nanoseconds: number;
  /** Call `finish` when all items are done. */
  readonly finish: boolean;
  /** Running some items twice gives the same result: no output shares memory with an input. */
  readonly repeatable: boolean;

  constructor(parts: Pick<SharedWork, 'code' | 'items' | 'grain' | 'nanoseconds' | 'finish' | 'repeatable'>) {
    this.code = parts.code;
    this.items = parts.items;
    this.grain = parts.grain;
    this.nanoseconds = parts.nanoseconds;
    this.finish = parts.finish;
    this.repeatable = parts.repeatable;
  }
}

/** Below this, waking workers costs more than it saves. */
const parallelNanoseconds = 60_000;
/** The same for workers that sleep. Elementwise work on what is in the caches takes a tenth of what it is thought to. */
const wakingNanoseconds = 4 * parallelNanoseconds;
/** Work that follows a product of a library, and is followed by the next: the workers of one wait for the threads of the other. */
const restingRuns = 8;
const chunksPerThread = 8;

/** Work lost a worker, and may be repeated: with other buffers, as the worker may still write to these. */
export class WorkerGivenUp extends Error {}

/** A rough time on one thread: vector arithmetic against memory. */
export const nanosecondsOf = (e: Estimate): number => Math.max(e.flops / 4, (e.bytesRead + e.bytesWritten) / 8);

export class WasmEngine {
  readonly memory: CpuMemory;
  readonly threads: number;
  readonly #host: ThreadHost;
  readonly #patience: number;
  readonly #deferred: Block[] = [];
  /** Modules whose bytes are in the shared memory, and tables. */
  readonly #published = new Set<WasmCode | WasmTable>();
  /** What the interpreter leaves to WebAssembly. */
  readonly sums: WasmSums;
  /** Where the times of the workers go; null if nobody wants to know. */
  lanes: LaneTime[] | null = null;
  #pool: WorkerPool | null = null;
  /** Runs for which workers are not yet woken lightly. */
  #resting = 0;

  constructor(memory: CpuMemory, host: ThreadHost, threads: number, patience: number) {
    this.memory = memory;
    this.sums = new WasmSums(memory);
    this.threads = memory.shared ? threads : 1;
    this.#host = host;
    this.#patience = patience;
  }

  /** The workers, once a launch has started them. */
  get pool(): WorkerPool | null {
    return this.#pool;
  }

  /** Whether workers take part. */
  spreads({ items, grain, nanoseconds }: SharedWork): boolean {
    const least = this.#resting > 0 ? wakingNanoseconds : parallelNanoseconds;
    return this.threads > 1 && items > grain && nanoseconds > least && this.settled;
  }

  /** Workers leave their cores to threads of others that are about to compute. */
  rest(): void {
    this.#resting = restingRuns;
    this.#pool?.rest();
  }

  run(work: SharedWork): void {
    const { code } = work;
    const exports = code.exports(this.memory);
    try {
      if (this.spreads(work)) this.#spread(work, exports);
      else {
        exports.run(this.memory.args, 0, work.items);
        if (this.#resting > 0) this.#resting--;
      }
      if (work.finish) exports.finish!(this.memory.args);
    } catch (cause) {
      if (!(cause instanceof WebAssembly.RuntimeError)) throw cause;
      throw new KernelError({
        code: 'KERNEL_TRAPPED',
        message: `${code.name}: the kernel trapped: ${cause.message} (cpu)`,
        fix: 'This is a fault of the library: please report it with the source of the kernel.',
        where: code.name,
        source: code.text,
        cause,
      });
    }
  }

  /** Whether no lost worker can write to memory any more. */
  get settled(): boolean {
    return this.#pool === null || this.#pool.settled;
  }

  /** Frees a block, now or when no lost worker can write to it any more. */
  release(block: Block): void {
    if (this.settled) this.memory.heap.free(block);
    else this.#deferred.push(block);
  }

  /**
   * Gives memory back to the system. A WebAssembly memory cannot shrink, so this takes effect once no buffer is left in
   * it: it is then replaced by a new one, and workers start again when they are needed.
   */
  trim(): void {
    if (!this.settled) return;
    for (const code of this.#published) code.withdraw(this.memory);
    this.#published.clear();
    // Workers know modules by number, not by address: those that have one keep it.
    if (this.memory.heap.used > 0) {
      this.memory.heap.trim();
      return;
    }
    this.#pool?.close().catch(() => {});
    this.#pool = null;
    this.sums.unbind();
    this.memory.renew();
  }

  /** Forgets the instance and the bytes of a module; running it again makes them anew. */
  drop(code: WasmCode): void {
    code.dispose(this.memory);
    this.#published.delete(code);
  }

  /** Where the numbers of a table are. */
  published(table: WasmTable): number {
    this.#published.add(table);
    return table.address(this.memory);
  }

  /** Takes a table out of the shared memory; running its module again puts it there. */
  withdraw(table: WasmTable): void {
    table.withdraw(this.memory);
    this.#published.delete(table);
  }

  async close(): Promise<void> {
    this.#published.clear();
    this.sums.unbind();
    this.#deferred.length = 0;
    await this.#pool?.close();
    this.#pool = null;
    this.memory.close();
  }

  #spread(work: SharedWork, exports: Exports): void {
    const { code, items } = work;
    const chunkItems = Math.max(work.grain, Math.ceil(items / (this.threads * chunksPerThread)));
    const chunks = Math.ceil(items / chunkItems);
    const worthwhile = Math.ceil((2 * work.nanoseconds) / parallelNanoseconds);
    const helpers = Math.min(this.threads, chunks, worthwhile) - 1;
    const codeAddress = code.address(this.memory);
    if (codeAddress === null) {
      exports.run(this.memory.args, 0, items);
      return;
    }
    this.#published.add(code);
    const job = {
      code: code.id,
      codeAddress,
      codeBytes: code.bytes.length,
      run: exports.run,
      args: this.memory.args,
      items,
      chunkItems,
      helpers,
      chunkMs: work.nanoseconds / chunks / 1e6,
    };
    const complete = this.#open().run(job, this.lanes);
    if (complete) return;
    this.memory.detour(code.name);
    if (work.repeatable) throw new WorkerGivenUp();
    throw new DeviceLost({
      code: 'WORKER_DIED',
      message: `${code.name}: a worker thread ended in the middle of work that overwrites its input (cpu)`,
      fix: 'The input is lost: compute it again. The worker has been replaced, and other tensors are untouched.',
      where: code.name,
    });
  }

  #open(): WorkerPool {
    return (this.#pool ??= new WorkerPool(this.#host, this.memory, this.threads - 1, this.#patience, () => {
      for (const block of this.#deferred.splice(0)) this.memory.heap.free(block);
      this.memory.home();
    }));
  }
}
