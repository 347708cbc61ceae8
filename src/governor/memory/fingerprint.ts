// Hashes of buffers. A few pieces are read ahead, so that the device is never waited for piece by piece, and the host never holds
// copies of more than `aheadBytes`.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { Murmur } from './murmur.ts';

export interface Hashable {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
}

/** Read at once, at most. */
export const pieceBytes = 2 ** 20;
/** Held at once, at most. */
export const aheadBytes = 4 * pieceBytes;

interface Piece {
  readonly item: number;
  readonly at: number;
  readonly bytes: number;
}

export async function fingerprints(items: readonly Hashable[]): Promise<string[]> {
  const hashes = items.map(() => new Murmur());
  const pieces = items.flatMap(({ bytes }, item) => split(item, bytes));
  const reads: { readonly piece: Piece; readonly done: Promise<Uint8Array> }[] = [];
  let [next, held] = [0, 0];
  while (next < pieces.length || reads.length > 0) {
    for (; next < pieces.length && (held === 0 || held + pieces[next]!.bytes <= aheadBytes); next++) {
      const piece = pieces[next]!;
      const { device, buffer } = items[piece.item]!;
      const done = device.read(buffer, piece.at, piece.bytes);
      // One that fails while others are waited for is met in its turn.
      done.catch(() => {});
      reads.push({ piece, done });
      held += piece.bytes;
    }
    const { piece, done } = reads.shift()!;
    hashes[piece.item]!.update(await done);
    held -= piece.bytes;
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
