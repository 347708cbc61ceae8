// A CUDA driver for tests: records every call, keeps device memory in an array, and runs no kernels.
//
// Addresses are made up but consistent: host arrays, pinned memory and device memory each have their own range, and copies
// between them move real bytes. Memory that was unmapped is gone: touching it throws. A handler can replace any function, to
// make it fail or to watch it.

import type { Ffi, ForeignFunction, ForeignLibrary } from '../../src/devices/cuda/ffi/port.ts';

export interface MockCall {
  readonly name: string;
  readonly args: readonly number[];
}

const deviceBase = 0x7f0000000000;
const virtualBase = 0x600000000000;
const hostBase = 0x100000000;

export class MockCuda implements Ffi {
  readonly name = 'mock';
  readonly calls: MockCall[] = [];
  readonly handlers = new Map<string, (...args: number[]) => number>();
  readonly missing = new Set<string>();
  /** What can be opened, by a part of the name; add `libcublasLt` or `libnvidia-ml` to have those. */
  readonly libraries: string[] = ['libcuda'];
  /** Fails to open any library with this message. */
  refusal: string | null = null;
  /** Bytes of device memory. */
  capacity = 64 * 2 ** 20;
  /** Whether the GPU offers virtual memory. */
  virtual = true;
  driverVersion = 13000;
  capability: readonly [number, number] = [9, 0];
  devices = 1;
  readonly #device = new Map<number, number>();
  #deviceNext = deviceBase;
  #memory = new Uint8Array(0);
  readonly #ranges = new Map<number, { readonly bytes: number; data: Uint8Array }>();
  #rangeNext = virtualBase;
  /** Physical memory by handle, and what is mapped where. */
  readonly #physical = new Map<number, number>();
  readonly #mapped = new Map<number, { readonly bytes: number; readonly handle: number; enabled: boolean }>();
  readonly #host = new Map<number, ArrayBufferLike>();
  readonly #known = new WeakMap<ArrayBufferLike, number>();
  #hostNext = hostBase;
  #handle = 1000;

