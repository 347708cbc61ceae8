// safetensors files: a length, a JSON header, and the tensors' bytes one after the other without gaps.
//
// Records share the file's memory, except that I8, I16 and U16 become i32. The header is believed only after every claim in it fits the file.

import { byteSize, type DType } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { checked } from '../base/signatures.ts';
import { ArgumentError } from '../errors.ts';
import {
  type ArrayRecord,
  byteLength,
  checkRecord,
  concatBytes,
  flaw,
  type NarrowInt,
  toRecord,
  viewOf,
} from './record.ts';
import { repeatedKey } from './repeated-key.ts';
import { fileKinds } from './signatures.ts';

export interface Safetensors {
  readonly tensors: Map<string, ArrayRecord>;
  readonly metadata: Record<string, string>;
}

const names: Readonly<Record<DType, string>> = {
  bool: 'BOOL',
  u8: 'U8',
  i32: 'I32',
  u32: 'U32',
  i64: 'I64',
  u64: 'U64',
  f16: 'F16',
  bf16: 'BF16',
  f32: 'F32',
  f64: 'F64',
};
const narrowNames: Readonly<Record<NarrowInt, string>> = { i8: 'I8', i16: 'I16', u16: 'U16' };
const typeOfName = new Map(
  Object.entries({ ...names, ...narrowNames }).map(([type, name]) => [name, type as DType | NarrowInt]),
);

/** The reference implementation refuses longer headers too. */
const longestHeader = 100_000_000;
const metadataKey = '__metadata__';

const fail = flaw('parseSafetensors');

export const parseSafetensors = checked(
  'parseSafetensors',
  'bytes:bytes',
  (bytes: Uint8Array): Safetensors => {
    const { header, text, dataStart } = readHeader(bytes);
    checkKeys(text);
    const tensors = new Map<string, ArrayRecord>();
    const metadata: [string, string][] = [];
    const entries: Entry[] = [];
    for (const [name, value] of Object.entries(header)) {
      if (name === metadataKey) metadata.push(...readMetadata(value));
      else entries.push(readEntry(name, value, bytes.length - dataStart));
    }
    checkCoverage(entries, dataStart, bytes.length - dataStart);
    for (const { name, type, shape, begin, end } of entries)
      tensors.set(name, toRecord(type, shape, bytes.subarray(dataStart + begin, dataStart + end)));
    return { tensors, metadata: Object.fromEntries(metadata) };
  },
  fileKinds,
);

export const formatSafetensors = checked(
  'formatSafetensors',
  'tensors:entries metadata:texts?',
  (tensors: Iterable<readonly [string, ArrayRecord]>, metadata: Readonly<Record<string, string>> = {}): Uint8Array => {
    const list = [...tensors];
    const seen = new Set([metadataKey]);
    for (const [name, record] of list) {
      checkRecord(record, JSON.stringify(name), 'formatSafetensors');
      if (seen.has(name)) {
        throw new ArgumentError({
          code: 'BAD_NAME',
          message: `formatSafetensors: a tensor cannot be called ${JSON.stringify(name)}: the name is ${name === metadataKey ? 'reserved' : 'used twice'}`,
          fix: 'Give every tensor a name of its own.',
          where: 'formatSafetensors',
        });
      }
      seen.add(name);
    }
    // Widest elements first, so that every tensor is aligned to its element size.
    list.sort(([p, a], [q, b]) => byteSize(b.dtype) - byteSize(a.dtype) || (p < q ? -1 : 1));
    const entries: [string, unknown][] = Object.keys(metadata).length > 0 ? [[metadataKey, metadata]] : [];
    let at = 0;
    for (const [name, { dtype, shape, bytes }] of list) {
      entries.push([name, { dtype: names[dtype], shape, data_offsets: [at, at + bytes.length] }]);
      at += bytes.length;
    }
    const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
    const head = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
    viewOf(head).setBigUint64(0, BigInt(head.length - 8), true);
    head.set(json, 8);
    return concatBytes([head, ...list.map(([, record]) => record.bytes)]);
  },
  fileKinds,
);

