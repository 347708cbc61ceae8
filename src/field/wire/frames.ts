// Frames of the field protocol: a header of 16 bytes and a payload, all numbers little-endian. One table for server, client and docs.
//
//   0  u32 magic    4  u8 version    5  u8 type    6  u16 flags    8  u32 sequence    12  u32 count    16  payload
//
// `count` counts float32 values, or bytes where flag bit 0 is set (handshakes and errors).

export const magic = 0x31424647; // "GFB1"
export const version = 1;
export const headerBytes = 16;
export const mostValues = 1024;
/** Bytes of a payload that counts bytes: as much as that many values. */
export const mostBytes = 4 * mostValues;
const bytesFlag = 1;

export const types = { sensors: 0, motors: 1, handshake: 2, ping: 3, error: 255 } as const;
export type FrameType = keyof typeof types;
const typeNames = new Map<number, FrameType>(Object.entries(types).map(([name, id]) => [id, name as FrameType]));

export interface Frame {
  readonly type: FrameType;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** Codes by category; those below 2000 close the connection. */
export const errorCodes = {
  badMagic: 1001,
  badVersion: 1002,
  unknownType: 1003,
  tooLong: 1004,
  cutShort: 1005,
  handshakeRequired: 2001,
  secondHandshake: 2002,
  sensorCount: 2003,
  motorCount: 2004,
  wrongToken: 2005,
  unknownField: 2006,
  notFinite: 3001,
  outOfRange: 3002,
  cycleFailed: 4001,
  deviceLost: 4002,
  cellNotFinite: 4003,
  serverFull: 5001,
  tooFast: 5002,
  shuttingDown: 6001,
  internal: 7001,
  saveFailed: 7002,
  loadFailed: 7003,
} as const;
export type WireErrorName = keyof typeof errorCodes;

export const closesConnection = (name: WireErrorName): boolean => errorCodes[name] < 2000;

export function encodeFrame(type: FrameType, sequence: number, payload: Uint8Array): Uint8Array {
  const inBytes = type === 'handshake' || type === 'error';
  const bytes = new Uint8Array(headerBytes + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic, true);
  view.setUint8(4, version);
  view.setUint8(5, types[type]);
  view.setUint16(6, inBytes ? bytesFlag : 0, true);
  view.setUint32(8, sequence, true);
  view.setUint32(12, inBytes ? payload.length : payload.length / 4, true);
  bytes.set(payload, headerBytes);
  return bytes;
}

export function encodeValues(values: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i++) view.setFloat32(4 * i, values[i]!, true);
  return bytes;
}

export function decodeValues(payload: Uint8Array): Float32Array {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return Float32Array.from({ length: payload.length >> 2 }, (_, i) => view.getFloat32(4 * i, true));
}

export function encodeError(code: number, text: string): Uint8Array {
  const words = new TextEncoder().encode(text.slice(0, 1000));
  const bytes = new Uint8Array(5 + words.length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, code, true);
  view.setUint8(2, Math.floor(code / 1000));
  view.setUint16(3, words.length, true);
  bytes.set(words, 5);
  return bytes;
}

export function decodeError(payload: Uint8Array): {
  readonly code: number;
  readonly category: number;
  readonly text: string;
} {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  if (payload.length < 5) return { code: errorCodes.internal, category: 7, text: 'an error frame that is too short' };
  const text = new TextDecoder().decode(payload.subarray(5, 5 + view.getUint16(3, true)));
  return { code: view.getUint16(0, true), category: view.getUint8(2), text };
}

/** Takes frames out of a stream of bytes, however it is cut. A framing error ends it. */
export class FrameReader {
  #pending: Uint8Array = new Uint8Array(0);
  #broken = false;

  /** Whether part of a frame is there. */
  get waiting(): boolean {
    return this.#pending.length > 0;
  }

  /** Frames that are whole now, and the error that ends the stream, if there is one. */
  push(bytes: Uint8Array): {
    readonly frames: readonly Frame[];
    readonly error: { readonly name: WireErrorName; readonly text: string; readonly sequence: number } | null;
  } {
    if (this.#broken) return { frames: [], error: null };
    const all = this.#pending.length === 0 ? bytes : joined(this.#pending, bytes);
    const frames: Frame[] = [];
    let at = 0;
    while (all.length - at >= headerBytes) {
      const view = new DataView(all.buffer, all.byteOffset + at);
      const sequence = view.getUint32(8, true);
      const error = headerError(view);
      if (error) {
        this.#broken = true;
        this.#pending = new Uint8Array(0);
        return { frames, error: { ...error, sequence } };
      }
      const inBytes = (view.getUint16(6, true) & bytesFlag) !== 0;
      const length = view.getUint32(12, true) * (inBytes ? 1 : 4);
      if (all.length - at < headerBytes + length) break;
      const start = at + headerBytes;
      frames.push({ type: typeNames.get(view.getUint8(5))!, sequence, payload: all.slice(start, start + length) });
      at = start + length;
    }
    this.#pending = all.slice(at);
    return { frames, error: null };
  }
}

function headerError(view: DataView): { name: WireErrorName; text: string } | null {
  const found = view.getUint32(0, true);
  if (found !== magic)
    return { name: 'badMagic', text: `the frame begins with 0x${found.toString(16)}, not 0x${magic.toString(16)}` };
  if (view.getUint8(4) !== version)
    return { name: 'badVersion', text: `version ${view.getUint8(4)}; this side speaks ${version}` };
  if (!typeNames.has(view.getUint8(5)))
    return { name: 'unknownType', text: `there is no frame of type ${view.getUint8(5)}` };
  const inBytes = (view.getUint16(6, true) & bytesFlag) !== 0;
  const count = view.getUint32(12, true);
  if (count > (inBytes ? mostBytes : mostValues))
    return {
      name: 'tooLong',
      text: `${count} ${inBytes ? 'bytes' : 'values'}, of at most ${inBytes ? mostBytes : mostValues}`,
    };
  return null;
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const made = new Uint8Array(a.length + b.length);
  made.set(a);
  made.set(b, a.length);
  return made;
}
