// Finding NVIDIA GPUs: opens those that work and says for the rest why not, and what would help. Never throws.

import type { Device } from '../device.ts';
import { defaultCacheFolder, noStore, openCubinCache } from './cache.ts';
import { CudaDevice } from './device.ts';
import { attribute, Driver, status } from './driver.ts';
import { koffiFfi } from './ffi/koffi.ts';
import type { Ffi, ForeignLibrary } from './ffi/port.ts';
import type { CudaDeviceInfo } from './info.ts';
import { Nvml } from './nvml.ts';
import { chooseTarget, type Target } from './ptx/target.ts';
import { openLibraries } from './routines/index.ts';

export interface CudaOptions {
  /**
   * Use cuBLASLt for matrix products where the machine has it, but for small ones, which our own kernels start sooner;
   * `'always'` for those too. Default true.
   */
  readonly cublas?: boolean | 'always';
  /** Approximate instructions for division, roots and transcendental functions; default false. */
  readonly fastMath?: boolean;
  /** False makes every buffer an allocation of its own, so that memory checkers see its bounds. Default: true. */
  readonly pooled?: boolean;
  /** Folder of compiled kernels; false keeps nothing on disk. Default: the user's cache folder. */
  readonly cacheDir?: string | false;
  /** Pinned host memory that results of reads may keep occupied, in bytes; default an eighth of the machine's memory, 1 to 8 GiB. */
  readonly pinnedLimit?: number;
  /** Which devices to open, by CUDA's numbering; default all. */
  readonly ordinals?: readonly number[];
  /** Pretend the device has this many multiprocessors: changes how work is cut, for tests. */
  readonly processors?: number;
  /** Fixed choices of the renderer, for measuring. */
  readonly tuning?: NonNullable<Target['tuning']>;
  /** Generate code for an older architecture (80 for 8.0): for tests. */
  readonly architecture?: number;
  /** In place of koffi. */
  readonly ffi?: Ffi;
  readonly host?: CudaHost;
}

/** What discovery asks of the operating system. */
export interface CudaHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  access(path: string): 'usable' | 'denied' | 'missing';
}

export interface Refusal {
  readonly id: string;
  readonly reason: string;
  readonly fix: string;
}

export interface CudaDiscovery {
  readonly devices: readonly Device[];
  readonly refused: readonly Refusal[];
}

const libraries = ['libcuda.so.1', 'libcuda.so', '/usr/lib/wsl/lib/libcuda.so.1', 'nvcuda.dll'];
const oldestDriver = 11000;
const oldestSm = 70;
const GiB = 2 ** 30;

export async function openCudaDevices(options: CudaOptions = {}): Promise<CudaDiscovery> {
  const refuse = (reason: string, fix: string): CudaDiscovery => ({
    devices: [],
    refused: [{ id: 'cuda', reason, fix }],
  });
  try {
    const host = options.host ?? (await nodeHost());
    let ffi: Ffi;
    try {
      ffi = options.ffi ?? (await koffiFfi());
    } catch (error) {
      return refuse(
        `the package koffi could not be loaded: ${firstLine(error)}`,
        'Install it: npm install koffi (it is an optional dependency and comes prebuilt).',
      );
    }
    let library: ForeignLibrary;
    try {
      library = ffi.open(libraries);
    } catch (error) {
      return host.access('/proc/driver/nvidia/version') === 'missing'
        ? refuse(
            'no NVIDIA driver is installed: libcuda was not found',
            'Install the NVIDIA driver if this machine has an NVIDIA GPU.',
          )
        : refuse(
            `the NVIDIA kernel driver is loaded but libcuda could not be opened: ${firstLine(error)}`,
            'Install the driver\'s user-space libraries (in a container: pass the GPU with the "compute" capability).',
          );
    }
    let driver: Driver;
    try {
      driver = new Driver(ffi, library);
    } catch (error) {
      return refuse(
        `the driver is too old: ${firstLine(error)}`,
        'Update the NVIDIA driver to 450 or later (CUDA 11).',
      );
    }
    const started = driver.call.cuInit(0);
    if (started !== 0) {
      const { reason, fix } = whyNot(started, driver.nameOf(started), host);
      return refuse(reason, fix);
    }
    return await openAll(driver, host, options);
  } catch (error) {
    return refuse(`opening CUDA failed: ${firstLine(error)}`, 'Please report this.');
  }
}