interface Entry {
  readonly name: string;
  readonly type: DType | NarrowInt;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

function readHeader(bytes: Uint8Array): { readonly header: object; readonly text: string; readonly dataStart: number } {
  if (bytes.length < 8) {
    throw fail({
      code: 'TRUNCATED',
      message: `the file has ${bytes.length} bytes; its first 8 should give the length of its header`,
    });
  }
  const claimed = viewOf(bytes).getBigUint64(0, true);
  if (claimed > BigInt(longestHeader) || claimed > BigInt(bytes.length - 8)) {
    throw fail({
      code: 'TRUNCATED',
      message: `the header at byte 8 should be ${claimed} bytes long, but the file has ${bytes.length} bytes (headers may have ${longestHeader})`,
      fix: 'Check that this is a safetensors file and that it was downloaded completely.',
    });
  }
  const dataStart = 8 + Number(claimed);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(8, dataStart));
    const header: unknown = JSON.parse(text);
    if (isObject(header)) return { header, text, dataStart };
  } catch (cause) {
    throw fail({ code: 'BAD_HEADER', message: 'the header from byte 8 on is not JSON text', cause });
  }
  throw fail({ code: 'BAD_HEADER', message: 'the header from byte 8 on is not a JSON object' });
}

/** Which of two entries of one name is meant, nobody can say. */
function checkKeys(text: string): void {
  const twice = repeatedKey(text);
  if (twice !== undefined)
    throw fail({ code: 'BAD_HEADER', message: `the header has the key ${JSON.stringify(twice)} twice` });
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
const isWhole = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) >= 0;

function readMetadata(value: unknown): [string, string][] {
  if (isObject(value) && Object.values(value).every((v) => typeof v === 'string')) {
    return Object.entries(value) as [string, string][];
  }
  throw fail({ code: 'BAD_HEADER', message: `${metadataKey} should map names to strings` });
}

function readEntry(name: string, value: unknown, available: number): Entry {
  const at = JSON.stringify(name);
  if (!isObject(value)) throw fail({ code: 'BAD_HEADER', message: `the header's entry ${at} is not an object` });
  const { dtype, shape, data_offsets: offsets } = value;
  const type = typeof dtype === 'string' ? typeOfName.get(dtype) : undefined;
  if (type === undefined) {
    throw fail({
      code: 'DTYPE_UNSUPPORTED',
      message: `the tensor ${at} has the dtype ${JSON.stringify(dtype) ?? 'none'}`,
      fix: `Convert it before saving. Supported dtypes: ${[...typeOfName.keys()].join(', ')}.`,
    });
  }
  if (!Array.isArray(shape) || !shape.every(isWhole)) {
    throw fail({ code: 'BAD_SHAPE', message: `the tensor ${at} has the shape ${JSON.stringify(shape) ?? 'none'}` });
  }
  const [begin, end] = Array.isArray(offsets) && offsets.length === 2 ? (offsets as unknown[]) : [];
  if (!isWhole(begin) || !isWhole(end) || begin > end || end > available) {
    throw fail({
      code: 'BAD_OFFSETS',
      message: `the tensor ${at} should lie at ${JSON.stringify(offsets) ?? 'no place'} of the ${available} bytes of data`,
    });
  }
  const length = byteLength(type, shape, available);
  if (length !== end - begin) {
    throw fail({
      code: 'BAD_OFFSETS',
      message: `the tensor ${at} is ${dtype} of shape ${show(shape)} but has ${end - begin} bytes`,
    });
  }
  return { name, type, shape, begin, end };
}

/** Tensors may neither overlap nor leave bytes that belong to none. */
function checkCoverage(entries: readonly Entry[], dataStart: number, available: number): void {
  let at = 0;
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== at) {
      throw fail({
        code: 'BAD_OFFSETS',
        message: `the tensor ${JSON.stringify(name)} begins at byte ${dataStart + begin}, the one before it ends at byte ${dataStart + at}`,
      });
    }
    at = end;
  }
  if (at !== available) {
    throw fail({
      code: 'TRAILING_BYTES',
      message: `the ${available - at} bytes from byte ${dataStart + at} on belong to no tensor`,
    });
  }
}
