// The CPU as a device: WebAssembly kernels on one shared memory, worker threads, small work without a compiler.
//
// Every call has done its work when it returns; `read` never waits. Opening the device loads nothing and starts
// nothing: workers start at the first launch that is worth them, a system BLAS is looked for at the first large matmul.
// Workers do not keep the process alive, and end when the device is closed or garbage-collected.

import { type DType, dtypes, type TypedArray } from '../../base/dtype.ts';
import { collectGarbage } from '../../base/garbage.ts';
import { ArgumentError, DisposedError } from '../../errors.ts';
import { canonical } from '../../kernel/canonical.ts';
import { withoutEmptiness } from '../../kernel/empty.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Capabilities, ClockReading, Device, DeviceBuffer, DeviceLoss, Mark, Program, Span } from '../device.ts';
import { needsOf, tooSmall } from '../fit.ts';
import { maxBuffers } from './arguments.ts';
import type { Blas } from './blas.ts';
import { CpuBuffer, SmallBuffers, smallBytes } from './buffer.ts';
import { WasmEngine, WorkerGivenUp } from './engine.ts';
import { openHost } from './host.ts';
import { KernelProgram } from './kernel-program.ts';
import { CpuMemory, canShare, defaultMemoryBytes } from './memory.ts';
import { asWords } from './moves.ts';
import { PiecewiseProgram, piecesOf } from './pieces.ts';
import { canWork, checkCompiling, workersForbidden } from './policy.ts';
import type { LaneTime, WorkerPool } from './pool/pool.ts';
import { type CpuProgram, nothing } from './program.ts';
import { cpuNative } from './render/native.ts';
import { prepareRoutine } from './routines/prepare.ts';
import { Spares } from './spares.ts';
import { SummedProgram, summed } from './summands.ts';
import { tinyWork } from './tiny/compile.ts';
import { copyOf, forms } from './views.ts';

export interface CpuOptions {
  /** Its name; several CPU devices in one runtime need several. Default: `cpu`. */
  readonly id?: string;
  /** Threads that compute, the calling one included. Default: as many as the machine, or its container, offers. */
  readonly threads?: number;
  /** The most memory tensors may take, in bytes. Default and upper end: a little under 4 GiB. */
  readonly memoryBytes?: number;
  /** Whether large matmuls may use a system BLAS, or the path of the library to use. Default: true. */
  readonly blas?: boolean | string;
  /** Kernels up to this many loop iterations are interpreted instead of compiled. Default: 4096. */
  readonly tinyElements?: number;
  /** Programs kept for reuse. Default: 4096. */
  readonly programs?: number;
  /** How long a worker may show no progress before it is given up, in ms. Default: 10 s. */
  readonly patience?: number;
}

/** Worker threads as tests and reports see them. */
interface Workers {
  readonly size: number;
  readonly ready: number;
  readonly settled: boolean;
  injectFault(kind: 1 | 2 | 3 | 4 | 5): void;
  terminateOne(): Promise<void>;
}

export interface CpuDevice extends Device {
  readSync(src: DeviceBuffer, offset?: number, length?: number): Uint8Array;
  /** Elements as an array of the type that stores them (f16 and bf16 as 16 bits), without a detour through bytes. */
  readTyped(src: DeviceBuffer, type: DType, first?: number, count?: number): TypedArray;
  /** @internal The workers, for tests and reports; null until a launch has started them. */
  readonly workers: Workers | null;
}

const whole = (v: number, name: string, least: number, most: number): number => {
  if (Number.isInteger(v) && v >= least && v <= most) return v;
  throw new ArgumentError({
    code: 'BAD_OPTION',
    message: `createCpuDevice: ${name} is ${v}`,
    fix: `Use a whole number from ${least} to ${most}.`,
    where: 'createCpuDevice',
  });
};

