// Hashes of buffers. A device of its own computes them where they lie (digest.ts). The memory of the CPU is read piece by piece, into
// one piece of host memory that is used again and again: small enough to stay in its caches, whatever is hashed.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { digests } from './digest.ts';
import { Murmur } from './murmur.ts';

export interface Hashable {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
}

/** Read and held at once, at most. A multiple of 16. */
export const pieceBytes = 64 * 2 ** 10;

/** One hash for each, in their order. */
export async function fingerprints(items: readonly Hashable[]): Promise<string[]> {
  const found = new Map<Hashable, string>();
  for (const device of new Set(items.map((i) => i.device))) {
    const there = items.filter((i) => i.device === device);
    const hashes = await (device.caps.host ? readAndHashed(there) : digests(device, there));
    there.forEach((item, i) => {
      found.set(item, hashes[i]!);
    });
  }
  return items.map((item) => found.get(item)!);
}

/** Memory that is new costs as much as hashing it: what was used last is kept for the next call. */
let idle: Uint8Array | null = null;

async function readAndHashed(items: readonly Hashable[]): Promise<string[]> {
  const room = idle ?? new Uint8Array(pieceBytes);
  idle = null;
  const hashes: string[] = [];
  for (const { device, buffer, bytes } of items) {
    const hash = new Murmur();
    for (let at = 0; at < bytes; at += pieceBytes) {
      const length = Math.min(pieceBytes, bytes - at);
      hash.update(await device.read(buffer, at, length, room.subarray(0, length)));
    }
    hashes.push(hash.digest());
  }
  idle = room;
  return hashes;
}
