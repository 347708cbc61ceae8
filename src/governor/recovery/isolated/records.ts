// What the two processes say to each other: records in a byte stream.
//
// A record is [op, bytes, fields …] in 32-bit words, padded to 8 bytes, so that 64-bit numbers and payloads lie aligned.
// `bytes` counts the record without its padding. Both ends are built from one source: there is no version to negotiate.

/** Parent to child. */
export const up = {
  allocate: 1, // id, 0, bytes f64
  allocateNow: 2, // request, id, bytes f64
  release: 3, // id
  write: 4, // id, covers the whole buffer, offset f64, payload
  prepare: 5, // request, id, text
  dropProgram: 6, // id
  launch: 7, // program, buffers, scalars, 0, buffer ids …, scalars f64 …
  record: 8, // id, 0, text
  replay: 9, // recording, buffers, scalars, 0, buffer ids …, scalars f64 …
  dropRecording: 10, // id
  mark: 11, // id
  watch: 12, // request, mark
  since: 13, // request, mark, earlier mark
  dropMark: 14, // id
  read: 15, // request, id, at once, 0, offset f64, length f64
  ask: 16, // request, 0, text: 'telemetry', 'detail NAME', 'source ID'
  trim: 17,
  report: 18,
  close: 19, // request
} as const;

/** Child to parent. */
export const down = {
  hello: 1, // 0, 0, text
  data: 2, // request, 0, offset f64, payload
  done: 3, // request
  text: 4, // request, 0, text
  error: 5, // request, 0, text
  lost: 6, // 0, 0, text
  report: 7, // 0, 0, total, free, allocated, released, reserved, in use, idle: f64
} as const;

export const aligned = (bytes: number): number => (bytes + 7) & ~7;

/** Bytes of data one record may carry; longer transfers take several. */
export const chunkBytes = 512 * 1024;

/** Collects records in one buffer. */
export class Batch {
  #memory = new ArrayBuffer(64 * 1024);
  words = new Uint32Array(this.#memory);
  doubles = new Float64Array(this.#memory);
  bytes = new Uint8Array(this.#memory);
  /** Bytes in use, a multiple of 8. */
  used = 0;

  get capacity(): number {
    return this.#memory.byteLength;
  }

  /** Begins a record of `bytes` bytes; the returned position is that of its first word. There must be room. */
  begin(op: number, bytes: number): number {
    const at = this.used >> 2;
    this.words[at] = op;
    this.words[at + 1] = bytes;
    this.used += aligned(bytes);
    return at;
  }

  /** Makes room for a record that is larger than the whole buffer. */
  grow(bytes: number): void {
    const old = this.bytes.subarray(0, this.used);
    this.#memory = new ArrayBuffer(2 ** Math.ceil(Math.log2(bytes + this.used)));
    this.words = new Uint32Array(this.#memory);
    this.doubles = new Float64Array(this.#memory);
    this.bytes = new Uint8Array(this.#memory);
    this.bytes.set(old);
  }
}
