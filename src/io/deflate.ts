// Raw deflate through the streams that browsers and Node share.
//
// `deflate-raw` is missing in Node before 20.12, gzip is not: so data is put into, and taken out of, gzip's frame.

import { concatBytes, viewOf } from './record.ts';

const gzipHead = 10;
const gzipTail = 8;

/** Compressed bytes without any frame. */
export async function deflate(bytes: Uint8Array): Promise<Uint8Array> {
  const framed = await collect(new CompressionStream('gzip'), bytes, Number.POSITIVE_INFINITY);
  // The head has no optional fields: the streams write neither a name nor a comment.
  return framed.subarray(gzipHead, framed.length - gzipTail);
}

/** Thrown when data unpacks to more than it should. */
export class TooLong extends Error {}

/**
 * Unpacks data that should give `length` bytes with this checksum. Memory grows with what really comes out, and never
 * beyond `length`; what does not fit, or is damaged, rejects.
 */
export async function inflate(bytes: Uint8Array, length: number, checksum: number): Promise<Uint8Array> {
  const framed = new Uint8Array(gzipHead + bytes.length + gzipTail);
  framed.set([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  framed.set(bytes, gzipHead);
  const view = viewOf(framed);
  view.setUint32(framed.length - 8, checksum, true);
  view.setUint32(framed.length - 4, length % 2 ** 32, true);
  return collect(new DecompressionStream('gzip'), framed, length);
}

async function collect(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
  most: number,
): Promise<Uint8Array> {
  const writer = stream.writable.getWriter();
  // Failures show on the reading side; here they only must not go unhandled.
  const written = writer.write(bytes as Uint8Array<ArrayBuffer>).then(() => writer.close());
  written.catch(() => undefined);
  const reader = stream.readable.getReader();
  const parts: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    if (total > most) {
      await reader.cancel().catch(() => undefined);
      throw new TooLong(`more than ${most} bytes`);
    }
    parts.push(value);
  }
  await written;
  return concatBytes(parts);
}
