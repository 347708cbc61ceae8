// NVML over a foreign-function interface: opens the driver's library, reads every device, closes it again.
//
// Calls block, and on a wedged driver for ever: run this in a process that may be ended (nvml-child.ts). A function the
// library lacks, or a field the device does not support, is null. NVML must be initialised before any question, that for
// the CUDA version included (asked earlier it answers 1, "uninitialised").

import type { NvmlDevice, NvmlTelemetry } from '../ports.ts';
import { coresPerUnit } from './tables/nvidia-chips.ts';

type Argument = number | bigint | Uint8Array | Uint32Array | BigUint64Array;

type Native = ((...args: Argument[]) => number) & {
  /** Runs the call on another thread; the last argument is told the status. */
  readonly async?: (...args: (Argument | ((error: unknown, status: number) => void))[]) => void;
};

/** What is used of koffi. */
export interface Ffi {
  load(path: string): { func(name: string, result: string, parameters: string[]): Native };
}

export interface Nvml {
  readonly driver: string | null;
  readonly cuda: string | null;
  devices(): readonly NvmlDevice[];
  telemetry(): readonly NvmlTelemetry[];
  close(): void;
}

class NvmlError extends Error {
  readonly status: number;
  constructor(call: string, status: number) {
    super(`${call} returned ${status}${statusText[status] ? ` (${statusText[status]})` : ''}`);
    this.name = 'NvmlError';
    this.status = status;
  }
}

const statusText: Readonly<Record<number, string>> = {
  1: 'uninitialised',
  3: 'not supported',
  4: 'no permission',
  6: 'no device',
  9: 'driver not loaded',
  12: 'library not found',
  15: 'GPU is lost',
  18: 'driver and library versions differ',
  999: 'unknown error',
};

const HANDLE = 'uint64';
const POINTER = 'void *';

const signatures = {
  nvmlInit_v2: [],
  nvmlShutdown: [],
  nvmlSystemGetDriverVersion: [POINTER, 'uint'],
  nvmlSystemGetCudaDriverVersion_v2: [POINTER],
  nvmlDeviceGetCount_v2: [POINTER],
  nvmlDeviceGetHandleByIndex_v2: ['uint', POINTER],
  nvmlDeviceGetName: [HANDLE, POINTER, 'uint'],
  nvmlDeviceGetUUID: [HANDLE, POINTER, 'uint'],
  nvmlDeviceGetPciInfo_v3: [HANDLE, POINTER],
  nvmlDeviceGetCudaComputeCapability: [HANDLE, POINTER, POINTER],
  nvmlDeviceGetMemoryInfo: [HANDLE, POINTER],
  nvmlDeviceGetNumGpuCores: [HANDLE, POINTER],
  nvmlDeviceGetMigMode: [HANDLE, POINTER, POINTER],
  nvmlDeviceGetMaxMigDeviceCount: [HANDLE, POINTER],
  nvmlDeviceGetMigDeviceHandleByIndex: [HANDLE, 'uint', POINTER],
  nvmlDeviceGetUtilizationRates: [HANDLE, POINTER],
  nvmlDeviceGetTemperature: [HANDLE, 'uint', POINTER],
  nvmlDeviceGetPowerUsage: [HANDLE, POINTER],
  nvmlDeviceGetEnforcedPowerLimit: [HANDLE, POINTER],
  nvmlDeviceGetClockInfo: [HANDLE, 'uint', POINTER],
  nvmlDeviceGetFanSpeed: [HANDLE, POINTER],
} satisfies Record<string, string[]>;

type Call = keyof typeof signatures;

/** What is asked of every device, in any case. */
const ASKED: readonly Call[] = [
  'nvmlDeviceGetCount_v2',
  'nvmlDeviceGetHandleByIndex_v2',
  'nvmlSystemGetDriverVersion',
  'nvmlSystemGetCudaDriverVersion_v2',
  'nvmlDeviceGetCudaComputeCapability',
  'nvmlDeviceGetMemoryInfo',
  'nvmlDeviceGetMigMode',
  'nvmlDeviceGetNumGpuCores',
  'nvmlDeviceGetName',
  'nvmlDeviceGetUUID',
  'nvmlDeviceGetPciInfo_v3',
];

