// The CUDA driver: the functions used, bound once, and their error codes as errors.
//
// All handles and addresses are numbers. Results that the driver writes through pointers land in `out`, one preallocated
// block: read them with `u64` and `i32` right after the call.

import { DeviceLost, type ErrorInfo, ForgeError } from '../../errors.ts';
import type { Ffi, ForeignFunction, ForeignLibrary, ForeignType } from './ffi/port.ts';

const u = 'u64';
const table = {
  cuInit: ['u32'],
  cuDriverGetVersion: [u],
  cuGetErrorName: ['i32', u],
  cuGetErrorString: ['i32', u],
  cuDeviceGetCount: [u],
  cuDeviceGet: [u, 'i32'],
  cuDeviceGetName: [u, 'i32', 'i32'],
  cuDeviceGetAttribute: [u, 'i32', 'i32'],
  cuDeviceTotalMem_v2: [u, 'i32'],
  cuDeviceGetPCIBusId: [u, 'i32', 'i32'],
  cuDeviceCanAccessPeer: [u, 'i32', 'i32'],
  cuDevicePrimaryCtxRetain: [u, 'i32'],
  cuDevicePrimaryCtxRelease_v2: ['i32'],
  cuCtxSetCurrent: [u],
  cuCtxSynchronize: [],
  cuCtxEnablePeerAccess: [u, 'u32'],
  cuMemGetInfo_v2: [u, u],
  cuMemAlloc_v2: [u, u],
  cuMemFree_v2: [u],
  cuMemHostAlloc: [u, u, 'u32'],
  cuMemFreeHost: [u],
  cuMemcpyHtoDAsync_v2: [u, u, u, u],
  cuMemcpyDtoHAsync_v2: [u, u, u, u],
  cuMemcpyDtoDAsync_v2: [u, u, u, u],
  cuMemcpyPeerAsync: [u, u, u, u, u, u],
  cuMemsetD32Async: [u, 'u32', u, u],
  cuStreamCreate: [u, 'u32'],
  cuStreamDestroy_v2: [u],
  cuStreamSynchronize: [u],
  cuStreamWaitEvent: [u, u, 'u32'],
  cuStreamBeginCapture_v2: [u, 'i32'],
  cuStreamEndCapture: [u, u],
  cuEventCreate: [u, 'u32'],
  cuEventDestroy_v2: [u],
  cuEventRecord: [u, u],
  cuEventQuery: [u],
  cuEventSynchronize: [u],
  cuEventElapsedTime: [u, u, u],
  cuModuleLoadDataEx: [u, u, 'u32', u, u],
  cuModuleUnload: [u],
  cuModuleGetFunction: [u, u, u],
  cuFuncSetAttribute: [u, 'i32', 'i32'],
  cuFuncGetAttribute: [u, 'i32', u],
  cuLaunchKernel: [u, 'u32', 'u32', 'u32', 'u32', 'u32', 'u32', 'u32', u, u, u],
  cuLinkCreate_v2: ['u32', u, u, u],
  cuLinkAddData_v2: [u, 'i32', u, u, u, 'u32', u, u],
  cuLinkComplete: [u, u, u],
  cuLinkDestroy: [u],
  cuGraphCreate: [u, 'u32'],
  cuGraphAddKernelNode: [u, u, u, u, u],
  cuGraphInstantiateWithFlags: [u, u, u],
  cuGraphExecKernelNodeSetParams: [u, u, u],
  cuGraphLaunch: [u, u],
  cuGraphExecDestroy: [u],
  cuGraphDestroy: [u],
} as const satisfies Record<string, readonly ForeignType[]>;

export type DriverFunction = keyof typeof table;

/** From CUDA 10.2 on, and not on every system. */
const virtualTable = {
  cuMemGetAllocationGranularity: [u, u, 'i32'],
  cuMemAddressReserve: [u, u, u, u, u],
  cuMemAddressFree: [u, u],
  cuMemCreate: [u, u, u, u],
  cuMemRelease: [u],
  cuMemMap: [u, u, u, u, u],
  cuMemUnmap: [u, u],
  cuMemSetAccess: [u, u, u, u],
} as const satisfies Record<string, readonly ForeignType[]>;

export type VirtualFunction = keyof typeof virtualTable;

export const status = {
  success: 0,
  invalidValue: 1,
  outOfMemory: 2,
  deinitialized: 4,
  stubLibrary: 34,
  insufficientDriver: 35,
  noDevice: 100,
  invalidContext: 201,
  notReady: 600,
  peerAlreadyEnabled: 704,
  systemDriverMismatch: 803,
  unknown: 999,
} as const;

/** Other threads may do what they like meanwhile. */
const relaxedCapture = 2;

/** After these the context is dead, and with it CUDA in the whole process: no reset brings it back. */
const fatal = new Set([4, 46, 214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 999]);

