// A growing byte buffer with WebAssembly's number encodings (LEB128, little-endian floats).

export class Bytes {
  #data: Uint8Array;
  #length = 0;

  constructor(capacity = 256) {
    this.#data = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array {
    return this.#data.subarray(0, this.#length);
  }

  u8(value: number): void {
    if (this.#length === this.#data.length) this.#grow(1);
    this.#data[this.#length++] = value;
  }

  /** Unsigned LEB128 of a 32-bit number. */
  unsigned(value: number): void {
    value >>>= 0;
    while (value > 127) {
      this.u8((value & 127) | 128);
      value >>>= 7;
    }
    this.u8(value);
  }

  /** Signed LEB128 of a 32-bit number. */
  signed(value: number): void {
    value |= 0;
    while (value < -64 || value > 63) {
      this.u8((value & 127) | 128);
      value >>= 7;
    }
    this.u8(value & 127);
  }

  /** Signed LEB128 of a 64-bit number. */
  signed64(value: bigint): void {
    value = BigInt.asIntN(64, value);
    while (value < -64n || value > 63n) {
      this.u8(Number(value & 127n) | 128);
      value >>= 7n;
    }
    this.u8(Number(value & 127n));
  }

  f32(value: number): void {
    scratch.setFloat32(0, value, true);
    this.raw(scratchBytes.subarray(0, 4));
  }

  f64(value: number): void {
    scratch.setFloat64(0, value, true);
    this.raw(scratchBytes);
  }

  raw(bytes: ArrayLike<number>): void {
    if (this.#length + bytes.length > this.#data.length) this.#grow(bytes.length);
    this.#data.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A name: its length, then UTF-8. */
  name(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }

  #grow(by: number): void {
    const grown = new Uint8Array(Math.max(2 * this.#data.length, this.#length + by));
    grown.set(this.#data);
    this.#data = grown;
  }
}

const scratchBytes = new Uint8Array(8);
const scratch = new DataView(scratchBytes.buffer);

/** Reads what `Bytes` writes. */
export class Reader {
  readonly #data: Uint8Array;
  readonly #view: DataView;
  at: number;
  readonly end: number;

  constructor(data: Uint8Array, at = 0, end = data.length) {
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  u8(): number {
    if (this.at >= this.end) throw new RangeError(`wasm: the bytes end at ${this.end}`);
    return this.#data[this.at++]!;
  }

  unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.u8();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  signed64(): bigint {
    let value = 0n;
    for (let shift = 0n; ; ) {
      const byte = this.u8();
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
      if (byte < 128) return BigInt.asIntN(Number(shift), value);
    }
  }

  f32(): number {
    this.at += 4;
    return this.#view.getFloat32(this.at - 4, true);
  }

  f64(): number {
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, true);
  }

  raw(length: number): Uint8Array {
    if (this.at + length > this.end) throw new RangeError(`wasm: the bytes end at ${this.end}`);
    this.at += length;
    return this.#data.subarray(this.at - length, this.at);
  }

  name(): string {
    return new TextDecoder().decode(this.raw(this.unsigned()));
  }
}
