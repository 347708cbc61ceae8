// The contract of transports: how pieces of work reach those who do them, in this process or on other machines.
//
// A job is a sequence of chunks; a chunk names an operation of a registry that the worker was started with, and the data it needs by
// reference. Delivery is at least once; results are committed exactly once. Nothing of a job is ever executed as code.

import type { DType } from '../index.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Bytes that are somewhere else, and what they must be. */
export interface BlobRef {
  /** `file:` in a folder that all machines share, `s3://bucket/key`, or `http(s):`. */
  readonly uri: string;
  readonly sha256: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Bytes within the file. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

/** The kind of worker a job is for: `cpu`, `gpu:webgpu`, `gpu:cuda`, or `gpu:cuda:>=16g` with so much free memory. */
export type Capability = string;

export interface JobDescriptor {
  /**
   * Default: a new one. Submitting the same chunks under the same id again repeats nothing that is done, and goes on with a job that was
   * cancelled. Other chunks under the id of a job that is there, and fewer, are refused.
   */
  readonly id?: string | undefined;
  readonly op: string;
  /** What the operation's code is called; part of what makes a chunk the same as another. Default ''. */
  readonly codeVersion?: string | undefined;
  /** Default 'cpu'. */
  readonly needs?: Capability | undefined;
  /** Slower kinds of workers that may help once the backlog of each fast one reaches `slowdown`, or there is no fast one. */
  readonly overflow?: { readonly to: Capability; readonly slowdown: number } | undefined;
  /** Attempts at a chunk before it is a dead letter. Default 3. */
  readonly attempts?: number | undefined;
  /**
   * The longest that one attempt at a chunk may take, in ms. Then it is told to stop (its signal), and has failed; a worker's computing
   * process that does not stop is ended. Default: as long as it takes.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * When no chunk waits any more, one that runs for longer than so many times the median is started a second time by a worker that has
   * nothing to do; the first result counts. Default: no chunk runs twice while its worker lives.
   */
  readonly stragglers?: number | undefined;
}

export interface ChunkDescriptor {
  readonly jobId: string;
  readonly index: number;
  readonly op: string;
  readonly codeVersion: string;
  readonly inputs: readonly BlobRef[];
  readonly params: Json;
  /** Of the data it needs, for those who plan. */
  readonly bytes: number;
}

/** A chunk as it is submitted: the job adds the rest. */
export type ChunkInput = Partial<Pick<ChunkDescriptor, 'inputs' | 'params' | 'bytes'>>;

export interface ChunkResult {
  readonly value: Json;
  readonly outputs: readonly BlobRef[];
}

export interface DeadLetter {
  readonly index: number;
  readonly chunkId: string;
  readonly error: string;
  /** 'TIMEOUT' if it took longer than the job allows, 'WORKER_LOST' if its workers died; else the code of its error, if that has one. */
  readonly code: string | null;
  readonly trace: string;
  readonly attempts: number;
  /** Which worker made the last attempt; null if nobody could tell. */
  readonly worker: string | null;
}

export type ChunkOutcome =
  | { readonly index: number; readonly ok: true; readonly result: ChunkResult }
  | { readonly index: number; readonly ok: false; readonly dead: DeadLetter };

export interface JobStatus {
  readonly id: string;
  readonly op: string;
  /** The kind of workers that it is for. */
  readonly needs: Capability;
  /** 'failed': it has ended, and some chunks are dead letters. */
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  /** Null until the last chunk was submitted. */
  readonly total: number | null;
  readonly submitted: number;
  readonly done: number;
  readonly dead: number;
  /** Chunks that were finished a second time; their results were discarded. */
  readonly duplicates: number;
  /** Attempts that failed, and were or will be repeated. */
  readonly retries: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface JobHandle {
  readonly id: string;
  status(): Promise<JobStatus>;
  /** No further chunk starts. What is committed stays. */
  cancel(): Promise<void>;
  /** Puts the dead letters back into the queue, with all attempts; tells how many. Not for a job that was cancelled: submit it again. */
  retry(): Promise<number>;
  deadLetters(): Promise<readonly DeadLetter[]>;
  /** Cancels it where it still runs, and forgets it with its results. Files that it wrote stay. */
  remove(): Promise<void>;
  /** In the order of the chunks, each as soon as it and those before it are there. Ends when the job is cancelled. */
  results(): AsyncIterable<ChunkOutcome>;
  /** Resolves when the job has ended, however it did. */
  finished(signal?: AbortSignal): Promise<JobStatus>;
}

export interface WorkerCaps {
  readonly backend: 'cuda' | 'webgpu' | 'cpu';
  readonly device: string;
  readonly freeMb: number | null;
  readonly itemsPerSecond: Readonly<Record<string, number>>;
}

export interface WorkerContext {
  readonly chunkId: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** The worker closes, the job was cancelled, or the chunk was done elsewhere. Of this chunk alone; made when it is asked for. */
  readonly signal: AbortSignal;
}

export interface WorkerHandle {
  readonly id: string;
  stats(): WorkerStats;
  /** Takes nothing new, tells what runs to stop, and waits for it: for five seconds at most. That is no failed attempt. */
  close(): Promise<void>;
}

export interface WorkerStats {
  readonly done: number;
  readonly failed: number;
  readonly duplicates: number;
}

export type ChunkHandler = (chunk: ChunkDescriptor, context: WorkerContext) => Promise<ChunkResult>;

export interface WorkerOptions {
  /** Chunks at once. Default 1. */
  readonly concurrency?: number | undefined;
}

export interface Transport {
  /**
   * Resolves when all chunks are in the queue: it waits while 10,000 of them wait. A source that fails cancels the job; one that
   * never ends, or falls silent, is left when the job is cancelled or the transport closes.
   */
  submit(job: JobDescriptor, chunks: AsyncIterable<ChunkInput> | Iterable<ChunkInput>): Promise<JobHandle>;
  worker(handler: ChunkHandler, caps: WorkerCaps, options?: WorkerOptions): Promise<WorkerHandle>;
  job(id: string): Promise<JobHandle | null>;
  jobs(): Promise<readonly JobStatus[]>;
  /** The workers that are there, on whatever machine. */
  workers(): Promise<readonly WorkerCaps[]>;
  close(): Promise<void>;
}

/** An error that another attempt would only repeat: changed data, an operation nobody knows. */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure';
}

/** What a worker cannot do and another one may: it was started without the operation, or with another version of it. */
export class NotHere extends PermanentFailure {
  override name = 'NotHere';
  readonly code: string;

  constructor(code: 'NO_OPERATION' | 'OTHER_VERSION', message: string) {
    super(message);
    this.code = code;
  }
}

/** Chunks that may wait before `submit` does. */
export const mostWaiting = 10_000;
/** A descriptor carries references, not data. */
export const mostDescriptorBytes = 64 << 10;
/** So is the value of a result short: data is written as outputs. */
export const mostValueLength = 1 << 20;
export const defaultAttempts = 3;
/** How long what runs is waited for when a worker closes: a handler may never end. */
export const closeMs = 5000;
/** How long a server may take to send data, in ms; then the attempt at the chunk has failed. */
export const answerMs = 120_000;