  constructor() {
    this.#memory = new Uint8Array(this.capacity);
    for (const [name, f] of Object.entries(this.#driver())) this.handlers.set(name, f);
  }

  open(names: readonly string[]): ForeignLibrary {
    const found = names.find((n) => this.libraries.some((l) => n.includes(l)));
    if (this.refusal !== null || !found) throw new Error(this.refusal ?? 'not here');
    return {
      path: found,
      bind: (symbol) => (this.missing.has(symbol) ? undefined : this.#bind(symbol)),
    };
  }

  address(array: ArrayBufferView): number {
    let base = this.#known.get(array.buffer);
    if (base === undefined) {
      base = this.#take(array.buffer);
      this.#known.set(array.buffer, base);
    }
    return base + array.byteOffset;
  }

  view(address: number, bytes: number): ArrayBuffer {
    const { buffer, offset } = this.#find(address);
    if (offset === 0 && buffer.byteLength === bytes) return buffer as ArrayBuffer;
    return new Uint8Array(buffer, offset, bytes).slice().buffer;
  }

  text(address: number): string {
    const { buffer, offset } = this.#find(address);
    const bytes = new Uint8Array(buffer, offset);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  /** Names of the calls so far, without the ones in `except`. */
  names(except: readonly string[] = []): string[] {
    return this.calls.map((c) => c.name).filter((n) => !except.includes(n));
  }

  writeU64(address: number, value: number): void {
    const { buffer, offset } = this.#find(address);
    new DataView(buffer).setBigUint64(offset, BigInt(value), true);
  }

  bytesAt(address: number, bytes: number): Uint8Array {
    if (address >= virtualBase && address < deviceBase) return this.#virtualBytes(address, bytes);
    if (address >= deviceBase) return this.#memory.subarray(address - deviceBase, address - deviceBase + bytes);
    const { buffer, offset } = this.#find(address);
    return new Uint8Array(buffer, offset, bytes);
  }

  /** Device memory that is allocated or exists behind a handle. */
  get deviceBytes(): number {
    return [...this.#device.values(), ...this.#physical.values()].reduce((a, b) => a + b, 0);
  }

  get reservedRanges(): number {
    return this.#ranges.size;
  }

  #virtualBytes(address: number, bytes: number): Uint8Array {
    for (let at = address; at < address + bytes; ) {
      const piece = [...this.#mapped].find(([start, m]) => m.enabled && at >= start && at < start + m.bytes);
      if (!piece) throw new Error(`mock: nothing is mapped at ${at}`);
      at = piece[0] + piece[1].bytes;
    }
    const [base, range] = [...this.#ranges].find(([start, r]) => address >= start && address < start + r.bytes)!;
    const end = address - base + bytes;
    if (end > range.data.length) {
      const larger = new Uint8Array(Math.min(range.bytes, 2 * end));
      larger.set(range.data);
      range.data = larger;
    }
    return range.data.subarray(address - base, end);
  }

  #bind(symbol: string): ForeignFunction {
    const call = (...args: number[]): number => {
      this.calls.push({ name: symbol, args });
      return this.handlers.get(symbol)?.(...args) ?? 0;
    };
    const threaded = async (...args: number[]): Promise<number> => (this.#cannotWait(symbol) ? 201 : call(...args));
    return Object.assign(call, { threaded });
  }

  /**
   * Where a test says when events are done, no thread can wait for them: it would come back at once, and end a wait that has become
   * long enough to be left to it because the machine is slow. Such a thread has no context (201), and the wait goes on asking.
   */
  #cannotWait(symbol: string): boolean {
    return symbol === 'cuEventSynchronize' && !this.handlers.has(symbol) && this.handlers.has('cuEventQuery');
  }

  #take(buffer: ArrayBufferLike): number {
    const base = this.#hostNext;
    this.#hostNext += Math.ceil((buffer.byteLength + 1) / 4096) * 4096;
    this.#host.set(base, buffer);
    return base;
  }

  #find(address: number): { buffer: ArrayBufferLike; offset: number } {
    for (const [base, buffer] of this.#host) {
      if (address >= base && address < base + Math.max(1, buffer.byteLength)) return { buffer, offset: address - base };
    }
    throw new Error(`mock: nothing at ${address}`);
  }

  #copy(to: number, from: number, bytes: number): number {
    this.bytesAt(to, bytes).set(this.bytesAt(from, bytes));
    return 0;
  }

  #give(address: number): number {
    this.writeU64(address, this.#handle++);
    return 0;
  }

  #driver(): Record<string, (...args: number[]) => number> {
    const text = (value: string): number => this.#take(new TextEncoder().encode(`${value}\0`).buffer);
    const put = (address: number, value: string): number => {
      this.bytesAt(address, value.length + 1).set(new TextEncoder().encode(`${value}\0`));
      return 0;
    };
    const set = (address: number, value: number): number => {
      this.writeU64(address, value);
      return 0;
    };
    const give = (address: number): number => this.#give(address);
    const attributes: Record<number, () => number> = {
      16: () => 132,
      38: () => 2 ** 25,
      75: () => this.capability[0],
      76: () => this.capability[1],
      102: () => Number(this.virtual),
    };
    return {
      cuDriverGetVersion: (out) => set(out!, this.driverVersion),
      cuGetErrorName: (code, out) => set(out!, text(code === 2 ? 'CUDA_ERROR_OUT_OF_MEMORY' : `CUDA_ERROR_${code}`)),
      cuGetErrorString: (code, out) => set(out!, text(`text of ${code}`)),
      cuDeviceGetCount: (out) => set(out!, this.devices),
      cuDeviceGet: (out, i) => set(out!, i!),
      cuDeviceGetName: (at) => put(at!, 'Mock GPU'),
      cuDeviceGetPCIBusId: (at) => put(at!, '0000:01:00.0'),
      cuDeviceGetAttribute: (out, a) => set(out!, attributes[a!]?.() ?? 0),
      cuDeviceTotalMem_v2: (out) => set(out!, this.capacity),
      cuDevicePrimaryCtxRetain: give,
      cuStreamCreate: give,
      cuEventCreate: give,
      cuLinkCreate_v2: (_n, _o, _v, out) => give(out!),
      cuLinkComplete: (_s, cubin, size) => {
        set(cubin!, this.#take(new Uint8Array([1, 2, 3, 4]).buffer));
        return set(size!, 4);
      },
      cuModuleLoadDataEx: give,
      cuModuleGetFunction: give,
      cuGraphCreate: give,
      cuGraphAddKernelNode: give,
      cuGraphInstantiateWithFlags: give,
      cuStreamEndCapture: (_s, out) => give(out!),
      cuMemGetInfo_v2: (free, total) => {
        set(free!, this.capacity - this.deviceBytes);
        return set(total!, this.capacity);
      },
      cuMemAlloc_v2: (out, bytes) => {
        if (this.deviceBytes + bytes! > this.capacity) return 2;
        const address = this.#deviceNext;
        this.#deviceNext += Math.ceil(bytes! / 512) * 512;
        const needed = this.#deviceNext - deviceBase;
        if (needed > this.#memory.length) {
          const larger = new Uint8Array(needed * 2);
          larger.set(this.#memory);
          this.#memory = larger;
        }
        this.#device.set(address, bytes!);
        return set(out!, address);
      },
      cuMemFree_v2: (address) => (this.#device.delete(address!) ? 0 : 1),
      ...this.#virtualDriver(set),
      cuMemHostAlloc: (out, bytes) => set(out!, this.#take(new ArrayBuffer(bytes!))),
      cuMemcpyHtoDAsync_v2: (to, from, n) => this.#copy(to!, from!, n!),
      cuMemcpyDtoHAsync_v2: (to, from, n) => this.#copy(to!, from!, n!),
    };
  }

  #virtualDriver(set: (address: number, value: number) => number): Record<string, (...args: number[]) => number> {
    return {
      cuMemGetAllocationGranularity: (out) => set(out!, 2 * 2 ** 20),
      cuMemAddressReserve: (out, bytes) => {
        const base = this.#rangeNext;
        this.#rangeNext += bytes!;
        this.#ranges.set(base, { bytes: bytes!, data: new Uint8Array(0) });
        return set(out!, base);
      },
      cuMemAddressFree: (address) => (this.#ranges.delete(address!) ? 0 : 1),
      cuMemCreate: (out, bytes) => {
        if (this.deviceBytes + bytes! > this.capacity) return 2;
        this.#physical.set(this.#handle, bytes!);
        return this.#give(out!);
      },
      cuMemRelease: (handle) => (this.#physical.delete(handle!) ? 0 : 1),
      cuMemMap: (address, bytes, _offset, handle) => {
        if (this.#physical.get(handle!) !== bytes || this.#mapped.has(address!)) return 1;
        this.#mapped.set(address!, { bytes: bytes!, handle: handle!, enabled: false });
        return 0;
      },
      cuMemSetAccess: (address, bytes) => {
        for (const [at, m] of this.#mapped) if (at >= address! && at < address! + bytes!) m.enabled = true;
        return 0;
      },
      cuMemUnmap: (address, bytes) => {
        if (this.#mapped.get(address!)?.bytes !== bytes) return 1;
        this.#mapped.delete(address!);
        return 0;
      },
    };
  }
}