const fixes: Readonly<Record<number, string>> = {
  2: 'Dispose of tensors that are no longer needed, or work on smaller pieces.',
  35: 'Update the NVIDIA driver.',
  100: 'Check that nvidia-smi lists a GPU.',
  209: 'The kernel was built for another architecture: delete the cubin cache.',
  218: 'The generated PTX is not valid for this driver: please report it with the source.',
  222: 'The driver is older than the PTX version used: update the driver.',
  700: 'A kernel read or wrote outside its buffers. The GPU cannot be used again by this process: restart it.',
  701: 'The kernel needs more registers or shared memory than the GPU has.',
  719: 'A kernel crashed. The GPU cannot be used again by this process: restart it.',
  803: 'The driver in the kernel and libcuda have different versions: reboot, or reinstall the driver.',
};

export class Driver {
  readonly ffi: Ffi;
  readonly library: ForeignLibrary;
  readonly call: Readonly<Record<DriverFunction, ForeignFunction>>;
  /** Null if the library lacks one of them. */
  readonly virtual: Readonly<Record<VirtualFunction, ForeignFunction>> | null;
  readonly out = new Uint32Array(new ArrayBuffer(64));
  readonly outAddress: number;
  #current = 0;
  /** Told about every fatal error: it concerns all devices of the process. */
  readonly onFatal = new Set<(error: DeviceLost) => void>();

  /** Throws an Error that names the symbol if the library lacks one: it is too old. */
  constructor(ffi: Ffi, library: ForeignLibrary) {
    this.ffi = ffi;
    this.library = library;
    const call = bindAll(library, table);
    if (typeof call === 'string') throw new Error(`${library.path} has no ${call}`);
    this.call = call;
    const virtual = bindAll(library, virtualTable);
    this.virtual = typeof virtual === 'string' ? null : virtual;
    this.outAddress = ffi.address(this.out);
  }

  /** The graph of what `run` enqueues on a stream. */
  capture(stream: number, run: () => void): number {
    this.check(this.call.cuStreamBeginCapture_v2(stream, relaxedCapture), 'cuStreamBeginCapture');
    try {
      run();
    } finally {
      this.check(this.call.cuStreamEndCapture(stream, this.outAddress), 'cuStreamEndCapture');
    }
    return this.u64();
  }

  /** The 64-bit number at position i of `out`, in words of 8 bytes. */
  u64(i = 0): number {
    return this.out[2 * i]! + this.out[2 * i + 1]! * 2 ** 32;
  }

  i32(i = 0): number {
    return this.out[2 * i]! | 0;
  }

  /** Makes a context current on this thread; free if it already is. */
  use(context: number): void {
    if (this.#current === context) return;
    this.check(this.call.cuCtxSetCurrent(context), 'cuCtxSetCurrent');
    this.#current = context;
  }

  check(code: number, where: string): void {
    if (code !== 0) throw this.error(code, where);
  }

  /** CUDA's own name for a code, as CUDA_ERROR_OUT_OF_MEMORY. */
  nameOf(code: number): string {
    return this.#text('cuGetErrorName', code) ?? `CUDA error ${code}`;
  }

  error(code: number, where: string, more = ''): ForgeError {
    const name = this.nameOf(code);
    const text = this.#text('cuGetErrorString', code) ?? 'no description';
    const info: ErrorInfo = {
      code: name,
      message: `${where}: ${name} (${code}): ${text}${more}`,
      fix: fixes[code] ?? 'See the CUDA driver documentation for this code.',
      where,
    };
    if (!fatal.has(code)) return new ForgeError(info);
    const lost = new DeviceLost(info);
    for (const tell of this.onFatal) tell(lost);
    return lost;
  }

  #text(which: 'cuGetErrorName' | 'cuGetErrorString', code: number): string | undefined {
    const saved = this.out.slice();
    try {
      return this.call[which](code, this.outAddress) === 0 ? this.ffi.text(this.u64()) : undefined;
    } finally {
      this.out.set(saved);
    }
  }
}

/** Every function of a table, or the name of the first that the library lacks. */
function bindAll<N extends string>(
  library: ForeignLibrary,
  signatures: Readonly<Record<N, readonly ForeignType[]>>,
): Readonly<Record<N, ForeignFunction>> | N {
  const call: Partial<Record<N, ForeignFunction>> = {};
  for (const name of Object.keys(signatures) as N[]) {
    const bound = library.bind(name, 'i32', signatures[name]);
    if (!bound) return name;
    call[name] = bound;
  }
  return call as Record<N, ForeignFunction>;
}

/** Device attributes by their CUDA numbers. */
export const attribute = {
  maxSharedMemory: 8,
  clockRate: 13,
  processors: 16,
  integrated: 18,
  memoryClockRate: 36,
  busWidth: 37,
  l2Bytes: 38,
  major: 75,
  minor: 76,
  maxSharedOptin: 97,
  virtualMemory: 102,
} as const;
