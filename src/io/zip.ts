// Zip archives: the directory at the end, and the entries it names, stored or deflated.
//
// Sizes come from the central directory (NumPy leaves those in front of the data open), zip64 included, and are checked
// against the archive before they are used. Entries may not overlap, so the work is bounded by the archive's length.

import { crc32 } from './crc32.ts';
import { deflate, inflate, TooLong } from './deflate.ts';
import { concatBytes, type Flaw, viewOf } from './record.ts';

export interface ZipEntry {
  readonly name: string;
  /** 0 stored, 8 deflated. */
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly unpacked: number;
  /** Where its local header begins. */
  readonly offset: number;
  readonly encrypted: boolean;
}

type Fail = (flaw: Flaw) => Error;

const signatures = {
  local: 0x04034b50,
  central: 0x02014b50,
  end: 0x06054b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
} as const;
const endLength = 22;
const localLength = 30;
const centralLength = 46;
const open32 = 0xffffffff;

/** A view that answers with an error where the archive ends too early. */
class Archive {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly #fail: Fail;

  constructor(bytes: Uint8Array, fail: Fail) {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
    this.#fail = fail;
  }

  need(at: number, length: number, what: string): void {
    if (at >= 0 && at + length <= this.bytes.length) return;
    throw this.#fail({
      code: 'TRUNCATED',
      message: `${what} should lie at bytes ${at} to ${at + length}, but the file has ${this.bytes.length} bytes`,
    });
  }

  u16 = (at: number): number => this.#view.getUint16(at, true);
  u32 = (at: number): number => this.#view.getUint32(at, true);

  /** A 64-bit size or place. Deflate packs at most 1032 to 1, so beyond that nothing in this archive can reach. */
  u64(at: number, what: string): number {
    const v = this.#view.getBigUint64(at, true);
    if (v <= BigInt(this.bytes.length) * 1100n) return Number(v);
    throw this.#fail({
      code: 'BAD_ZIP',
      message: `${what} is given as ${v} at byte ${at}, in a file of ${this.bytes.length} bytes`,
    });
  }
}

export function readDirectory(bytes: Uint8Array, fail: Fail): ZipEntry[] {
  const archive = new Archive(bytes, fail);
  const end = findEnd(archive, fail);
  const { count, at } = directoryAt(archive, end, fail);
  const entries: ZipEntry[] = [];
  let next = at;
  for (let i = 0; i < count; i++) {
    archive.need(next, centralLength, `entry ${i} of the directory`);
    if (archive.u32(next) !== signatures.central) {
      throw fail({ code: 'BAD_ZIP', message: `entry ${i} of the directory does not begin at byte ${next}` });
    }
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((o) => archive.u16(next + o)) as [
      number,
      number,
      number,
    ];
    archive.need(next + centralLength, nameLength + extraLength + commentLength, `entry ${i} of the directory`);
    entries.push(readEntry(archive, next, nameLength, extraLength, fail));
    next += centralLength + nameLength + extraLength + commentLength;
  }
  checkOverlap(entries, at, fail);
  return entries;
}

/** The content of an entry, its length and checksum verified. */
export async function readContent(bytes: Uint8Array, entry: ZipEntry, fail: Fail): Promise<Uint8Array> {
  const archive = new Archive(bytes, fail);
  const name = JSON.stringify(entry.name);
  const { offset, packed, unpacked } = entry;
  archive.need(offset, localLength, `the entry ${name}`);
  if (archive.u32(offset) !== signatures.local) {
    throw fail({ code: 'BAD_ZIP', message: `the entry ${name} does not begin at byte ${offset}` });
  }
  const start = offset + localLength + archive.u16(offset + 26) + archive.u16(offset + 28);
  archive.need(start, packed, `the data of ${name}`);
  if (entry.encrypted) {
    throw fail({
      code: 'ENCRYPTED',
      message: `the entry ${name} is encrypted`,
      fix: 'Save the archive without a password.',
    });
  }
  const data = bytes.subarray(start, start + packed);
  const content = await unpack(entry, data, fail);
  if (content.length !== unpacked || crc32(content) !== entry.checksum) {
    throw fail({
      code: 'BAD_CHECKSUM',
      message: `the data of ${name} from byte ${start} on does not have its length of ${unpacked} or its checksum`,
    });
  }
  return content;
}

