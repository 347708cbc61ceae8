// Hashes of buffers. A few pieces are read ahead, so that the device is never waited for piece by piece. They land in a few slots of
// host memory that are used again and again: small enough to stay in its caches, whatever is hashed.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { Murmur } from './murmur.ts';

export interface Hashable {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
}

/** Read at once, at most. */
export const pieceBytes = 128 * 2 ** 10;
const slots = 8;
/** Held at once, at most. */
export const aheadBytes = slots * pieceBytes;

interface Piece {
  readonly item: number;
  readonly at: number;
  readonly bytes: number;
}

export async function fingerprints(items: readonly Hashable[]): Promise<string[]> {
  const hashes = items.map(() => new Murmur());
  const pieces = items.flatMap(({ bytes }, item) => split(item, bytes));
  const room = new Uint8Array(Math.min(slots, pieces.length) * pieceBytes);
  const begin = (i: number): Promise<Uint8Array> => {
    const { item, at, bytes } = pieces[i]!;
    const slot = (i % slots) * pieceBytes;
    const read = items[item]!.device.read(items[item]!.buffer, at, bytes, room.subarray(slot, slot + bytes));
    // One that fails while others are waited for is met in its turn.
    read.catch(() => {});
    return read;
  };
  const reads = pieces.slice(0, slots).map((_, i) => begin(i));
  for (let i = 0; i < pieces.length; i++) {
    hashes[pieces[i]!.item]!.update(await reads[i]!);
    if (i + slots < pieces.length) reads.push(begin(i + slots));
  }
  return hashes.map((h) => h.digest());
}

function split(item: number, bytes: number): Piece[] {
  return Array.from({ length: Math.ceil(bytes / pieceBytes) }, (_, i) => ({
    item,
    at: i * pieceBytes,
    bytes: Math.min(pieceBytes, bytes - i * pieceBytes),
  }));
}
