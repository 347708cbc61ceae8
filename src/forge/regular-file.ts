// Reading a file of the machine or of the user: bounded, and never waiting.
//
// What stands where a file is expected may be a pipe that nobody writes to, or a device without an end. It is opened without
// blocking and passed over; of a regular file that never ends (some of /proc) a bound is read.

import fs from 'node:fs';

/** No file that is read here is longer. */
const MOST_TEXT = 4 * 1024 * 1024;
const CHUNK = 16 * 1024;
let chunk: Uint8Array | undefined;
// Half the cost of a first read with Buffer is Buffer's own first call; these two have none.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The text of a regular file, to a bound. Throws Node's error, or one with the code ENOTREG where there is something else. */
export function readRegular(file: string): string {
  const handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const kind = fs.fstatSync(handle);
    if (!kind.isFile())
      throw Object.assign(new Error(`${file} is not a regular file`), {
        code: kind.isDirectory() ? 'EISDIR' : 'ENOTREG',
      });
    // Nearly every file fits into one read of the shared buffer; the copy of the others is made when it is needed.
    chunk ??= new Uint8Array(CHUNK);
    let size = fs.readSync(handle, chunk, 0, CHUNK, null);
    for (let read = size; read > 0 && size < CHUNK; size += read)
      read = fs.readSync(handle, chunk, size, CHUNK - size, null);
    if (size < CHUNK) return decoder.decode(chunk.subarray(0, size));
    const parts = [chunk.slice(0, size)];
    while (size < MOST_TEXT) {
      const read = fs.readSync(handle, chunk, 0, CHUNK, null);
      if (read === 0) break;
      parts.push(chunk.slice(0, read));
      size += read;
    }
    return decoder.decode(Buffer.concat(parts));
  } finally {
    fs.closeSync(handle);
  }
}
