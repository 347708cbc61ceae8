// Data by reference: files in a shared folder, objects of S3 or what lies behind http(s), checked by their hash when they are read.
//
// Blobs that are written here are named by their content, files under a temporary name first: writing the same bytes twice, or at the
// same time, leaves one of them. The shared folder may be a part of a bucket: `s3://bucket/prefix`.

import { makeFolder } from '../base/folder.ts';
import { importNode, isNode } from '../base/platform.ts';
import { checked } from '../base/signatures.ts';
import { byteSize, type DType } from '../index.ts';
import { sha256 } from './chunk-id.ts';
import { badArgument } from './failures.ts';
import { isS3, readS3, writeS3 } from './s3.ts';
import { arraySignature, batchKinds, blobSignature } from './signatures.ts';
import { answerMs, type BlobRef, PermanentFailure } from './transport.ts';

type Files = typeof import('node:fs');
type Paths = typeof import('node:path');
type Urls = typeof import('node:url');

/** A tensor in host memory. */
export interface HostTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In storage form: little-endian, row-major. */
  readonly bytes: Uint8Array;
}

/** How many bytes a tensor has. */
export const tensorBytes = ({ dtype, shape }: Pick<HostTensor, 'dtype' | 'shape'>): number =>
  shape.reduce((n, d) => n * d, byteSize(dtype));

/** The bytes of a reference. Bytes that are not what the reference says fail for good. */
export const readBlob = checked(
  'readBlob',
  `async ref:${blobSignature} folder:text?`,
  async (ref: BlobRef, folder?: string): Promise<HostTensor> => {
    const bytes = await fetched(ref, folder);
    const got = await sha256(bytes);
    if (got !== ref.sha256)
      throw new PermanentFailure(
        `${ref.uri}: the data has changed: its SHA-256 is ${got}, and ${ref.sha256} was asked for`,
      );
    const expected = tensorBytes(ref);
    if (bytes.length !== expected)
      throw new PermanentFailure(
        `${ref.uri}: ${bytes.length} bytes, and ${ref.dtype} [${ref.shape.join(', ')}] has ${expected}`,
      );
    return { dtype: ref.dtype, shape: ref.shape, bytes };
  },
  batchKinds,
);

async function fetched({ uri, offset = 0, length }: BlobRef, folder: string | undefined): Promise<Uint8Array> {
  if (isS3(uri)) {
    if (folder !== undefined && isS3(folder) && !uri.startsWith(`${trimmed(folder)}/`))
      throw new PermanentFailure(`${uri}: outside of the shared folder ${folder}`);
    return readS3(uri, offset, length);
  }
  const { protocol } = new URL(uri);
  if (protocol === 'file:') return fromFile(uri, offset, length, folder);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new PermanentFailure(`${uri}: data is read from file:, s3:, http: and https:, not from ${protocol}`);
  const whole = offset === 0 && length === undefined;
  const range = `bytes=${offset}-${length === undefined ? '' : offset + length - 1}`;
  const answer = await fetch(uri, { headers: whole ? {} : { range }, signal: AbortSignal.timeout(answerMs) });
  if (!answer.ok) throw new Error(`${uri}: the server answered ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // A server that does not know ranges sends everything.
  return whole || answer.status === 206
    ? bytes
    : bytes.slice(offset, length === undefined ? undefined : offset + length);
}

async function fromFile(
  uri: string,
  offset: number,
  length: number | undefined,
  folder: string | undefined,
): Promise<Uint8Array> {
  if (!isNode()) throw new PermanentFailure(`${uri}: there are no files here`);
  if (folder !== undefined && isS3(folder))
    throw new PermanentFailure(`${uri}: a file, and the shared folder is ${folder}`);
  const [
    {
      promises: { open, realpath },
    },
    path,
    { fileURLToPath },
  ] = await nodeParts();
  const file = fileURLToPath(uri);
  if (folder !== undefined) {
    // Links are followed first: nothing outside of the shared folder is read for a job.
    const [root, real] = [await realpath(folder), await realpath(file)];
    const inside = path.relative(root, real);
    if (inside.startsWith('..') || path.isAbsolute(inside))
      throw new PermanentFailure(`${uri}: outside of the shared folder ${folder}`);
  }
  const handle = await open(file, 'r');
  try {
    const size = length ?? (await handle.stat()).size - offset;
    const bytes = new Uint8Array(Math.max(0, size));
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, offset + at);
      if (bytesRead === 0) throw new PermanentFailure(`${uri}: it ends after ${offset + at} bytes`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Writes bytes into a shared folder, or below an address of S3, and gives the reference to them. */
export const writeBlob = checked(
  'writeBlob',
  `async folder:text data:${arraySignature}`,
  async (folder: string, data: HostTensor): Promise<BlobRef> => {
    const expected = tensorBytes(data);
    if (data.bytes.length !== expected)
      throw badArgument(
        'writeBlob',
        `there are ${data.bytes.length} bytes, and ${data.dtype} [${data.shape.join(', ')}] has ${expected}`,
        'Give the bytes of the whole tensor, as tensor.bytes() does.',
      );
    const hash = await sha256(data.bytes);
    const about = { sha256: hash, dtype: data.dtype, shape: data.shape };
    if (isS3(folder)) {
      const uri = `${trimmed(folder)}/blobs/${hash.slice(0, 2)}/${hash}`;
      await writeS3(uri, data.bytes);
      return { uri, ...about };
    }
    const [fs, path, { pathToFileURL }] = await nodeParts();
    const file = path.join(folder, 'blobs', hash.slice(0, 2), hash);
    const ref = { uri: pathToFileURL(file).href, ...about };
    makeFolder(fs, path.dirname(file));
    const { rename, writeFile } = fs.promises;
    const temporary = `${file}.${process.pid}.${crypto.randomUUID()}`;
    await writeFile(temporary, data.bytes);
    await rename(temporary, file);
    return ref;
  },
  batchKinds,
);

const trimmed = (folder: string): string => folder.replace(/\/+$/, '');

async function nodeParts(): Promise<[Files, Paths, Urls]> {
  return [(await importNode('fs')) as Files, (await importNode('path')) as Paths, (await importNode('url')) as Urls];
}
