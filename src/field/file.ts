// .gfield files: a snapshot as bytes. A magic word, a JSON header, then raw little-endian blocks aligned to 64. Header and blocks have
// checksums, and what lies between them is zero: a file in which anything was altered is refused.
//
// Written to a temporary file, flushed, renamed: a file is whole or not there.

import { fileSystem, replaceFile } from '../base/whole-file.ts';
import { crc32 } from '../io/crc32.ts';
import { FieldFileError } from './errors.ts';
import { type FieldSnapshot, type SavedTensor, snapshotSchema } from './snapshot.ts';

const format = 2;
const magic = new Uint8Array([0x47, 0x46, 0x49, 0x45, 0x4c, 0x44, 0, format]); // "GFIELD\0\2"
/** The magic word, the length of the header and its checksum. */
const preamble = magic.length + 8;
const alignment = 64;
const mostHeader = 16 << 20;

interface Block {
  readonly name: string;
  readonly dtype: SavedTensor['dtype'];
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
  readonly crc32: number;
}

const aligned = (n: number): number => Math.ceil(n / alignment) * alignment;

export function encodeSnapshot(snapshot: FieldSnapshot): Uint8Array {
  const { tensors, ...rest } = snapshot;
  const blocks: Block[] = [];
  let size = 0;
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
    blocks.push({ name, dtype, shape, offset: size, bytes: bytes.byteLength, crc32: crc32(bytes) });
    size = aligned(size + bytes.byteLength);
  }
  const header = new TextEncoder().encode(JSON.stringify({ ...rest, tensors: blocks }, replaceNumbers));
  const first = aligned(preamble + header.length);
  const last = blocks.at(-1);
  const file = new Uint8Array(last ? first + last.offset + last.bytes : preamble + header.length);
  file.set(magic);
  const view = new DataView(file.buffer);
  view.setUint32(magic.length, header.length, true);
  view.setUint32(magic.length + 4, crc32(header), true);
  file.set(header, preamble);
  for (const { name, offset } of blocks) file.set(tensors[name]!.bytes, first + offset);
  return file;
}

/** JSON has no infinity. */
const replaceNumbers = (_: string, v: unknown): unknown => (v === Number.POSITIVE_INFINITY ? 'Infinity' : v);

export function decodeSnapshot(file: Uint8Array, name: string): FieldSnapshot {
  const broken = (problem: string): FieldFileError =>
    new FieldFileError({
      where: 'load',
      problem: `${name}: ${problem}`,
      fix: 'Use a file that save() wrote, or an older copy of it.',
    });
  const word = magic.subarray(0, -1);
  if (file.length < preamble || !word.every((b, i) => file[i] === b)) throw broken('it is no field file');
  if (file[word.length] !== format) throw broken(`its format is ${file[word.length]}, this build reads ${format}`);
  const view = new DataView(file.buffer, file.byteOffset);
  const length = view.getUint32(magic.length, true);
  if (length > mostHeader) throw broken(`its header claims ${length} bytes`);
  const begun = preamble + length;
  if (file.length < begun) throw broken('it ends within its header');
  let header: FieldSnapshot & { readonly tensors: readonly Block[] };
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(file.subarray(preamble, begun)));
  } catch {
    throw broken('its header is no JSON');
  }
  if (header?.schema !== snapshotSchema)
    throw broken(`its schema is '${String(header?.schema)}', not '${snapshotSchema}'`);
  if (crc32(file.subarray(preamble, begun)) !== view.getUint32(magic.length + 4, true))
    throw broken('the checksum of its header is wrong');
  if (
    !Array.isArray(header.tensors) ||
    ![header.values, header.options].every((v) => typeof v === 'object' && v !== null)
  )
    throw broken('its header lacks tensors, values or options');
  const first = aligned(begun);
  const tensors: Record<string, SavedTensor> = {};
  let end = begun;
  for (const b of header.tensors as readonly Block[]) {
    if (!isBlock(b)) throw broken(`tensor '${String((b as Block | null)?.name)}' is not described as one`);
    const whole = [b.offset, b.bytes].every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!whole || first + b.offset !== aligned(end) || first + b.offset + b.bytes > file.length)
      throw broken(`tensor '${b.name}' does not lie where the one before it ends, or beyond the end of the file`);
    if (file.subarray(end, first + b.offset).some((byte) => byte !== 0))
      throw broken(`what lies before tensor '${b.name}' is not zero`);
    end = first + b.offset + b.bytes;
    const bytes = file.slice(first + b.offset, end);
    if (crc32(bytes) !== b.crc32) throw broken(`the checksum of tensor '${b.name}' is wrong`);
    tensors[b.name] = { dtype: b.dtype, shape: b.shape, bytes };
  }
  if (file.length !== end) throw broken(`${file.length - end} bytes follow its last tensor`);
  return { ...header, tensors };
}

/** Known dtypes only, and as many bytes as the shape takes. */
function isBlock(b: unknown): b is Block {
  const { name, dtype, shape, bytes } = (b ?? {}) as Partial<Block>;
  if (typeof name !== 'string' || !Object.hasOwn(elementBytes, String(dtype)) || !Array.isArray(shape)) return false;
  if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0)) return false;
  return bytes === shape.reduce((size, n) => size * n, elementBytes[dtype as keyof typeof elementBytes]);
}

/** The dtypes that a field is saved in. */
const elementBytes = { f16: 2, f32: 4, f64: 8, i32: 4 } as const;

export async function writeFile(file: string, bytes: Uint8Array): Promise<void> {
  try {
    await replaceFile(file, (handle) => handle.writeFile(bytes), { flush: true });
  } catch (cause) {
    throw new FieldFileError({
      where: 'save',
      problem: `${file} could not be written: ${(cause as Error).message}`,
      fix: 'Choose a folder that exists, with room, where files may be written. What was there before is untouched.',
      cause,
    });
  }
}

export async function readFile(file: string): Promise<Uint8Array> {
  const fs = await fileSystem();
  try {
    const read = await fs.readFile(file);
    // A Buffer's slices share its memory; a plain array's do not.
    return new Uint8Array(read.buffer, read.byteOffset, read.length);
  } catch (cause) {
    throw new FieldFileError({
      where: 'load',
      problem: `${file} could not be read: ${(cause as Error).message}`,
      fix: 'Give the name of a file that save() wrote.',
      cause,
    });
  }
}

/** The names in a folder, the oldest first; those of one age by name. */
export async function filesByAge(folder: string): Promise<string[]> {
  const { readdir, stat } = await fileSystem();
  const names = (await readdir(folder)).sort();
  // Another process may remove one meanwhile.
  const ages = await Promise.all(
    names.map((name) =>
      stat(`${folder}/${name}`).then(
        (s) => s.mtimeMs,
        () => 0,
      ),
    ),
  );
  return names
    .map((name, i) => ({ name, age: ages[i]! }))
    .sort((a, b) => a.age - b.age)
    .map(({ name }) => name);
}

export const removeFile = async (file: string): Promise<void> => (await fileSystem()).rm(file, { force: true });