export async function createCpuDevice(options: CpuOptions = {}): Promise<CpuDevice> {
  checkCompiling();
  const host = await openHost();
  const sharing = canShare();
  const asked = whole(options.threads ?? Math.min(256, Math.max(1, host.parallelism)), 'threads', 1, 256);
  const parallel = sharing && asked > 1;
  const forbidden = parallel && !(await canWork(host));
  const threads = parallel && !forbidden ? asked : 1;
  const limit = Math.min(
    whole(options.memoryBytes ?? defaultMemoryBytes, 'memoryBytes', 1, 2 ** 53 - 1),
    defaultMemoryBytes,
  );
  const tiny = whole(options.tinyElements ?? 4096, 'tinyElements', 0, 2 ** 31);
  const patience = whole(options.patience ?? 10_000, 'patience', 1, 2 ** 31);
  const engine = new WasmEngine(new CpuMemory(limit, sharing && threads > 1, host.largePages), host, threads, patience);
  const { blas: wanted = true } = options;
  // Browsers have no libraries: pages do not load what looks for them.
  const blas = host.require && wanted !== false ? new (await import('./blas.ts')).Blas(host, wanted, threads) : null;
  const programs = whole(options.programs ?? 4096, 'programs', 1, 2 ** 31);
  return new Cpu(options.id ?? 'cpu', engine, blas, tiny, programs, forbidden);
}

/** Memory of a closed device that may wait for the collector to come by. */
const keptBytes = 32 << 20;

class Cpu implements CpuDevice {
  readonly id: string;
  readonly caps: Capabilities;
  readonly lost = new Promise<DeviceLoss>(() => {});
  readonly #engine: WasmEngine;
  readonly #blas: Blas | null;
  readonly #small: SmallBuffers;
  readonly #tiny: number;
  /** The ones used longest ago go first. */
  readonly #programLimit: number;
  readonly #byIdentity = new WeakMap<Kernel | Routine, CpuProgram>();
  readonly #programs = new Map<string, CpuProgram>();
  readonly #spares = new Spares();
  /** Null while nobody wants to know. */
  #spans: Span[] | null = null;
  #lanes = false;
  #closed = false;

  constructor(id: string, engine: WasmEngine, blas: Blas | null, tiny: number, programs: number, forbidden: boolean) {
    this.id = id;
    this.#engine = engine;
    this.#blas = blas;
    this.#small = new SmallBuffers(engine.memory, () => engine.settled);
    this.#tiny = tiny;
    this.#programLimit = programs;
    const { memory, threads } = engine;
    this.caps = {
      name: `CPU, ${threads} ${threads === 1 ? 'thread' : 'threads'}, WebAssembly SIMD`,
      dtypes: new Set(dtypes),
      native: cpuNative,
      skipsArms: true,
      routines: new Set(['matmul', 'sort', 'scan', 'scatter', 'topk', 'compact', 'fourier']),
      matmulEpilogue: false,
      valueSorts: true,
      selectsAnywhere: true,
      widensScans: true,
      maxBuffers,
      maxBufferBytes: memory.heap.capacity,
      syncRead: true,
      immortal: true,
      host: true,
      details: {
        threads,
        simd: 'simd128',
        shared: memory.shared,
        ...(forbidden ? { workers: workersForbidden } : {}),
        // Looking for the library takes time, so it waits until somebody asks.
        get blas() {
          return blas?.name ?? 'none';
        },
      },
    };
    forgotten().register(this, engine, this);
  }

  get workers(): WorkerPool | null {
    return this.#engine.pool;
  }

