// NumPy's .npy files, versions 1.0 to 3.0.
//
// Big-endian and Fortran-ordered arrays are brought into the form of ArrayRecord, and int8, int16 and uint16 become i32;
// otherwise the record shares the file's memory. NumPy has no bf16: such arrays are written and read as `V2`, as the ml_dtypes package does.

import { byteSize, type DType } from '../base/dtype.ts';
import { type Shape, show, stridesOf } from '../base/shape.ts';
import { checked } from '../base/signatures.ts';
import { formatHeader, type NpyHeader, parseHeader } from './npy-header.ts';
import {
  type ArrayRecord,
  byteLength,
  checkRecord,
  concatBytes,
  flaw,
  type NarrowInt,
  storedSize,
  toRecord,
  viewOf,
} from './record.ts';
import { fileKinds, recordSignature } from './signatures.ts';

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
const alignment = 64;
const maxRank = 64;

/** The type codes of NumPy, without the byte order. */
const codes: Readonly<Record<DType, string>> = {
  bool: 'b1',
  u8: 'u1',
  i32: 'i4',
  u32: 'u4',
  i64: 'i8',
  u64: 'u8',
  f16: 'f2',
  bf16: 'V2',
  f32: 'f4',
  f64: 'f8',
};
const narrowCodes: Readonly<Record<NarrowInt, string>> = { i8: 'i1', i16: 'i2', u16: 'u2' };
const typeOfCode = new Map(
  Object.entries({ ...codes, ...narrowCodes }).map(([type, code]) => [code, type as DType | NarrowInt]),
);

const fail = flaw('parseNpy');

export const parseNpy = checked(
  'parseNpy',
  'bytes:bytes',
  (bytes: Uint8Array): ArrayRecord => {
    const { header, dataStart } = readHeader(bytes);
    const { type, bigEndian } = typeOf(header.descr);
    const { shape } = header;
    const available = bytes.length - dataStart;
    if (shape.length > maxRank || !shape.every(Number.isSafeInteger)) {
      throw fail({ code: 'BAD_SHAPE', message: `the header claims the shape ${show(shape)}, which no array can have` });
    }
    const length = byteLength(type, shape, available);
    if (length !== available) {
      throw fail({
        code: length === null ? 'TRUNCATED' : 'TRAILING_BYTES',
        message: `an array of ${type} and shape ${show(shape)} does not take the ${available} bytes from byte ${dataStart} to the end${length === null ? '' : `, but ${length}`}`,
      });
    }
    let data = bytes.subarray(dataStart);
    if (bigEndian) data = swapped(data, storedSize(type));
    if (header.fortranOrder && shape.length > 1) data = rowMajor(data, shape, storedSize(type));
    return toRecord(type, shape, data);
  },
  fileKinds,
);

export const formatNpy = checked(
  'formatNpy',
  `record:${recordSignature}`,
  (record: ArrayRecord): Uint8Array => {
    checkRecord(record, 'the array', 'formatNpy');
    const { dtype, shape } = record;
    const descr = `${byteSize(dtype) === 1 ? '|' : '<'}${codes[dtype]}`;
    const text = formatHeader({ descr, fortranOrder: false, shape });
    // Version 1 counts the header in 16 bits; the data starts at a multiple of 64.
    const fixed = (version: number): number => (version === 1 ? 10 : 12);
    const padded = (version: number): number => Math.ceil((fixed(version) + text.length + 1) / alignment) * alignment;
    const version = padded(1) - fixed(1) <= 0xffff ? 1 : 2;
    const total = padded(version);
    const head = new Uint8Array(total).fill(0x20);
    const view = viewOf(head);
    head.set([...magic, version, 0]);
    if (version === 1) view.setUint16(8, total - 10, true);
    else view.setUint32(8, total - 12, true);
    new TextEncoder().encodeInto(text, head.subarray(fixed(version)));
    head[total - 1] = 0x0a;
    return concatBytes([head, record.bytes]);
  },
  fileKinds,
);

function readHeader(bytes: Uint8Array): { readonly header: NpyHeader; readonly dataStart: number } {
  if (bytes.length < 10 || !magic.every((b, i) => bytes[i] === b)) {
    throw fail({
      code: 'NOT_NPY',
      message: `the ${bytes.length} bytes do not begin as a .npy file does (93 4e 55 4d 50 59)`,
      fix: 'Give the content of a file written by np.save; for a file written by np.savez use parseNpz.',
    });
  }
  const [major, minor] = [bytes[6]!, bytes[7]!];
  if (major < 1 || major > 3 || minor !== 0) {
    throw fail({
      code: 'BAD_VERSION',
      message: `the file says it is version ${major}.${minor} at byte 6; 1.0, 2.0 and 3.0 are known`,
    });
  }
  const start = major === 1 ? 10 : 12;
  if (bytes.length < start)
    throw fail({ code: 'TRUNCATED', message: `the file ends at byte ${bytes.length}, inside its header` });
  const view = viewOf(bytes);
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (start + length > bytes.length) {
    throw fail({
      code: 'TRUNCATED',
      message: `the header should be ${length} bytes long from byte ${start} on, but the file has ${bytes.length} bytes`,
    });
  }
  const text = decode(bytes.subarray(start, start + length), major === 3 ? 'utf-8' : 'latin1', start);
  return { header: parseHeader(text, start), dataStart: start + length };
}

function decode(bytes: Uint8Array, encoding: string, at: number): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fail({ code: 'BAD_HEADER', message: `the header at byte ${at} is not ${encoding} text`, cause });
  }
}

function typeOf(descr: string): { readonly type: DType | NarrowInt; readonly bigEndian: boolean } {
  const order = /^[<>=|]/.exec(descr)?.[0] ?? '';
  const code = descr.slice(order.length);
  const type = code === '?' ? 'bool' : typeOfCode.get(code);
  if (type === undefined) {
    throw fail({
      code: 'DTYPE_UNSUPPORTED',
      message: `the array has the dtype ${JSON.stringify(descr)}`,
      fix: `Convert it before saving, as in np.save(file, array.astype(np.float32)). Supported dtypes: ${[...typeOfCode.keys()].join(', ')}.`,
    });
  }
  return { type, bigEndian: order === '>' && storedSize(type) > 1 };
}

/** A copy with the bytes of every element reversed. */
function swapped(data: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) out[i] = data[i + size - 1 - 2 * (i % size)]!;
  return out;
}

/** A copy of a column-major array in row-major order. */
function rowMajor(data: Uint8Array, shape: Shape, size: number): Uint8Array {
  const out = new Uint8Array(data.length);
  const rank = shape.length;
  const strides = stridesOf([...shape].reverse()).reverse();
  const position = new Array<number>(rank).fill(0);
  let source = 0;
  for (let target = 0; target < out.length; target += size) {
    for (let b = 0; b < size; b++) out[target + b] = data[source * size + b]!;
    for (let axis = rank - 1; axis >= 0; axis--) {
      source += strides[axis]!;
      if (++position[axis]! < shape[axis]!) break;
      source -= strides[axis]! * shape[axis]!;
      position[axis] = 0;
    }
  }
  return out;
}
