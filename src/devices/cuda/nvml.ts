// Telemetry through NVML: measured or absent. Every value is asked for on its own, so that a board without a power sensor
// still reports its temperature.

import type { Telemetry } from '../device.ts';
import type { Ffi, ForeignFunction, ForeignLibrary, ForeignType } from './ffi/port.ts';

const u = 'u64';
const table = {
  nvmlInit_v2: [],
  nvmlDeviceGetHandleByPciBusId_v2: [u, u],
  nvmlDeviceGetUtilizationRates: [u, u],
  nvmlDeviceGetMemoryInfo: [u, u],
  nvmlDeviceGetTemperature: [u, 'u32', u],
  nvmlDeviceGetPowerUsage: [u, u],
  nvmlDeviceGetClockInfo: [u, 'u32', u],
  nvmlDeviceGetComputeRunningProcesses_v3: [u, u, u],
} as const satisfies Record<string, readonly ForeignType[]>;

type Name = keyof typeof table;

const libraries = ['libnvidia-ml.so.1', 'libnvidia-ml.so', 'nvml.dll'];
const clocks = { graphics: 0, sm: 1, memory: 2, video: 3 } as const;
const mostProcesses = 64;
// nvmlProcessInfo_t: pid (u32, padded), used memory (u64), two instance ids (u32).
const processBytes = 24;
const notAvailable = 2 ** 64;

export class Nvml {
  readonly #call: Partial<Record<Name, ForeignFunction>>;
  readonly #out = new DataView(new ArrayBuffer(64));
  readonly #outAddress: number;
  readonly #list = new DataView(new ArrayBuffer(mostProcesses * processBytes));
  readonly #listAddress: number;

  private constructor(ffi: Ffi, library: ForeignLibrary) {
    const call: Partial<Record<Name, ForeignFunction>> = {};
    for (const name of Object.keys(table) as Name[]) {
      const bound = library.bind(name, 'i32', table[name]);
      if (bound) call[name] = bound;
    }
    this.#call = call;
    this.#outAddress = ffi.address(this.#out);
    this.#listAddress = ffi.address(this.#list);
  }

  /** Undefined where the library is missing or refuses to start. */
  static open(ffi: Ffi): Nvml | undefined {
    try {
      const nvml = new Nvml(ffi, ffi.open(libraries));
      return nvml.#call.nvmlInit_v2?.() === 0 ? nvml : undefined;
    } catch {
      return undefined;
    }
  }

  /** The handle of the device at a PCI address, or undefined. */
  device(ffi: Ffi, pciBusId: string): number | undefined {
    const text = new TextEncoder().encode(`${pciBusId}\0`);
    const code = this.#call.nvmlDeviceGetHandleByPciBusId_v2?.(ffi.address(text), this.#outAddress);
    return code === 0 ? this.#u64(0) : undefined;
  }

  telemetry(handle: number): Telemetry {
    const out = this.#outAddress;
    const ok = (code: number | undefined): boolean => code === 0;
    const { ...found }: { -readonly [K in keyof Telemetry]: Telemetry[K] } = {};
    if (ok(this.#call.nvmlDeviceGetUtilizationRates?.(handle, out))) found.utilization = this.#u32(0) / 100;
    if (ok(this.#call.nvmlDeviceGetMemoryInfo?.(handle, out))) {
      found.memoryTotal = this.#u64(0);
      found.memoryUsed = this.#u64(16);
    }
    if (ok(this.#call.nvmlDeviceGetTemperature?.(handle, 0, out))) found.temperature = this.#u32(0);
    if (ok(this.#call.nvmlDeviceGetPowerUsage?.(handle, out))) found.power = this.#u32(0) / 1000;
    const read: Record<string, number> = {};
    for (const [name, kind] of Object.entries(clocks)) {
      if (ok(this.#call.nvmlDeviceGetClockInfo?.(handle, kind, out))) read[name] = this.#u32(0);
    }
    if (Object.keys(read).length > 0) found.clocks = read;
    const processes = this.#processes(handle);
    if (processes) found.processes = processes;
    return found;
  }

  #processes(handle: number): Telemetry['processes'] | undefined {
    this.#out.setUint32(0, mostProcesses, true);
    const code = this.#call.nvmlDeviceGetComputeRunningProcesses_v3?.(handle, this.#outAddress, this.#listAddress);
    if (code !== 0) return undefined;
    return Array.from({ length: this.#u32(0) }, (_, i) => ({
      pid: this.#list.getUint32(i * processBytes, true),
      memory: Number(this.#list.getBigUint64(i * processBytes + 8, true)),
    })).filter((p) => p.memory < notAvailable - 1);
  }

  #u32(at: number): number {
    return this.#out.getUint32(at, true);
  }

  #u64(at: number): number {
    return Number(this.#out.getBigUint64(at, true));
  }
}
