// One NVIDIA GPU as a Device.
//
// Kernels run on one compute stream, in the order of the calls; copies keep to the order of what uses their bytes (`copies.ts`), and
// so does memory (`blocks.ts`).

import { Finalizer } from '../../base/finalizer.ts';
import { type DeviceLost, DisposedError, OutOfMemory } from '../../errors.ts';
import { canonical } from '../../kernel/canonical.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { plainWork } from '../../kernel/plain.ts';
import type {
  Capabilities,
  ClockReading,
  Device,
  DeviceBuffer,
  DeviceLoss,
  Launch,
  Mark,
  Program,
  Recording,
  Span,
  Telemetry,
} from '../device.ts';
import { needsOf, tooSmall } from '../fit.ts';
import { Blocks } from './blocks.ts';
import type { CudaBuffer } from './buffer.ts';
import type { CubinStore } from './cache.ts';
import { Compiler } from './compile.ts';
import { Copies, largeCopy } from './copies.ts';
import type { Driver } from './driver.ts';
import { EventPool } from './events.ts';
import { record } from './graphs.ts';
import { type CudaDeviceInfo, capabilities, openArena } from './info.ts';
import { CudaMark } from './marks.ts';
import { buildMatmul, buildProducts } from './product.ts';
import { buildProgram, type CudaProgram, nothing, ProgramCache, recipeKey } from './program.ts';
import { Progress } from './progress.ts';
import { probeRecipe } from './ptx/stamps.ts';
import type { Target } from './ptx/target.ts';
import { kernelRecipe, type ModuleRecipe } from './recipe.ts';
import type { Libraries } from './routines/index.ts';
import { routineRecipe } from './routines/index.ts';
import { CudaSpans } from './spans.ts';
import type { KernelStep, StreamStep } from './step.ts';
import { PinnedPool } from './transfer.ts';
import { type Bed, Waits } from './waits.ts';

export interface CudaServices {
  readonly driver: Driver;
  readonly store: CubinStore;
  readonly libraries: Libraries;
  readonly telemetry: (() => Telemetry) | null;
  readonly pinnedLimit: number;
  readonly protect: (buffer: ArrayBuffer) => void;
}

const nonBlocking = 1;

export class CudaDevice implements Device {
  readonly id: string;
  readonly caps: Capabilities;
  readonly lost: Promise<DeviceLoss>;
  readonly target: Target;
  readonly #driver: Driver;
  readonly #context: number;
  readonly #compute: number;
  readonly #up: number;
  readonly #down: number;
  readonly #progress: Progress;
  /** Bytes of the buffers of the last launch or replay. */
  #touched = 0;
  readonly #copies: Copies;
  readonly #blocks: Blocks;
  readonly #events: EventPool;
  readonly #timers: EventPool;
  readonly #polled: EventPool;
  readonly #compiler: Compiler;
  readonly #programs = new ProgramCache();
  readonly #libraries: Libraries;
  readonly #idleMarks: Finalizer<number>;
  readonly #waits = new Waits();
  readonly telemetry?: () => Telemetry;
  readonly #onLost: (error: DeviceLost) => void;
  /** Null until somebody wants to know, and when nobody does any more. */
  #spans: CudaSpans | null = null;
  /** Notes the time, for comparisons of the clocks. */
  #probe: CudaProgram | null = null;
  #closed = false;

