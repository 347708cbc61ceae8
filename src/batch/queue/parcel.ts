// What a job of BullMQ carries: one chunk, or a parcel of them. Redis has as much to do for a parcel as for a chunk.
//
// The first chunks of a job travel alone, so that a short job is spread over all workers. A worker that opens a parcel keeps what will
// have run in a moment, and puts the rest back into the queue, each chunk alone. So it does with all chunks of a parcel that was opened
// before: whatever goes wrong, a chunk is repeated, tried again and given up alone.

import { createHash } from 'node:crypto';
import { chunkText, idOfHash } from '../chunk-id.ts';
import { type ChunkDescriptor, mostDescriptorBytes } from '../transport.ts';

/** Of a chunk in a parcel: what the parcel does not say. */
type Packed = Pick<ChunkDescriptor, 'index' | 'inputs' | 'params' | 'bytes'>;

export interface Parcel extends Pick<ChunkDescriptor, 'jobId' | 'op' | 'codeVersion'> {
  readonly chunks: readonly Packed[];
  /** At each chunk, before it is a dead letter. */
  readonly attempts: number;
}

/** What a chunk that travels alone has behind it. */
export interface Past {
  /** Attempts that were made of it in a parcel. */
  readonly tried?: number;
  /** Its job was submitted again: it may be done by now. */
  readonly again?: boolean;
  /** Ids of workers that cannot do it. */
  readonly refused?: readonly string[];
}

export type Single = ChunkDescriptor & { readonly past?: Past };

export type Load = Single | Parcel;

export const isParcel = (load: Load): load is Parcel => 'chunks' in load;

export function chunksOf(load: Load): readonly ChunkDescriptor[] {
  if (!isParcel(load)) return [chunkOf(load)];
  const { jobId, op, codeVersion, chunks } = load;
  return chunks.map(({ index, inputs, params, bytes }) => ({ jobId, index, op, codeVersion, inputs, params, bytes }));
}

function chunkOf(single: Single): ChunkDescriptor {
  if (single.past === undefined) return single;
  const { past: _, ...chunk } = single;
  return chunk;
}

/** As `chunkIdOf`, at once: ten thousand promises of hashes take longer than the hashes. */
export const idOf = (chunk: ChunkDescriptor): string => hashed(chunkText(chunk));

const hashed = (text: string): string => idOfHash(createHash('sha256').update(text).digest('hex'));

/** So many chunks of a job travel alone before there are parcels of it. */
export const mostAlone = 200;
const mostTogether = 20;

/** How BullMQ is told of a load. */
export interface BulkJob {
  readonly name: string;
  readonly data: Load;
  readonly opts: {
    /** The same load twice is one job of BullMQ. */
    readonly jobId: string;
    readonly attempts: number;
    readonly backoff: { readonly type: 'exponential'; readonly delay: number };
    readonly delay?: number;
    /** It is the next, as it was before. */
    readonly lifo?: true;
    readonly removeOnComplete: true;
  };
}

/** The wait after the first attempt, in ms; twice as long after each. */
const backoffMs = 100;

/** How long a chunk waits after so many attempts. */
export const waitAfter = (attempts: number): number => backoffMs * 2 ** (attempts - 1);

/** A chunk that travels alone. */
export function alone(chunk: ChunkDescriptor, attempts: number, past?: Past): BulkJob {
  const { tried = 0 } = past ?? {};
  const waits = {
    attempts: attempts - tried,
    backoff: { type: 'exponential', delay: backoffMs * 2 ** tried },
  } as const;
  const opts = { jobId: idOf(chunk), ...waits, removeOnComplete: true } as const;
  const data = past === undefined ? chunk : { ...chunk, past };
  return { name: chunk.op, data, opts: tried === 0 ? opts : { ...opts, delay: waitAfter(tried) } };
}

/** Chunks of an opened parcel, as the next ones of the queue: they have waited. */
export function putBack(chunks: readonly ChunkDescriptor[], attempts: number): BulkJob[] {
  const loads = chunks.map((c) => alone(c, attempts));
  // The last that is put in front is the first to go.
  return loads.reverse().map((load) => ({ ...load, opts: { ...load.opts, lifo: true } }));
}

/** Chunks of one job as parcels: equal chunks are equal parcels, whoever packs them. */
export function parcelsOf(chunks: readonly ChunkDescriptor[], attempts: number): BulkJob[] {
  const made: BulkJob[] = [];
  let [from, text] = [0, ''];
  for (let end = 1; end <= chunks.length; end++) {
    text += chunkText(chunks[end - 1]!);
    if (end < chunks.length && end - from < mostTogether && text.length < mostText) continue;
    made.push(end - from === 1 ? alone(chunks[from]!, attempts) : parcel(chunks.slice(from, end), text, attempts));
    [from, text] = [end, ''];
  }
  return made;
}

/** A parcel is not much larger than a chunk may be. */
const mostText = mostDescriptorBytes / 4;

function parcel(chunks: readonly ChunkDescriptor[], text: string, attempts: number): BulkJob {
  const { jobId, op, codeVersion } = chunks[0]!;
  const packed = chunks.map(({ index, inputs, params, bytes }) => ({ index, inputs, params, bytes }));
  return {
    name: op,
    data: { jobId, op, codeVersion, attempts, chunks: packed },
    // Its own attempts are those at opening it: chunks that fail go on alone.
    opts: {
      jobId: hashed(text),
      attempts: 3,
      backoff: { type: 'exponential', delay: backoffMs },
      removeOnComplete: true,
    },
  };
}
