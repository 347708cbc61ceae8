// Files to tensors and back. Sources are bytes, or paths where there is a file system (Node).

import { importNode } from '../base/platform.ts';
import { checked } from '../base/signatures.ts';
import { fileSystem, replaceFile } from '../base/whole-file.ts';
import {
  aborted,
  ForgeError,
  FormatError,
  type Runtime,
  type Tensor,
  throwIfAborted,
  turnIfDue,
  type WaitOptions,
} from '../index.ts';
import { formatNpy, parseNpy } from './npy.ts';
import { formatNpz, type NpzOptions, parseNpz } from './npz.ts';
import type { ArrayRecord } from './record.ts';
import { formatSafetensors, parseSafetensors } from './safetensors.ts';
import { fileKinds } from './signatures.ts';

/** Bytes of a file, or its path. */
export type Source = Uint8Array | ArrayBuffer | string | URL;

/** Tensors by name. */
export type TensorRecord = Readonly<Record<string, Tensor>>;

/**
 * Reads a NumPy `.npy` file.
 * @example await (await readNpy(rt, await writeNpy(rt.tensor([1, 2])))).array() // → [1, 2]
 */
export const readNpy = checked(
  'readNpy',
  'async rt:runtime source:source options:{signal:signal}?',
  async (rt: Runtime, source: Source, options: WaitOptions = {}): Promise<Tensor> =>
    toTensor(rt, await parsed('readNpy', source, options, parseNpy)),
  fileKinds,
);

/**
 * A tensor as the bytes of a `.npy` file; written to a path if one is given.
 * @example (await writeNpy(rt.tensor([1, 2]))).length // → 136
 */
export const writeNpy = checked(
  'writeNpy',
  'async tensor:tensor path:path? options:{signal:signal}?',
  async (tensor: Tensor, path?: string | URL, options: WaitOptions = {}): Promise<Uint8Array> =>
    save('writeNpy', formatNpy(await toRecord(tensor, options)), path, options),
  fileKinds,
);

/**
 * Reads a NumPy `.npz` archive.
 * @example Object.keys(await readNpz(rt, await writeNpz({ a: rt.ones([2]) }))) // → ['a']
 */
export const readNpz = checked(
  'readNpz',
  'async rt:runtime source:source options:{signal:signal,maxBytes:number}?',
  async (rt: Runtime, source: Source, options: WaitOptions & NpzOptions = {}): Promise<Record<string, Tensor>> =>
    toTensors(rt, await parsed('readNpz', source, options, (bytes) => parseNpz(bytes, { maxBytes: options.maxBytes }))),
  fileKinds,
);

/**
 * Tensors as the bytes of a `.npz` archive; written to a path if one is given.
 * @example (await writeNpz({ a: rt.ones([2]) })).length > 100 // → true
 */
export const writeNpz = checked(
  'writeNpz',
  'async tensors:tensors options:{signal:signal,compress:flag,path:path}?',
  async (
    tensors: TensorRecord,
    options: WaitOptions & { readonly compress?: boolean; readonly path?: string | URL } = {},
  ): Promise<Uint8Array> => {
    const bytes = await formatNpz(await toRecords(tensors, options), { compress: options.compress ?? false });
    return save('writeNpz', bytes, options.path, options);
  },
  fileKinds,
);

/**
 * Reads a safetensors file.
 * @example Object.keys((await readSafetensors(rt, await writeSafetensors({ w: rt.ones([2]) }))).tensors) // → ['w']
 */
export const readSafetensors = checked(
  'readSafetensors',
  'async rt:runtime source:source options:{signal:signal}?',
  async (
    rt: Runtime,
    source: Source,
    options: WaitOptions = {},
  ): Promise<{ tensors: Record<string, Tensor>; metadata: Readonly<Record<string, string>> }> => {
    const { tensors, metadata } = await parsed('readSafetensors', source, options, parseSafetensors);
    return { tensors: toTensors(rt, tensors), metadata };
  },
  fileKinds,
);

/**
 * Tensors as the bytes of a safetensors file; written to a path if one is given.
 * @example (await writeSafetensors({ w: rt.ones([2]) })).length > 8 // → true
 */
