// One attempt at a chunk: what its handler makes of it, and how long that may take.

import { tooSlow } from './chunk-failures.ts';
import { endsWithin } from './ends-within.ts';
import { BatchOperationError } from './failures.ts';
import type { Stop } from './stop.ts';
import { errorOf } from './thrown.ts';
import type { ChunkDescriptor, ChunkHandler, ChunkResult, WorkerContext } from './transport.ts';

/** An attempt at a chunk, and who makes it. */
export interface AttemptAt {
  readonly chunk: ChunkDescriptor;
  readonly chunkId: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** The id of a worker. */
  readonly worker: string;
}

/** Why an attempt was told to stop: it took too long. */
export class ChunkOverdue extends BatchOperationError {
  static override readonly code: string = 'TIMEOUT';
  override name = 'ChunkOverdue';

  constructor({ chunk, chunkId, attempt, worker }: AttemptAt, ms: number) {
    super({
      message: `it took longer than ${ms} ms (timeoutMs of the job): chunk ${chunkId}, attempt ${attempt}, worker ${worker}`,
      where: chunk.op,
      fix: tooSlow,
      index: chunk.index,
      attempts: attempt,
      completed: 0,
      batch: { first: chunk.index, size: 1 },
    });
  }
}

/** The result of a handler. Whatever it throws comes out as an error: others read its message, and send it on. */
export async function handled(
  handler: ChunkHandler,
  chunk: ChunkDescriptor,
  context: WorkerContext,
): Promise<ChunkResult> {
  try {
    return await handler(chunk, context);
  } catch (error) {
    throw errorOf(error);
  }
}

/** How long a handler has to stop after it was told to. */
const stopMs = 1500;

/** The result of a handler, which is told to stop after so many ms. Its attempt has failed when it has stopped, or does not. */
export async function resultWithin(
  ms: number | undefined,
  stop: Stop,
  at: AttemptAt,
  work: Promise<ChunkResult>,
): Promise<ChunkResult> {
  if (ms === undefined || (await endsWithin(ms, work))) return work;
  const overdue = new ChunkOverdue(at, ms);
  stop.abort(overdue);
  await endsWithin(
    stopMs,
    work.catch(() => {}),
  );
  throw overdue;
}