async function unpack(entry: ZipEntry, data: Uint8Array, fail: Fail): Promise<Uint8Array> {
  const name = JSON.stringify(entry.name);
  if (entry.method === 0) return data;
  if (entry.method !== 8) {
    throw fail({
      code: 'BAD_ZIP',
      message: `the entry ${name} is compressed by method ${entry.method}; stored (0) and deflated (8) are known`,
      fix: 'Write the archive with np.savez or np.savez_compressed.',
    });
  }
  try {
    return await inflate(data, entry.unpacked, entry.checksum);
  } catch (cause) {
    const why =
      cause instanceof TooLong ? `unpacks to more than the ${entry.unpacked} bytes it claims` : 'cannot be unpacked';
    throw fail({ code: 'BAD_CHECKSUM', message: `the entry ${name} at byte ${entry.offset} ${why}`, cause });
  }
}

/** The end record, behind which only a comment may stand. */
function findEnd(archive: Archive, fail: Fail): number {
  const { length } = archive.bytes;
  for (let at = length - endLength; at >= 0 && at >= length - endLength - 0xffff; at--) {
    if (archive.u32(at) === signatures.end && at + endLength + archive.u16(at + 20) === length) return at;
  }
  throw fail({
    code: 'NOT_ZIP',
    message: `the ${length} bytes have no directory of a zip archive at their end`,
    fix: 'Give the whole content of a file written by np.savez; for a file written by np.save use parseNpy.',
  });
}

function directoryAt(archive: Archive, end: number, fail: Fail): { readonly count: number; readonly at: number } {
  let count = archive.u16(end + 10);
  let size = archive.u32(end + 12);
  let at = archive.u32(end + 16);
  const locator = end - 20;
  if (locator >= 0 && archive.u32(locator) === signatures.locator64) {
    const end64 = archive.u64(locator + 8, 'the place of the zip64 directory');
    archive.need(end64, 56, 'the zip64 directory');
    if (archive.u32(end64) !== signatures.end64) {
      throw fail({ code: 'BAD_ZIP', message: `the zip64 directory does not begin at byte ${end64}` });
    }
    count = archive.u64(end64 + 32, 'the number of entries');
    size = archive.u64(end64 + 40, 'the length of the directory');
    at = archive.u64(end64 + 48, 'the place of the directory');
  }
  archive.need(at, size, 'the directory');
  if (count * centralLength > size) {
    throw fail({
      code: 'BAD_ZIP',
      message: `the directory at byte ${at} has ${size} bytes, too few for ${count} entries`,
    });
  }
  return { count, at };
}

function readEntry(archive: Archive, at: number, nameLength: number, extraLength: number, fail: Fail): ZipEntry {
  const flags = archive.u16(at + 8);
  const nameAt = at + centralLength;
  const sizes = { unpacked: archive.u32(at + 24), packed: archive.u32(at + 20), offset: archive.u32(at + 42) };
  widen(archive, nameAt + nameLength, extraLength, sizes, fail);
  const name = decodeName(archive.bytes.subarray(nameAt, nameAt + nameLength));
  return { name, method: archive.u16(at + 10), checksum: archive.u32(at + 16), ...sizes, encrypted: (flags & 1) !== 0 };
}

