// What makes a chunk the same as another: job, place, operation, parameters, inputs, code. And which queues a worker serves.

import { checked } from '../base/signatures.ts';
import { badArgument, badOption } from './failures.ts';
import { batchKinds } from './signatures.ts';
import {
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
  const chunk: ChunkDescriptor = {
    jobId: job.id,
    index,
    op: job.op,
    codeVersion: job.codeVersion ?? '',
    inputs: input.inputs ?? [],
    params: input.params ?? null,
    bytes: input.bytes ?? 0,
  };
  const text = jsonOf(chunk);
  if (text === null)
    throw badArgument(
      'submit',
      `chunk ${index} has params that are not JSON`,
      'Give plain data: no bigints, no rings.',
    );
  // Most letters are one byte: only what could be too long is counted.
  const size = text.length > mostDescriptorBytes / 3 ? encoder.encode(text).length : text.length;
  if (size <= mostDescriptorBytes) return chunk;
  throw badArgument(
    'submit',
    `chunk ${index} is described in ${size} bytes, more than ${mostDescriptorBytes}`,
    'Put data into files and give references to them as inputs.',
  );
}

/** A value as it travels; null if it cannot. */
export function jsonOf(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

const namePattern = /^[\w.-]{1,100}$/;
const capabilityPattern = /^(cpu|gpu:webgpu|gpu:cuda(:>=\d+g)?)$/;

export function checkJob(job: JobDescriptor): JobDescriptor & { readonly id: string } {
  const { op, id = crypto.randomUUID(), attempts, needs, overflow, stragglers } = job;
  if (typeof op !== 'string' || !namePattern.test(op))
    throw badArgument(
      'submit',
      `the operation is ${JSON.stringify(op)}`,
      'Give the name of an operation that workers know.',
    );
  if (!namePattern.test(id)) throw badOption('submit', 'id', id, 'letters, digits, dots, dashes and underscores');
  if (attempts !== undefined && !(Number.isSafeInteger(attempts) && attempts >= 1))
    throw badOption('submit', 'attempts', attempts, 'a whole number, at least 1');
  for (const c of [needs, overflow?.to])
    if (c !== undefined && !capabilityPattern.test(c))
      throw badOption('submit', 'needs', c, "'cpu', 'gpu:webgpu', 'gpu:cuda' or 'gpu:cuda:>=16g'");
  if (overflow && !(overflow.slowdown >= 1))
    throw badOption('submit', 'overflow.slowdown', overflow.slowdown, 'a number, at least 1');
  if (stragglers !== undefined && !(stragglers >= 1 && stragglers < Number.POSITIVE_INFINITY))
    throw badOption('submit', 'stragglers', stragglers, 'a number, at least 1');
  return { ...job, id };
}

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
