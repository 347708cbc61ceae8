// The driver's virtual memory as the arena wants it: addresses reserved once, physical memory mapped behind them in pieces.

import type { VirtualMemory } from './arena.ts';
import { attribute, type Driver } from './driver.ts';

/** CUmemAllocationProp: pinned device memory of one GPU, nothing exported. */
function allocationProperties(ordinal: number): Int32Array {
  const [pinned, onDevice] = [1, 1];
  return Int32Array.from([pinned, 0, onDevice, ordinal, 0, 0, 0, 0]);
}

/** CUmemAccessDesc, one for each GPU that reads and writes the memory. */
function accessRights(ordinals: readonly number[]): Int32Array {
  const [onDevice, readWrite] = [1, 3];
  return Int32Array.from(ordinals.flatMap((o) => [onDevice, o, readWrite]));
}

/**
 * Null where the driver or the GPU has no such thing. `peers` are the other GPUs that reach the memory directly; the
 * device's context must be current in every call.
 */
export function virtualMemory(driver: Driver, ordinal: number, peers: readonly number[]): VirtualMemory | null {
  const call = driver.virtual;
  if (!call) return null;
  const { outAddress } = driver;
  const supported = attribute.virtualMemory;
  if (driver.call.cuDeviceGetAttribute(outAddress, supported, ordinal) !== 0 || driver.i32() === 0) return null;
  const properties = allocationProperties(ordinal);
  const rights = accessRights([ordinal, ...peers]);
  const [propertiesAt, rightsAt] = [driver.ffi.address(properties), driver.ffi.address(rights)];
  const recommended = 1;
  if (call.cuMemGetAllocationGranularity(outAddress, propertiesAt, recommended) !== 0) return null;
  const granule = Math.max(driver.u64(), 2 * 2 ** 20);
  return {
    granule,
    reserve: (bytes) => (call.cuMemAddressReserve(outAddress, bytes, 0, 0, 0) === 0 ? driver.u64() : 0),
    unreserve: (address, bytes) => {
      call.cuMemAddressFree(address, bytes);
    },
    map: (address, bytes) => {
      if (call.cuMemCreate(outAddress, bytes, propertiesAt, 0) !== 0) return 0;
      const handle = driver.u64();
      if (call.cuMemMap(address, bytes, 0, handle, 0) === 0) return handle;
      call.cuMemRelease(handle);
      return 0;
    },
    // The closure also keeps the two arrays alive whose addresses the driver reads.
    enable: (address, bytes) =>
      call.cuMemSetAccess(address, bytes, rightsAt, rights.length / 3) === 0 && properties.length > 0,
    unmap: (address, bytes, handle) => {
      call.cuMemUnmap(address, bytes);
      call.cuMemRelease(handle);
    },
  };
}
