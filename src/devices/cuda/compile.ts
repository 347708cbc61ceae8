// PTX text to functions on the device: through the cubin cache, else through the driver's assembler, whose complaints
// become errors that show the line they are about.

import { Finalizer } from '../../base/finalizer.ts';
import { KernelError } from '../../errors.ts';
import type { CubinStore } from './cache.ts';
import type { Driver } from './driver.ts';
import type { StepHome } from './step.ts';

const option = { infoLog: 3, infoLogBytes: 4, errorLog: 5, errorLogBytes: 6 } as const;
const inputPtx = 1;
const maxDynamicShared = 8;
const logBytes = 16384;

export interface LoadedModule {
  readonly handle: number;
  /** The function's handle; raises the limit of dynamic shared memory if it wants more than 48 KiB. */
  entry(name: string, dynamicShared?: number): number;
}

export class Compiler {
  readonly #driver: Driver;
  readonly #store: CubinStore;
  readonly #what: string;
  readonly #log = new Uint8Array(new ArrayBuffer(2 * logBytes));
  readonly #options = new Int32Array(new ArrayBuffer(16));
  readonly #values = new BigUint64Array(new ArrayBuffer(32));
  /** Loaded modules, and the memory that each of them keeps. */
  readonly #modules = new Map<number, number>();
  /** Modules of which no step can be reached any more. */
  #unused: number[] = [];
  readonly #lent = new Finalizer<number>((handle) => this.#unused.push(handle));
  /** Modules that had to be assembled, and those that came from the cache. */
  assembled = 0;
  cached = 0;

  /** `what` names device and architecture in messages. */
  constructor(driver: Driver, store: CubinStore, what: string) {
    this.#driver = driver;
    this.#store = store;
    this.#what = what;
    this.#options.set([option.infoLog, option.infoLogBytes, option.errorLog, option.errorLogBytes]);
  }

  load(name: string, ptx: string): LoadedModule {
    const kept = this.#store.get(ptx);
    if (kept) {
      const handle = this.#tryLoad(kept);
      if (handle !== undefined) {
        this.cached++;
        return this.#module(handle);
      }
      this.#store.drop(ptx);
    }
    const cubin = this.#assemble(name, ptx);
    this.assembled++;
    this.#store.put(ptx, cubin);
    const handle = this.#tryLoad(cubin);
    if (handle === undefined) throw this.#refused(name, ptx, 'the assembled module could not be loaded');
    return this.#module(handle);
  }

  /** A module stays loaded as long as `home` can be reached. */
  lend(handle: number, home: StepHome): void {
    this.#modules.set(handle, home.kept);
    this.#lent.register(home, handle);
  }

  /**
   * Unloads modules that nobody can launch from any more, once there are some: kernels of theirs may still be running, and
   * to be sure that they are not is to wait for the device.
   */
  sweep(least = 64): void {
    if (this.#unused.length < least || this.#unused.length === 0) return;
    const { call } = this.#driver;
    this.#driver.check(call.cuCtxSynchronize(), 'before unloading modules');
    for (const handle of this.#unused.splice(0)) this.#unload(handle);
  }

  close(): void {
    for (const handle of this.#modules.keys()) this.#unload(handle);
    this.#unused = [];
  }

  /** Modules that are loaded. */
  get loaded(): number {
    return this.#modules.size;
  }

  #unload(handle: number): void {
    const kept = this.#modules.get(handle);
    if (kept === undefined) return;
    this.#modules.delete(handle);
    this.#driver.call.cuModuleUnload(handle);
    if (kept !== 0) this.#driver.call.cuMemFree_v2(kept);
  }

  #module(handle: number): LoadedModule {
    this.#modules.set(handle, 0);
    const { call, ffi } = this.#driver;
    return {
      handle,
      entry: (name, dynamicShared = 0) => {
        const text = new TextEncoder().encode(`${name}\0`);
        const code = call.cuModuleGetFunction(this.#driver.outAddress, handle, ffi.address(text));
        this.#driver.check(code, `entry ${name}`);
        const fn = this.#driver.u64();
        if (dynamicShared > 48 * 1024) {
          this.#driver.check(call.cuFuncSetAttribute(fn, maxDynamicShared, dynamicShared), `shared memory of ${name}`);
        }
        return fn;
      },
    };
  }

  #tryLoad(cubin: Uint8Array): number | undefined {
    // The driver wants the image aligned, which a view into a file's bytes need not be.
    const image = new Uint8Array(new ArrayBuffer(cubin.length));
    image.set(cubin);
    const { call, ffi, outAddress } = this.#driver;
    const code = call.cuModuleLoadDataEx(outAddress, ffi.address(image), 0, 0, 0);
    return code === 0 ? this.#driver.u64() : undefined;
  }

  #assemble(name: string, ptx: string): Uint8Array {
    const { call, ffi, outAddress } = this.#driver;
    const text = new TextEncoder().encode(`${ptx}\0`);
    this.#log.fill(0);
    // Set anew each time: the driver writes back how much of each log it filled.
    const log = ffi.address(this.#log);
    this.#values.set([BigInt(log), BigInt(logBytes), BigInt(log + logBytes), BigInt(logBytes)]);
    const options = [4, ffi.address(this.#options), ffi.address(this.#values)] as const;
    this.#driver.check(call.cuLinkCreate_v2(...options, outAddress), 'cuLinkCreate');
    const state = this.#driver.u64();
    try {
      const added = call.cuLinkAddData_v2(state, inputPtx, ffi.address(text), text.length, 0, 0, 0, 0);
      if (added !== 0) throw this.#refused(name, ptx, this.#driver.nameOf(added));
      const linked = call.cuLinkComplete(state, outAddress, outAddress + 8);
      if (linked !== 0) throw this.#refused(name, ptx, this.#driver.nameOf(linked));
      // The bytes belong to the link state: copy them out before it goes.
      return new Uint8Array(ffi.view(this.#driver.u64(0), this.#driver.u64(1))).slice();
    } finally {
      call.cuLinkDestroy(state);
    }
  }

  #refused(name: string, ptx: string, reason: string): KernelError {
    const end = this.#log.indexOf(0, logBytes);
    const log = new TextDecoder().decode(this.#log.subarray(logBytes, end < 0 ? undefined : end)).trim();
    return new KernelError({
      code: 'PTX_REFUSED',
      message: `${name}: the driver refused the generated PTX on ${this.#what}: ${reason}\n${log}${excerpt(ptx, log)}`,
      fix: 'Please report this with the source of the kernel (error.source).',
      where: name,
      source: ptx,
    });
  }
}

/** The line a message is about, with two lines around it. */
function excerpt(ptx: string, log: string): string {
  const found = /line (\d+)/.exec(log);
  if (!found) return '';
  const at = Number(found[1]) - 1;
  const lines = ptx.split('\n');
  const shown = lines.slice(Math.max(0, at - 2), at + 3).map((text, i) => {
    const n = Math.max(0, at - 2) + i;
    return `${n === at ? '>' : ' '} ${n + 1} | ${text}`;
  });
  return `\n${shown.join('\n')}`;
}