export const writeSafetensors = checked(
  'writeSafetensors',
  'async tensors:tensors options:{signal:signal,metadata:texts,path:path}?',
  async (
    tensors: TensorRecord,
    options: WaitOptions & { readonly metadata?: Readonly<Record<string, string>>; readonly path?: string | URL } = {},
  ): Promise<Uint8Array> => {
    const bytes = formatSafetensors(await toRecords(tensors, options), options.metadata ?? {});
    return save('writeSafetensors', bytes, options.path, options);
  },
  fileKinds,
);

const toTensor = (rt: Runtime, record: ArrayRecord): Tensor => rt.fromBytes(record.bytes, record.dtype, record.shape);

/** All or nothing: if one does not fit, those before it are freed. */
function toTensors(rt: Runtime, records: ReadonlyMap<string, ArrayRecord>): Record<string, Tensor> {
  const made = new Map<string, Tensor>();
  try {
    for (const [name, record] of records) made.set(name, toTensor(rt, record));
  } catch (e) {
    for (const t of made.values()) t.dispose();
    throw e;
  }
  // Names are the file's: `made['__proto__'] = t` would not make a property.
  return Object.fromEntries(made);
}

const toRecord = async (t: Tensor, { signal }: WaitOptions): Promise<ArrayRecord> => ({
  dtype: t.dtype,
  shape: t.shape,
  bytes: await t.bytes({ signal }),
});

async function toRecords(tensors: TensorRecord, options: WaitOptions): Promise<Map<string, ArrayRecord>> {
  const records = new Map<string, ArrayRecord>();
  for (const [name, t] of Object.entries(tensors)) records.set(name, await toRecord(t, options));
  return records;
}

/** What a source holds. An error names the call, and the file if there is one. */
async function parsed<T>(
  where: string,
  source: Source,
  options: WaitOptions,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  // Loops that read bytes let the collector, timers and signals have their turn too.
  const due = turnIfDue(performance.now());
  if (due) await due;
  throwIfAborted(options.signal, where);
  const bytes = await bytesOf(where, source, options);
  try {
    const found = await parse(bytes);
    throwIfAborted(options.signal, where);
    return found;
  } catch (e) {
    throw e instanceof FormatError ? asReading(e, where, source) : e;
  }
}

function asReading(e: FormatError, where: string, source: Source): FormatError {
  const [said = ''] = e.message.split('\n  fix: ');
  const file = typeof source === 'string' || source instanceof URL ? `${nameOf(source)}: ` : '';
  return new FormatError({
    code: e.code,
    message: `${where}: ${file}${said.replace(/^\w+: /, '')}`,
    // What parses bytes has a name beside what reads files.
    fix: e.fix.replace(/\bparse(?=Npy|Npz|Safetensors)/g, 'read'),
    where,
    cause: e,
  });
}

const nameOf = (path: string | URL): string => (typeof path === 'string' ? path : decodeURI(path.pathname));

async function bytesOf(where: string, source: Source, { signal }: WaitOptions): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const { readFile } = await fileSystem();
  return file(where, 'read', nameOf(source), signal, readFile(source, { signal }));
}

async function save(
  where: string,
  bytes: Uint8Array,
  path: string | URL | undefined,
  { signal }: WaitOptions,
): Promise<Uint8Array> {
  throwIfAborted(signal, where);
  if (path === undefined) return bytes;
  const { fileURLToPath } = (await importNode('url')) as typeof import('node:url');
  const name = path instanceof URL ? fileURLToPath(path) : path;
  const writing = replaceFile(name, (f) => f.writeFile(bytes, { signal }));
  await file(where, 'written', name, signal, writing);
  return bytes;
}

const fixes = {
  read: 'Give the path of a file that is there and may be read.',
  written: 'Choose a folder that exists, with room, where files may be written. What was there before is untouched.',
};

/** What the signal ended is reported as everywhere else; what the file system refused, with the file's name. */
async function file<T>(
  where: string,
  done: keyof typeof fixes,
  name: string,
  signal: AbortSignal | undefined,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (signal?.aborted) throw aborted(`${done === 'read' ? 'reading' : 'writing'} ${name}`, signal);
    const { code = String(cause) } = cause as { code?: string };
    throw new ForgeError({
      code: done === 'read' ? 'FILE_NOT_READ' : 'FILE_NOT_WRITTEN',
      message: `${where}: ${name} cannot be ${done} (${code})`,
      fix: fixes[done],
      where,
      cause,
    });
  }
}