  allocate(bytes: number): CpuBuffer {
    if (bytes <= smallBytes && bytes >= 0) return this.#small.make(bytes);
    this.#open('allocate');
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new ArgumentError({
        code: 'BAD_SIZE',
        message: `allocate: ${bytes} bytes (cpu)`,
        fix: 'Ask for a whole number of bytes, zero or more.',
        where: 'allocate',
      });
    }
    const block = this.#engine.memory.take(bytes, 'allocate');
    return new CpuBuffer(bytes, null, block.address, block);
  }

  release(buffer: DeviceBuffer): void {
    const b = buffer as CpuBuffer;
    if (b.small || b.released) return;
    b.released = true;
    if (this.#closed) return;
    if (b.block) this.#engine.release(b.block);
    else if (this.#engine.settled) this.#small.release(b);
    b.block = null;
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset = 0): void {
    const b = this.#own(dst, offset, bytes.length, 'write');
    (b.small ?? this.#engine.memory.views).u8.set(bytes, b.address + offset);
  }

  readSync(src: DeviceBuffer, offset = 0, length = src.bytes - offset): Uint8Array {
    return this.#copyOut(src, offset, length, this.#spares.take(length));
  }

  #copyOut(src: DeviceBuffer, offset: number, length: number, into: Uint8Array | null): Uint8Array {
    const b = this.#own(src, offset, length, 'read');
    const at = b.address + offset;
    const { u8 } = b.small ?? this.#engine.memory.views;
    if (!into) return u8.slice(at, at + length);
    into.set(u8.subarray(at, at + length));
    return into;
  }

  returnRead(bytes: Uint8Array): void {
    this.#spares.keep(bytes);
  }

  reaches(from: Device): boolean {
    return from instanceof Cpu;
  }

  /** Between CPU devices the bytes are copied from memory to memory. */
  copyFrom(from: Device, src: DeviceBuffer, dst: DeviceBuffer): void {
    const other = from as Cpu;
    const b = other.#own(src, 0, src.bytes, 'copyFrom');
    const { u8 } = b.small ?? other.#engine.memory.views;
    this.write(dst, u8.subarray(b.address, b.address + b.bytes));
  }

  async read(src: DeviceBuffer, offset = 0, length = src.bytes - offset, into?: Uint8Array): Promise<Uint8Array> {
    return into ? this.#copyOut(src, offset, length, into) : this.readSync(src, offset, length);
  }

  readTyped(src: DeviceBuffer, type: DType, first = 0, count?: number): TypedArray {
    const form = forms[type];
    const size = form.bytes;
    const n = count ?? Math.floor(src.bytes / size) - first;
    const b = this.#own(src, first * size, n * size, 'read');
    return copyOf(b.small ?? this.#engine.memory.views, form, b.address / size + first, n);
  }

  prepare(work: Kernel | Routine): Program {
    let program = this.#byIdentity.get(work);
    if (program) return program;
    this.#open('prepare');
    const key = canonical(work);
    program = this.#programs.get(key);
    if (program) this.#programs.delete(key);
    else program = this.#make(work);
    // Last in the map is used last.
    this.#programs.set(key, program);
    if (this.#programs.size > this.#programLimit) {
      const [oldest, dropped] = this.#programs.entries().next().value!;
      this.#programs.delete(oldest);
      dropped.dispose();
    }
    this.#byIdentity.set(work, program);
    return program;
  }

  #make(work: Kernel | Routine): CpuProgram {
    const left = withoutEmptiness(work);
    if (!left) return nothing(work.name, needsOf(work), work.kind === 'kernel' ? work.scalars.length : 0);
    if (left.kind !== 'kernel') return prepareRoutine(left, this.#engine, this.#blas);
    const full = asWords(left);
    const prepare = (k: Kernel): CpuProgram => this.prepare(k) as CpuProgram;
    const pieces = piecesOf(full);
    if (pieces) return new PiecewiseProgram(full, needsOf(full), pieces, prepare);
    const parts = tinyWork(full) <= this.#tiny ? summed(full) : null;
    return parts ? new SummedProgram(full, parts, prepare, this) : new KernelProgram(full, this.#engine, this.#tiny);
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void {
    const p = program as CpuProgram;
    const list = buffers as readonly CpuBuffer[];
    if (this.#closed) this.#open(p.name);
    if (list.length !== p.needs.length || scalars.length !== p.scalars)
      this.#refuseCount(p, list.length, scalars.length);
    for (let i = 0; i < list.length; i++) {
      const b = list[i]!;
      if (b.released || b.bytes < p.needs[i]!) this.#refuseBuffer(p, b, i);
    }
    if (this.#spans !== null && id !== undefined) {
      this.#measured(p, list, scalars, id, this.#spans);
    } else this.#run(p, list, scalars);
  }

  #run(p: CpuProgram, buffers: readonly CpuBuffer[], scalars: readonly number[]): void {
    try {
      p.run(buffers, scalars);
    } catch (e) {
      if (!(e instanceof WorkerGivenUp)) throw e;
      for (const b of new Set(buffers)) this.#move(b);
      p.run(buffers, scalars);
    }
  }

  /** Brings a buffer to where no lost worker can write to it. */
  #move(b: CpuBuffer): void {
    if (b.small) return;
    const { address, block } = b;
    b.moveTo(this.allocate(b.bytes));
    this.write(b, this.#engine.memory.views.u8.subarray(address, address + b.bytes));
    if (block) this.#engine.release(block);
  }

  #measured(p: CpuProgram, buffers: readonly CpuBuffer[], scalars: readonly number[], id: number, spans: Span[]): void {
    const lanes: LaneTime[] | null = this.#lanes ? [] : null;
    this.#engine.lanes = lanes;
    const start = performance.now();
    try {
      this.#run(p, buffers, scalars);
    } finally {
      this.#engine.lanes = null;
    }
    spans.push({ id, start, end: performance.now() });
    if (lanes) for (const lane of lanes) spans.push({ id, ...lane });
  }

  /** The host's clock around the launch: the device is done when it returns. Detailed, its workers have lanes of their own. */
  spans(on: boolean | 'detailed'): void {
    this.#spans = on ? (this.#spans ?? []) : null;
    this.#lanes = on === 'detailed';
  }

  takeSpans(): readonly Span[] {
    const taken = this.#spans ?? [];
    if (taken.length > 0) this.#spans = [];
    return taken;
  }

  async clock(): Promise<ClockReading> {
    const now = performance.now();
    return { device: now, host: now, errorUs: 0 };
  }

  mark(timed = true): Mark {
    return new DoneMark(timed ? performance.now() : null);
  }

  memory(): { readonly total: number; readonly free: number } {
    const { heap } = this.#engine.memory;
    return { total: heap.capacity, free: heap.capacity - heap.used };
  }

  pool(): { readonly reserved: number; readonly inUse: number; readonly idle: number } {
    const { held, used } = this.#engine.memory.heap;
    return { reserved: held, inUse: used, idle: held - used };
  }

  trim(): void {
    this.#spares.clear();
    if (!this.#closed) this.#engine.trim();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    forgotten().unregister(this);
    for (const p of this.#programs.values()) p.dispose();
    this.#programs.clear();
    this.#spares.clear();
    const { committed } = this.#engine.memory;
    await this.#engine.close();
    // The pages of a WebAssembly memory go back only when it is collected, and the collector does not know how many there are.
    if (committed > keptBytes) await collectGarbage();
  }

  #open(where: string): void {
    if (!this.#closed) return;
    throw new DisposedError({
      code: 'DEVICE_CLOSED',
      message: `${where}: the cpu device is closed`,
      fix: 'Create a new runtime, or close this one later.',
      where,
    });
  }

  #own(buffer: DeviceBuffer, offset: number, length: number, where: string): CpuBuffer {
    if (this.#closed) this.#open(where);
    const b = buffer as CpuBuffer;
    if (b.released) throw releasedError(where);
    if (offset < 0 || length < 0 || offset + length > b.bytes) {
      throw new ArgumentError({
        code: 'OUT_OF_BOUNDS',
        message: `${where}: bytes ${offset} to ${offset + length} of a buffer of ${b.bytes} (cpu)`,
        fix: 'Stay within the buffer.',
        where,
      });
    }
    return b;
  }

  #refuseCount(p: CpuProgram, buffers: number, scalars: number): never {
    throw new ArgumentError({
      code: 'BAD_LAUNCH',
      message: `${p.name}: launched with ${buffers} buffers and ${scalars} scalars, takes ${p.needs.length} and ${p.scalars} (cpu)`,
      fix: 'Pass the inputs, then the outputs, as the kernel lists them.',
      where: p.name,
    });
  }

  #refuseBuffer(p: CpuProgram, b: CpuBuffer, i: number): never {
    if (b.released) throw releasedError(p.name);
    throw tooSmall(this.id, p.name, i, b.bytes, p.needs[i]!);
  }
}

const releasedError = (where: string): DisposedError =>
  new DisposedError({
    code: 'BUFFER_RELEASED',
    message: `${where}: the buffer was released (cpu)`,
    fix: 'Release a buffer only after its last use.',
    where,
  });

/** Work is done when a call returns, so a mark is a time. */
class DoneMark implements Mark {
  readonly #at: number | null;

  constructor(at: number | null) {
    this.#at = at;
  }

  done(): boolean {
    return true;
  }
  async whenDone(): Promise<void> {}
  since(earlier: Mark): number | null {
    if (!(earlier instanceof DoneMark) || this.#at === null || earlier.#at === null) return null;
    return this.#at - earlier.#at;
  }
}

let registry: FinalizationRegistry<WasmEngine> | null = null;

/** Ends the workers of devices that were dropped without being closed. */
const forgotten = (): FinalizationRegistry<WasmEngine> =>
  (registry ??= new FinalizationRegistry((engine) => {
    engine.close().catch(() => {});
  }));