const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0]!;

/** The cause behind an error of cuInit. */
export function whyNot(code: number, name: string, host: CudaHost): { reason: string; fix: string } {
  const visible = host.env.CUDA_VISIBLE_DEVICES;
  const denied = ['/dev/nvidiactl', '/dev/nvidia0', '/dev/nvidia-uvm'].find((p) => host.access(p) === 'denied');
  if (denied) {
    return {
      reason: `no permission to open ${denied}`,
      fix: `Add the user to the group that owns ${denied} (often video or render), or make the node readable and writable.`,
    };
  }
  if (code === status.noDevice && visible !== undefined) {
    return {
      reason: `CUDA_VISIBLE_DEVICES=${JSON.stringify(visible)} hides every GPU`,
      fix: 'Unset CUDA_VISIBLE_DEVICES, or name a GPU that nvidia-smi -L lists.',
    };
  }
  switch (code) {
    case status.noDevice:
      return {
        reason: 'the driver found no NVIDIA GPU',
        fix: 'Check that nvidia-smi lists one; in a container, pass it in.',
      };
    case status.insufficientDriver:
      return { reason: 'the driver is too old for this libcuda', fix: 'Update the NVIDIA driver.' };
    case status.stubLibrary:
      return {
        reason: 'libcuda is the stub of the CUDA toolkit, not the driver',
        fix: 'Remove the stubs folder from LD_LIBRARY_PATH.',
      };
    case status.systemDriverMismatch:
      return {
        reason: 'libcuda and the kernel driver have different versions',
        fix: 'Reboot after the driver update, or reinstall the driver.',
      };
    default:
      return {
        reason: `cuInit failed with ${name} (${code})`,
        fix: 'Run nvidia-smi: it shows whether the driver works at all.',
      };
  }
}

async function openAll(driver: Driver, host: CudaHost, options: CudaOptions): Promise<CudaDiscovery> {
  const { call, outAddress } = driver;
  driver.check(call.cuDriverGetVersion(outAddress), 'cuDriverGetVersion');
  const version = driver.i32();
  if (version < oldestDriver) {
    const fix = 'Update the NVIDIA driver to 450 or later (CUDA 11).';
    return {
      devices: [],
      refused: [{ id: 'cuda', reason: `the driver is too old: it knows CUDA ${shown(version)}`, fix }],
    };
  }
  driver.check(call.cuDeviceGetCount(outAddress), 'cuDeviceGetCount');
  const count = driver.i32();
  const devices: Device[] = [];
  const refused: Refusal[] = [];
  if (count === 0) {
    const { reason, fix } = whyNot(status.noDevice, '', host);
    refused.push({ id: 'cuda', reason, fix });
  }
  const loaded = openLibraries(driver, options.cublas ?? true);
  const nvml = Nvml.open(driver.ffi);
  const { markAsUntransferable } = await import('node:worker_threads');
  const { totalmem } = await import('node:os');
  for (let ordinal = 0; ordinal < count; ordinal++) {
    if (options.ordinals && !options.ordinals.includes(ordinal)) continue;
    const id = `cuda:${ordinal}`;
    try {
      const info = describe(driver, ordinal, id, version, options);
      if (!info) {
        refused.push({
          id,
          reason: `${nameOf(driver, ordinal)} is older than compute capability 7.0`,
          fix: 'Use a GPU from Volta (2017) on.',
        });
        continue;
      }
      const folder = options.cacheDir ?? defaultCacheFolder(host.env, host.home);
      const salt = `sm_${info.target.sm} driver ${version} format 1`;
      const store = folder === false ? noStore : await openCubinCache({ folder, salt });
      const handle = nvml?.device(driver.ffi, String(info.details.pci));
      devices.push(
        new CudaDevice(info, {
          driver,
          store,
          libraries: loaded,
          telemetry: nvml && handle !== undefined ? () => nvml.telemetry(handle) : null,
          pinnedLimit: options.pinnedLimit ?? Math.min(8 * GiB, Math.max(GiB, totalmem() / 8)),
          protect: (buffer) => markAsUntransferable(buffer),
        }),
      );
    } catch (error) {
      refused.push({ id, reason: firstLine(error), fix: 'Check nvidia-smi for the state of this GPU.' });
    }
  }
  return { devices, refused };
}