/** Replaces the sizes that the entry leaves to its zip64 field, which holds just those, in this order. */
function widen(
  archive: Archive,
  at: number,
  length: number,
  sizes: Record<'unpacked' | 'packed' | 'offset', number>,
  fail: Fail,
): void {
  const open = (['unpacked', 'packed', 'offset'] as const).filter((k) => sizes[k] === open32);
  if (open.length === 0) return;
  for (let field = at; field + 4 <= at + length; field += 4 + archive.u16(field + 2)) {
    if (archive.u16(field) !== 1) continue;
    if (archive.u16(field + 2) < open.length * 8 || field + 4 + open.length * 8 > at + length) break;
    open.forEach((k, i) => {
      sizes[k] = archive.u64(field + 4 + i * 8, `the ${k} size`);
    });
    return;
  }
  throw fail({
    code: 'BAD_ZIP',
    message: `the entry before byte ${at} leaves its sizes to a zip64 field that it does not have`,
  });
}

function decodeName(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}

function checkOverlap(entries: readonly ZipEntry[], directory: number, fail: Fail): void {
  const sorted = [...entries].sort((a, b) => a.offset - b.offset);
  sorted.forEach((entry, i) => {
    const limit = sorted[i + 1]?.offset ?? directory;
    if (entry.offset + localLength + entry.packed <= limit) return;
    throw fail({
      code: 'BAD_ZIP',
      message: `the entry ${JSON.stringify(entry.name)} at byte ${entry.offset} runs into what follows at byte ${limit}`,
    });
  });
}

/** One archive of named contents. Everything about it is fixed, the time too: equal contents give equal archives. */
export async function writeZip(
  contents: readonly (readonly [string, Uint8Array])[],
  compress: boolean,
  fail: Fail,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const [name, bytes] of contents) {
    const data = compress ? await deflate(bytes) : bytes;
    const encoded = new TextEncoder().encode(name);
    if (encoded.length > 0xffff)
      throw fail({
        code: 'BAD_NAME',
        message: `the name ${JSON.stringify(name.slice(0, 40))}… is too long for a zip archive`,
        fix: 'Use a shorter name.',
      });
    const fields = {
      encoded,
      method: compress ? 8 : 0,
      checksum: crc32(bytes),
      packed: data.length,
      unpacked: bytes.length,
      at,
    };
    const local = record(signatures.local, localLength, fields);
    parts.push(local, data);
    directory.push(record(signatures.central, centralLength, fields));
    at += local.length + data.length;
  }
  const size = directory.reduce((n, d) => n + d.length, 0);
  if (at + size >= open32 || contents.length >= 0xffff || contents.some(([, b]) => b.length >= open32)) {
    throw fail({
      code: 'TOO_LARGE',
      message: `${contents.length} arrays of ${at} bytes are too much for a plain zip archive`,
      fix: 'Write several files, or use formatSafetensors.',
    });
  }
  const end = new Uint8Array(endLength);
  const view = viewOf(end);
  view.setUint32(0, signatures.end, true);
  view.setUint16(8, contents.length, true);
  view.setUint16(10, contents.length, true);
  view.setUint32(12, size, true);
  view.setUint32(16, at, true);
  return concatBytes([...parts, ...directory, end]);
}

interface Fields {
  readonly encoded: Uint8Array;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly unpacked: number;
  readonly at: number;
}

/** A local header or, with one field more in front and some behind, an entry of the directory. */
function record(signature: number, length: number, f: Fields): Uint8Array {
  const out = new Uint8Array(length + f.encoded.length);
  const view = viewOf(out);
  const central = signature === signatures.central;
  const shift = central ? 2 : 0;
  view.setUint32(0, signature, true);
  if (central) view.setUint16(4, 20, true);
  view.setUint16(4 + shift, 20, true); // version 2.0
  view.setUint16(6 + shift, 0x0800, true); // names are UTF-8
  view.setUint16(8 + shift, f.method, true);
  view.setUint16(12 + shift, 0x0021, true); // 1 January 1980
  view.setUint32(14 + shift, f.checksum, true);
  view.setUint32(18 + shift, f.packed, true);
  view.setUint32(22 + shift, f.unpacked, true);
  view.setUint16(26 + shift, f.encoded.length, true);
  if (central) view.setUint32(42, f.at, true);
  out.set(f.encoded, length);
  return out;
}
