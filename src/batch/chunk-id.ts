// What makes a chunk the same as another: job, place, operation, parameters, inputs, code. And which queues a worker serves.

import { checked } from '../base/signatures.ts';
import { ArgumentError, dtypes } from '../index.ts';
import { badArgument, badOption } from './failures.ts';
import { isObject, sent, wired } from './json.ts';
import { kindOf } from './lists.ts';
import { batchKinds } from './signatures.ts';
import {
  type BlobRef,
  type Capability,
  type ChunkDescriptor,
  type ChunkInput,
  type JobDescriptor,
  mostDescriptorBytes,
  type WorkerCaps,
  type WorkerOptions,
} from './transport.ts';

const encoder = new TextEncoder();

export const toHex = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');

export async function sha256(bytes: Uint8Array): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)));
}

/** What a chunk's id is the hash of. */
export function chunkText(chunk: ChunkDescriptor): string {
  const { jobId, index, op, params, codeVersion, inputs } = chunk;
  const hashes = inputs.map((i) => [i.sha256, i.offset ?? 0, i.length ?? -1]);
  return JSON.stringify([jobId, index, op, params, hashes, codeVersion]);
}

/** 128 bits of the hash: ids are in every key of a queue, and shorter keys are less work for Redis. */
export const idOfHash = (hex: string): string => hex.slice(0, 32);

/** The same for the same work of the same job, whoever computes it. */
export const chunkIdOf = checked(
  'chunkIdOf',
  'async chunk:chunk',
  async (chunk: ChunkDescriptor): Promise<string> => idOfHash(await sha256(encoder.encode(chunkText(chunk)))),
  batchKinds,
);

/** The chunk of a job at a place; throws if it carries data instead of references. */
export function describe(
  job: JobDescriptor & { readonly id: string },
  index: number,
  input: ChunkInput,
): ChunkDescriptor {
  checkInput(index, input);
  const chunk: ChunkDescriptor = {
    jobId: job.id,
    index,
    op: job.op,
    codeVersion: job.codeVersion ?? '',
    inputs: (input.inputs?.length ?? 0) > 0 ? sent(input.inputs!) : [],
    params: input.params ?? null,
    bytes: input.bytes ?? 0,
  };
  const params = wired(chunk.params, 'params');
  if ('wrong' in params)
    throw badArgument(
      'submit',
      `chunk ${index} cannot travel as JSON: ${params.wrong}`,
      'Give plain data: objects, arrays, texts and finite numbers. Arrays of numbers are data, and go by reference (inputs).',
    );
  const text = JSON.stringify(chunk);
  // Most letters are one byte: only what could be too long is counted.
  const size = text.length > mostDescriptorBytes / 3 ? encoder.encode(text).length : text.length;
  // A source may give the same object again and again, and change it in between.
  if (size <= mostDescriptorBytes)
    return isObject(chunk.params) ? { ...chunk, params: JSON.parse(params.text) } : chunk;
  throw badArgument(
    'submit',
    `chunk ${index} is described in ${size} bytes, more than ${mostDescriptorBytes}`,
    'Put data into files and give references to them as inputs.',
  );
}

/** What chunks come from; throws if nothing can come from it. */
export function checkSource(chunks: unknown): void {
  const source = chunks as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  if (typeof source === 'object' && source !== null)
    if (typeof source[Symbol.asyncIterator] === 'function' || typeof source[Symbol.iterator] === 'function') return;
  throw badArgument(
    'submit',
    `the chunks are ${kindOf(chunks)}`,
    'Give an array of { params, inputs }, or something to iterate over.',
  );
}

const inputKeys: ReadonlySet<string> = new Set(['inputs', 'params', 'bytes']);

function checkInput(index: number, input: ChunkInput): void {
  const fix = 'Give { params, inputs, bytes }, or some of these.';
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw badArgument('submit', `chunk ${index} is ${kindOf(input)}`, fix);
  for (const key of Object.keys(input))
    if (!inputKeys.has(key)) throw badArgument('submit', `chunk ${index} has '${key}', which no chunk has`, fix);
  const { inputs = [] } = input;
  if (!Array.isArray(inputs) || !inputs.every((ref) => typeof ref === 'object' && ref !== null))
    throw badArgument(
      'submit',
      `the inputs of chunk ${index} are not references to data`,
      'Give what writeBlob() returned: { uri, sha256, dtype, shape }.',
    );
  for (const [i, ref] of inputs.entries()) {
    const wrong = wrongIn(ref as Readonly<Record<string, unknown>>);
    if (wrong !== undefined)
      throw badArgument(
        'submit',
        `input ${i} of chunk ${index} is no reference to data: ${wrong} is ${JSON.stringify((ref as Partial<Record<string, unknown>>)[wrong])}`,
        'Give what writeBlob() returned: { uri, sha256, dtype, shape }.',
      );
  }
}