const shown = (version: number): string => `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;

function nameOf(driver: Driver, device: number): string {
  return textOf(driver, (at, bytes) => driver.call.cuDeviceGetName(at, bytes, device));
}

function textOf(driver: Driver, fill: (address: number, bytes: number) => number): string {
  const text = new Uint8Array(new ArrayBuffer(256));
  driver.check(fill(driver.ffi.address(text), 256), 'device properties');
  return new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
}

/** Undefined if the device is too old. */
function describe(
  driver: Driver,
  ordinal: number,
  id: string,
  version: number,
  options: CudaOptions,
): CudaDeviceInfo | undefined {
  const { call, outAddress } = driver;
  driver.check(call.cuDeviceGet(outAddress, ordinal), 'cuDeviceGet');
  const device = driver.i32();
  const get = (a: number): number => {
    driver.check(call.cuDeviceGetAttribute(outAddress, a, device), 'cuDeviceGetAttribute');
    return driver.i32();
  };
  const sm = get(attribute.major) * 10 + get(attribute.minor);
  const target = chooseTarget(Math.min(sm, options.architecture ?? sm), version);
  if (sm < oldestSm || !target) return undefined;
  const processors = get(attribute.processors);
  driver.check(call.cuDeviceTotalMem_v2(outAddress, device), 'cuDeviceTotalMem');
  const totalBytes = driver.u64();
  const name = nameOf(driver, device);
  const pci = textOf(driver, (at, bytes) => call.cuDeviceGetPCIBusId(at, bytes, device));
  driver.check(call.cuDevicePrimaryCtxRetain(outAddress, device), `context on ${id}`);
  const context = driver.u64();
  return {
    id,
    ordinal,
    context,
    name,
    target: {
      ...target,
      processors: options.processors ?? processors,
      fastMath: options.fastMath ?? false,
      ...(options.tuning ? { tuning: options.tuning } : {}),
    },
    totalBytes,
    peers: peersOf(driver, device, options),
    pooled: options.pooled ?? true,
    details: {
      architecture: `sm_${sm}`,
      cuda: shown(version),
      ptx: (target.ptx / 10).toFixed(1),
      processors,
      l2Bytes: get(attribute.l2Bytes),
      pci,
      fastMath: options.fastMath ?? false,
      ffi: driver.ffi.name,
    },
  };
}

/** GPUs that will be opened too and can address this one's memory. */
function peersOf(driver: Driver, device: number, options: CudaOptions): number[] {
  const { call, outAddress } = driver;
  driver.check(call.cuDeviceGetCount(outAddress), 'cuDeviceGetCount');
  const others = Array.from({ length: driver.i32() }, (_, o) => o).filter(
    (o) => o !== device && (options.ordinals?.includes(o) ?? true),
  );
  return others.filter((o) => call.cuDeviceCanAccessPeer(outAddress, o, device) === 0 && driver.i32() === 1);
}

async function nodeHost(): Promise<CudaHost> {
  const fs = await import('node:fs');
  const os = await import('node:os');
  return {
    env: process.env,
    home: os.homedir(),
    access: (path) => {
      if (!fs.existsSync(path)) return 'missing';
      try {
        fs.accessSync(path, path.startsWith('/dev/') ? fs.constants.R_OK | fs.constants.W_OK : fs.constants.R_OK);
        return 'usable';
      } catch {
        return 'denied';
      }
    },
  };
}
