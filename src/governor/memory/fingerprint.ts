// A hash of a buffer's bytes: SHA-256 over the SHA-256 of each 4 MiB. Reads one piece at a time, so the host never holds a
// copy of a large buffer; where the platform offers no hashing (pages without https), an own one is loaded.

import type { Device, DeviceBuffer } from '../../devices/device.ts';

type Digest = (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;

export const pieceBytes = 4 * 2 ** 20;
const hashBytes = 32;

export async function fingerprint(
  device: Device,
  buffer: DeviceBuffer,
  bytes: number,
  digest?: Digest,
): Promise<string> {
  const sha = digest ?? (await platformDigest());
  const pieces = Math.ceil(bytes / pieceBytes);
  const hashes = new Uint8Array(pieces * hashBytes);
  for (let i = 0; i < pieces; i++) {
    const at = i * pieceBytes;
    const piece = await device.read(buffer, at, Math.min(pieceBytes, bytes - at));
    hashes.set(await sha(piece as Uint8Array<ArrayBuffer>), i * hashBytes);
  }
  return Array.from(await sha(hashes), (b) => b.toString(16).padStart(2, '0')).join('');
}

async function platformDigest(): Promise<Digest> {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle) return async (bytes) => new Uint8Array(await subtle.digest('SHA-256', bytes));
  const { sha256 } = await import('./sha256.ts');
  return async (bytes) => sha256(bytes);
}