const CLOCK_SM = 1;
const CLOCK_MEMORY = 2;

/** Starts NVML and opens every device. */
export function openNvml(ffi: Ffi, path: string): Nvml {
  const native = bindings(load(ffi, path));
  checkStarted(native('nvmlInit_v2')!());
  const devices = Array.from({ length: deviceCount(native) }, (_, index) => {
    const out = new BigUint64Array(1);
    return opened(native('nvmlDeviceGetHandleByIndex_v2')?.(index, out), out);
  });
  return session(native, devices);
}

/**
 * As `openNvml`, with its two slow parts on another thread: NVML starts (on an H200 it touches 15 MB of its own memory), then
 * the devices open, which is mostly waiting. Meanwhile the functions that will be asked are looked up here, and the caller
 * reads files.
 */
export async function startNvml(ffi: Ffi, path: string): Promise<Nvml> {
  const native = bindings(load(ffi, path));
  const init = aside(native('nvmlInit_v2')!);
  for (const name of ASKED) native(name);
  checkStarted(await init);
  const devices: bigint[] = [];
  for (let index = 0, count = deviceCount(native); index < count; index++) {
    const out = new BigUint64Array(1);
    const open = native('nvmlDeviceGetHandleByIndex_v2');
    devices.push(opened(open ? await aside(open, index, out) : undefined, out));
  }
  return session(native, devices);
}

type Bindings = (name: Call) => Native | null;

/** The library's functions, each looked up once; null where this driver lacks it. */
function bindings(library: ReturnType<Ffi['load']>): Bindings {
  const bound = new Map<Call, Native | null>();
  return (name) => {
    let call = bound.get(name);
    if (call === undefined) {
      try {
        call = library.func(name, 'int', signatures[name]);
      } catch (error) {
        if (name === 'nvmlInit_v2') throw error;
        call = null;
      }
      bound.set(name, call);
    }
    return call;
  };
}

function aside(call: Native, ...args: Argument[]): Promise<number> {
  return new Promise((done, failed) => {
    if (call.async) call.async(...args, (error, status) => (error ? failed(error) : done(status)));
    else done(call(...args));
  });
}

function checkStarted(status: number): void {
  if (status !== 0) throw new NvmlError('nvmlInit_v2', status);
}

/** 0 marks a device that fell off the bus: the others are still told. */
const opened = (status: number | undefined, out: BigUint64Array): bigint => (status === 0 ? out[0]! : 0n);

function deviceCount(native: Bindings): number {
  const out = new Uint32Array(1);
  return native('nvmlDeviceGetCount_v2')?.(out) === 0 ? out[0]! : 0;
}