  constructor(info: CudaDeviceInfo, services: CudaServices) {
    const { driver } = services;
    this.id = info.id;
    this.target = info.target;
    this.#driver = driver;
    this.#context = info.context;
    driver.use(info.context);
    this.#compute = this.#stream();
    this.#up = this.#stream();
    this.#down = this.#stream();
    this.#events = new EventPool(driver, 'told');
    this.#timers = new EventPool(driver, 'timed');
    this.#polled = new EventPool(driver, 'polled');
    this.#progress = new Progress(this.#events, this.#compute);
    const pinned = new PinnedPool(driver, services.pinnedLimit, services.protect);
    const streams = { compute: this.#compute, up: this.#up, down: this.#down };
    this.#copies = new Copies(driver, this.#events, streams, this.#progress, pinned, this.#waits);
    const apart = (): void => this.#spans?.apart();
    const order = { events: this.#events, progress: this.#progress, copies: this.#copies, apart };
    this.#blocks = new Blocks(driver, openArena(driver, info), order);
    this.#compiler = new Compiler(driver, services.store, `${info.id} (${info.name}, sm_${info.target.sm})`);
    this.#libraries = services.libraries;
    this.#idleMarks = new Finalizer((event) => this.#timers.recycle(event));
    if (services.telemetry) this.telemetry = services.telemetry;
    let tell: (loss: DeviceLoss) => void = () => {};
    this.lost = new Promise((resolve) => {
      tell = resolve;
    });
    this.#onLost = (error) => tell({ reason: error.message, cause: error });
    driver.onFatal.add(this.#onLost);
    this.caps = capabilities(info, services.libraries);
  }

  allocate(bytes: number): DeviceBuffer {
    this.#enter();
    return this.#blocks.allocate(bytes) ?? this.#noRoom(bytes);
  }

  #noRoom(bytes: number): never {
    const { free, total } = this.memory();
    throw new OutOfMemory({
      code: 'OUT_OF_MEMORY',
      message: `${this.id}: no room for ${bytes} bytes: ${free} of ${total} are free`,
      fix: 'Dispose of tensors that are no longer needed, or work on smaller pieces.',
      where: 'allocate',
      requested: bytes,
      available: free,
    });
  }

  release(buffer: DeviceBuffer): void {
    this.#blocks.release(buffer as CudaBuffer);
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset = 0): void {
    this.#enter();
    const b = this.#live(dst);
    if (bytes.length === b.bytes && bytes.length >= largeCopy) this.#blocks.intoIdle(b);
    if (bytes.length > 0) this.#copies.upload(b, offset, bytes);
  }

  async read(
    src: DeviceBuffer,
    offset = 0,
    length = src.bytes - offset,
    into: Uint8Array | null = null,
  ): Promise<Uint8Array> {
    this.#enter();
    const b = this.#live(src);
    return length === 0 ? (into ?? new Uint8Array(0)) : this.#copies.download(b, offset, length, into);
  }

  readSync(src: DeviceBuffer, offset = 0, length = src.bytes - offset): Uint8Array {
    this.#enter();
    const b = this.#live(src);
    return length === 0 ? new Uint8Array(0) : this.#copies.downloadSync(b, offset, length);
  }

  prepare(work: Kernel | Routine): Program {
    const known = this.#programs.get(work);
    if (known) return known;
    this.#enter();
    const needs = needsOf(work);
    const full = plainWork(work, true);
    if (!full) return this.#programs.find(work, `nothing\n${needs}`, () => nothing(work.name, needs));
    const build = (recipe: ModuleRecipe): CudaProgram => this.#build(recipe, needs);
    if (full.kind === 'kernel') {
      const recipe = kernelRecipe(full, this.target);
      return this.#programs.find(work, recipeKey(recipe, needs), () => build(recipe));
    }
    const context = { libraries: this.#libraries, target: this.target, build };
    return this.#programs.find(work, canonical(full), () => {
      if (full.op === 'matmul') return buildMatmul(full, context);
      return full.op === 'products' ? buildProducts(full, context) : build(routineRecipe(full, this.target));
    });
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void {
    this.#driver.use(this.#context);
    const p = program as CudaProgram;
    const located = buffers as readonly CudaBuffer[];
    this.#settleAll(p.name, p.needs, located);
    const stamps = id === undefined ? null : (this.#spans?.stampsFor(p) ?? null);
    if (stamps !== null) {
      const steps = p.make.stamped!();
      stamps.place(steps);
      this.#enqueue(p, steps, located, scalars);
      stamps.commit(id!, steps.length);
    } else {
      this.#spans?.begin(id);
      this.#enqueue(p, p.steps, located, scalars);
      this.#spans?.end(id);
    }
    this.#progress.launched(this.#touched);
  }

  #enqueue(
    p: CudaProgram,
    steps: readonly StreamStep[],
    located: readonly CudaBuffer[],
    scalars: readonly number[],
  ): void {
    if (p.borrowedBytes === 0) {
      for (const step of steps) step.run(this.#compute, located, 0, scalars);
      return;
    }
    const borrowed = this.allocate(p.borrowedBytes) as CudaBuffer;
    borrowed.used = this.#progress.next();
    // Handed back at once: the next user comes later on the same stream.
    try {
      for (const step of steps) step.run(this.#compute, located, borrowed.address, scalars);
    } finally {
      this.release(borrowed);
    }
  }

  record(steps: readonly Launch[]): Recording {
    this.#enter();
    const needs: number[] = [];
    for (const { program, buffers } of steps) {
      (program as CudaProgram).needs.forEach((bytes, i) => {
        needs[buffers[i]!] = Math.max(needs[buffers[i]!] ?? 0, bytes);
      });
    }
    const recording = record(
      {
        driver: this.#driver,
        stream: this.#compute,
        settle: (buffers) => {
          this.#driver.use(this.#context);
          this.#settleAll('replay', needs, buffers as readonly CudaBuffer[]);
        },
        borrow: (bytes) => {
          const block = this.allocate(bytes) as CudaBuffer;
          const giveBack = (): void => {
            block.used = this.#progress.enqueued;
            this.release(block);
          };
          return { address: block.address, giveBack };
        },
        pinned: this.#copies.pinned,
      },
      steps,
    );
    return {
      replay: (bindings, scalars, id) => {
        if (this.#spans === null) recording.replay(bindings, scalars);
        else {
          this.#driver.use(this.#context);
          this.#settleAll('replay', needs, bindings as readonly CudaBuffer[]);
          this.#spans.begin(id);
          recording.replay(bindings, scalars);
          this.#spans.end(id);
        }
        this.#progress.launched(this.#touched);
      },
      ...(recording.exchange && {
        exchange: (...given) => {
          this.#spans?.apart();
          return recording.exchange!(...given);
        },
      }),
      dispose: () => recording.dispose(),
    };
  }

  spans(on: boolean | 'detailed'): void {
    this.#enter();
    if (on) this.#spans ??= new CudaSpans(this.#driver, this.#compute, () => this.#lookAtClock());
    else {
      this.#spans?.close();
      this.#spans = null;
    }
  }

  takeSpans(): readonly Span[] {
    if (this.#spans === null) return [];
    this.#enter();
    return this.#spans.take();
  }

  async clock(): Promise<ClockReading> {
    this.#enter();
    if (this.#spans === null) throw disposed(`the clock of ${this.id} runs only while spans are on`);
    return this.#spans.clock();
  }

  mark(timed = true): Mark {
    this.#enter();
    if (!timed) {
      // Nobody asks for this one again once it is done.
      const event = this.#polled.record(this.#compute);
      const recycle = (): void => this.#polled.recycle(event);
      return new CudaMark(this.#driver, event, this.#progress, this.#waits, { recycle, bed: this.#bed() });
    }
    const event = this.#timers.record(this.#compute);
    const mark = new CudaMark(this.#driver, event, this.#progress, this.#waits, null);
    this.#idleMarks.register(mark, mark.event);
    return mark;
  }

  memory(): { readonly total: number; readonly free: number; readonly whole: boolean } {
    this.#enter();
    const { call, outAddress } = this.#driver;
    this.#driver.check(call.cuMemGetInfo_v2(outAddress, outAddress + 8), 'cuMemGetInfo');
    return { free: this.#driver.u64(0) + this.pool().idle, total: this.#driver.u64(1), whole: true };
  }

  pool(): { readonly reserved: number; readonly inUse: number; readonly idle: number } {
    const { reserved, inUse } = this.#blocks;
    return { reserved, inUse, idle: reserved - inUse };
  }

  trim(): void {
    this.#enter();
    this.#blocks.trim();
    this.#copies.pinned.trim();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#driver.use(this.#context);
    const { call } = this.#driver;
    call.cuCtxSynchronize();
    this.#closed = true;
    this.#driver.onFatal.delete(this.#onLost);
    this.#copies.close();
    this.#compiler.close();
    this.#blocks.close();
    this.#spans?.close();
    this.#events.close();
    this.#timers.close();
    this.#polled.close();
    for (const stream of [this.#compute, this.#up, this.#down]) call.cuStreamDestroy_v2(stream);
    // The primary context stays: pinned arrays that users still hold live in it.
  }

  returnRead(bytes: Uint8Array): void {
    this.#copies.pinned.takeBack(bytes.buffer);
  }

  // Beyond the contract.

  /** Host memory the device reaches directly: the fastest source of uploads. */
  pinned(bytes: number): ArrayBuffer {
    this.#enter();
    const { pinned } = this.#copies;
    return pinned.lend(pinned.take(bytes), bytes);
  }

  isPinned(bytes: Uint8Array): boolean {
    return this.#copies.pinned.addressOf(bytes) !== undefined;
  }

  reaches(from: Device): boolean {
    return from instanceof CudaDevice && from.#driver === this.#driver;
  }

  /** Directly between GPUs that reach each other's memory; the driver stages it through pinned memory between those that do not. */
  copyFrom(from: Device, src: DeviceBuffer, dst: DeviceBuffer): void {
    if (src.bytes === 0) return;
    const other = from as CudaDevice;
    this.#copyPeer(other, other.#live(src), this.#live(dst));
  }

  #copyPeer(other: CudaDevice, from: CudaBuffer, to: CudaBuffer): void {
    const bytes = Math.min(from.bytes, to.bytes);
    const { call } = this.#driver;
    this.#spans?.apart();
    other.#spans?.apart();
    other.#enter();
    other.#copies.settle(from);
    const event = other.#events.record(other.#compute);
    this.#enter();
    this.#copies.settle(to);
    this.#driver.check(call.cuStreamWaitEvent(this.#compute, event, 0), 'copy between devices');
    other.#events.recycle(event);
    const code = call.cuMemcpyPeerAsync(to.address, this.#context, from.address, other.#context, bytes, this.#compute);
    this.#driver.check(code, 'copy between devices');
    // The source must not be overwritten before the copy has read it.
    const done = this.#events.record(this.#compute);
    to.used = this.#progress.next();
    other.#enter();
    this.#driver.check(call.cuStreamWaitEvent(other.#compute, done, 0), 'copy between devices');
    this.#events.recycle(done);
    from.used = other.#progress.next();
  }

  /** What the pools and caches hold, for tests and `stats`. */
  counters(): Readonly<Record<'reserved' | 'inUse' | 'programs' | 'assembled' | 'fromCache', number>> {
    return {
      reserved: this.#blocks.reserved,
      inUse: this.#blocks.inUse,
      programs: this.#programs.size,
      assembled: this.#compiler.assembled,
      fromCache: this.#compiler.cached,
    };
  }

  /** Where a thread sleeps until the work so far is done: on an event of its own, as long as nothing was enqueued behind it. */
  #bed(): Bed {
    const { enqueued } = this.#progress;
    return {
      take: () => (this.#closed || this.#progress.enqueued !== enqueued ? null : this.#events.record(this.#compute)),
      giveBack: (event) => this.#events.recycle(event),
    };
  }

  #stream(): number {
    const { call, outAddress } = this.#driver;
    this.#driver.check(call.cuStreamCreate(outAddress, nonBlocking), 'cuStreamCreate');
    return this.#driver.u64();
  }

  #enter(): void {
    if (this.#closed) throw disposed(`${this.id} is closed`);
    this.#driver.use(this.#context);
  }

  #live(buffer: DeviceBuffer): CudaBuffer {
    const b = buffer as CudaBuffer;
    if (b.address < 0) throw disposed(`a buffer of ${b.bytes} bytes on ${this.id} was released`);
    return b;
  }

  #build(recipe: ModuleRecipe, needs: readonly number[], measured = this.#spans !== null): CudaProgram {
    this.#compiler.sweep();
    const keep = (bytes: number): number => {
      const { call, outAddress } = this.#driver;
      this.#driver.check(call.cuMemAlloc_v2(outAddress, bytes), `scratch memory of ${recipe.name}`);
      const address = this.#driver.u64();
      this.#spans?.apart();
      this.#driver.check(call.cuMemsetD32Async(address, 0, Math.ceil(bytes / 4), this.#compute), 'cuMemsetD32');
      return address;
    };
    const { processors } = this.target;
    return buildProgram(recipe, needs, {
      driver: this.#driver,
      compiler: this.#compiler,
      keep,
      processors,
      measured,
    });
  }

  #lookAtClock(): KernelStep {
    this.#driver.use(this.#context);
    this.#probe ??= this.#build(probeRecipe(this.target), [], true);
    return this.#probe.make.stamped!()[0]!;
  }

  /** Buffers of a launch: there, large enough, and not being copied. What is too small would be read past its end. */
  #settleAll(name: string, needs: readonly number[], buffers: readonly CudaBuffer[]): void {
    const number = this.#progress.next();
    this.#touched = 0;
    for (let i = 0; i < buffers.length; i++) {
      const b = buffers[i]!;
      b.used = number;
      this.#touched += b.bytes;
      if (b.address < 0) this.#live(b);
      if (b.bytes < (needs[i] ?? 0)) throw tooSmall(this.id, name, i, b.bytes, needs[i]!);
      if (b.fence === 0) continue;
      this.#spans?.apart();
      this.#copies.settle(b);
    }
  }
}

function disposed(message: string): DisposedError {
  return new DisposedError({ code: 'DISPOSED', message, fix: 'Use it before it is released.', where: 'cuda' });
}