const isCount = (v: unknown): boolean => Number.isSafeInteger(v) && (v as number) >= 0;
const isCountIfAny = (v: unknown): boolean => v === undefined || isCount(v);

/** What the parts of a reference must be. */
const referenceParts: Readonly<Record<keyof BlobRef, (v: unknown) => boolean>> = {
  uri: (v) => typeof v === 'string' && /^[a-z][a-z\d+.-]*:./i.test(v),
  sha256: (v) => typeof v === 'string' && /^[\da-f]{64}$/.test(v),
  dtype: (v) => (dtypes as readonly unknown[]).includes(v),
  shape: (v) => Array.isArray(v) && v.every(isCount),
  offset: isCountIfAny,
  length: isCountIfAny,
};

/** The part of a reference that is not what it must be. */
const wrongIn = (ref: Readonly<Record<string, unknown>>): string | undefined =>
  Object.entries(referenceParts).find(([key, holds]) => !holds(ref[key]))?.[0];

const namePattern = /^[\w.-]{1,100}$/;
const capabilityPattern = /^(cpu|gpu:webgpu|gpu:cuda(:>=\d+g)?)$/;

export function checkJob(job: JobDescriptor): JobDescriptor & { readonly id: string } {
  const { op, id = crypto.randomUUID(), attempts, needs, overflow, stragglers, timeoutMs } = job;
  if (typeof op !== 'string' || !namePattern.test(op))
    throw badArgument(
      'submit',
      `the operation is ${JSON.stringify(op)}`,
      'Give the name of an operation that workers know.',
    );
  if (!namePattern.test(id)) throw badOption('submit', 'id', id, 'letters, digits, dots, dashes and underscores');
  if (attempts !== undefined && !(Number.isSafeInteger(attempts) && attempts >= 1))
    throw badOption('submit', 'attempts', attempts, 'a whole number, at least 1');
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0))
    throw badOption('submit', 'timeoutMs', timeoutMs, 'a time in ms above 0');
  for (const c of [needs, overflow?.to])
    if (c !== undefined && !capabilityPattern.test(c))
      throw badOption('submit', 'needs', c, "'cpu', 'gpu:webgpu', 'gpu:cuda' or 'gpu:cuda:>=16g'");
  if (overflow && !(overflow.slowdown >= 1))
    throw badOption('submit', 'overflow.slowdown', overflow.slowdown, 'a number, at least 1');
  if (stragglers !== undefined && !(stragglers >= 1 && stragglers < Number.POSITIVE_INFINITY))
    throw badOption('submit', 'stragglers', stragglers, 'a number, at least 1');
  return { ...job, id };
}

/** A job that is there, submitted with something else under its id. */
export const jobChanged = (id: string, what: string): ArgumentError =>
  new ArgumentError({
    code: 'JOB_CHANGED',
    message: `submit: job ${id} was submitted before, and ${what}`,
    fix: 'Give it another id, or remove the old job first: gpuforge jobs remove.',
    where: 'submit',
  });

/** Fewer chunks than there were are other ones, too. */
export const fewer = (before: number | string, now: number): string => `it had ${before} chunks, not ${now}`;

/** Chunks of a cancelled job are gone from the queue: its dead letters alone would never end it. */
export const retryOfCancelled = (id: string): ArgumentError =>
  badArgument('retry', `job ${id} was cancelled`, 'Submit it again under its id: it goes on where it was.');

/** Chunks that a worker does at once; throws unless it is one or more. */
export function checkConcurrency({ concurrency = 1 }: WorkerOptions): number {
  if (Number.isSafeInteger(concurrency) && concurrency >= 1) return concurrency;
  throw badOption('worker', 'concurrency', concurrency, 'a whole number, at least 1');
}

/** Whether a worker can do what a job needs. */
export function serves(caps: WorkerCaps, needs: Capability): boolean {
  if (needs === 'cpu') return caps.backend === 'cpu';
  if (needs === 'gpu:webgpu') return caps.backend === 'webgpu';
  if (caps.backend !== 'cuda') return false;
  const gigabytes = /^gpu:cuda:>=(\d+)g$/.exec(needs)?.[1];
  return gigabytes === undefined || (caps.freeMb ?? 0) >= 1024 * Number(gigabytes);
}