function session(native: Bindings, handles: readonly bigint[]): Nvml {
  function ok(name: Call, ...args: Parameters<Native>): boolean {
    return native(name)?.(...args) === 0;
  }

  function number(name: Call, ...args: Parameters<Native>): number | null {
    const out = new Uint32Array(1);
    return ok(name, ...args, out) ? out[0]! : null;
  }

  function string(name: Call, bytes: number, ...args: Parameters<Native>): string | null {
    const out = new Uint8Array(bytes);
    return ok(name, ...args, out, bytes) ? textOf(out) : null;
  }

  function memory(handle: bigint): { total: number; free: number; used: number } | null {
    const out = new BigUint64Array(3);
    if (!ok('nvmlDeviceGetMemoryInfo', handle, out) || out[0] === 0n) return null;
    return { total: Number(out[0]), free: Number(out[1]), used: Number(out[2]) };
  }

  function busId(handle: bigint): string | null {
    const out = new Uint8Array(68);
    return ok('nvmlDeviceGetPciInfo_v3', handle, out) ? textOf(out.subarray(36)) : null;
  }

  function capability(handle: bigint): { major: number; minor: number } | null {
    const major = new Uint32Array(1);
    const minor = new Uint32Array(1);
    return ok('nvmlDeviceGetCudaComputeCapability', handle, major, minor)
      ? { major: major[0]!, minor: minor[0]! }
      : null;
  }

  function migInstances(handle: bigint): NvmlDevice['mig'] {
    const most = number('nvmlDeviceGetMaxMigDeviceCount', handle) ?? 0;
    const found: { uuid: string | null; name: string | null; memoryTotal: number | null }[] = [];
    for (let index = 0; index < most; index++) {
      const out = new BigUint64Array(1);
      if (!ok('nvmlDeviceGetMigDeviceHandleByIndex', handle, index, out)) continue;
      const instance = out[0]!;
      found.push({
        uuid: string('nvmlDeviceGetUUID', 96, instance),
        name: string('nvmlDeviceGetName', 96, instance),
        memoryTotal: memory(instance)?.total ?? null,
      });
    }
    return found;
  }

  function device(handle: bigint, index: number): NvmlDevice {
    const cc = capability(handle);
    const size = memory(handle);
    const current = new Uint32Array(1);
    const hasMig = ok('nvmlDeviceGetMigMode', handle, current, new Uint32Array(1));
    const migEnabled = hasMig ? current[0] === 1 : null;
    const cores = number('nvmlDeviceGetNumGpuCores', handle);
    return {
      index,
      name: string('nvmlDeviceGetName', 96, handle),
      uuid: string('nvmlDeviceGetUUID', 96, handle),
      busId: busId(handle),
      computeCapability: cc ? `${cc.major}.${cc.minor}` : null,
      memoryTotal: size?.total ?? null,
      memoryFree: size?.free ?? null,
      migEnabled,
      mig: migEnabled ? migInstances(handle) : [],
      units: cores !== null && cc ? cores / coresPerUnit(cc) : null,
    };
  }

  function reading(handle: bigint, index: number): NvmlTelemetry {
    const rates = new Uint32Array(2);
    const hasRates = ok('nvmlDeviceGetUtilizationRates', handle, rates);
    const size = memory(handle);
    const power = number('nvmlDeviceGetPowerUsage', handle);
    const limit = number('nvmlDeviceGetEnforcedPowerLimit', handle);
    return {
      index,
      name: string('nvmlDeviceGetName', 96, handle),
      uuid: string('nvmlDeviceGetUUID', 96, handle),
      utilization: hasRates ? rates[0]! : null,
      memoryUtilization: hasRates ? rates[1]! : null,
      memoryUsed: size?.used ?? null,
      memoryTotal: size?.total ?? null,
      temperature: number('nvmlDeviceGetTemperature', handle, 0),
      powerWatts: power === null ? null : power / 1000,
      powerLimitWatts: limit === null ? null : limit / 1000,
      clockMhz: number('nvmlDeviceGetClockInfo', handle, CLOCK_SM),
      memoryClockMhz: number('nvmlDeviceGetClockInfo', handle, CLOCK_MEMORY),
      fanPercent: number('nvmlDeviceGetFanSpeed', handle),
    };
  }

  const cuda = number('nvmlSystemGetCudaDriverVersion_v2');
  return {
    driver: string('nvmlSystemGetDriverVersion', 80),
    cuda: cuda === null ? null : `${Math.floor(cuda / 1000)}.${Math.floor((cuda % 1000) / 10)}`,
    devices: () => handles.flatMap((handle, index) => (handle === 0n ? [] : [device(handle, index)])),
    telemetry: () => handles.flatMap((handle, index) => (handle === 0n ? [] : [reading(handle, index)])),
    close: () => {
      native('nvmlShutdown')?.();
    },
  };
}

function load(ffi: Ffi, path: string): ReturnType<Ffi['load']> {
  try {
    return ffi.load(path);
  } catch (error) {
    throw new Error(`${path} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.buffer, bytes.byteOffset, end < 0 ? bytes.length : end).toString();
}
