// A batch through a transport: one chunk for each item, results in the order of the items. They are read while chunks are still being
// submitted, so that progress is told from the start and nobody waits behind a full queue.

import { promiseOf } from '../base/callbacks.ts';
import { Aborted, aborted } from '../index.ts';
import { ChunkOverdue } from './chunk-attempt.ts';
import { ownError, tooSlow } from './chunk-failures.ts';
import type { ChunkOptions, Outcome } from './chunk-work.ts';
import { BatchOperationError, badArgument } from './failures.ts';
import { firstLineOf } from './thrown.ts';
import type { BlobRef, Capability, ChunkInput, DeadLetter, JobHandle, Json, Transport } from './transport.ts';

/** An operation that workers know by name. */
export interface QueuedWork<T> {
  readonly op: string;
  /** What the operation is told about an item. Default: the item. */
  readonly params?: ((item: T, index: number) => Json) | undefined;
  readonly inputs?: ((item: T, index: number) => readonly BlobRef[]) | undefined;
  readonly needs?: Capability | undefined;
  readonly codeVersion?: string | undefined;
}

/** What a processor says about its batches. */
export interface QueueSettings {
  readonly transport?: Transport | undefined;
  readonly attempts?: number | undefined;
  /** Of one attempt at an item. */
  readonly timeoutMs?: number | undefined;
}

export const isQueued = <T>(work: unknown): work is QueuedWork<T> =>
  typeof work === 'object' && work !== null && 'op' in work && !('module' in work);

export async function runQueued<T>(
  settings: QueueSettings,
  items: readonly T[],
  work: QueuedWork<T>,
  options: ChunkOptions,
): Promise<readonly unknown[]> {
  const { transport, attempts, timeoutMs } = settings;
  const { op, needs, codeVersion } = work;
  if (!transport)
    throw badArgument(
      'executeParallel',
      `'${op}' is for a transport, and there is none`,
      'Give one: createBatch(items, { transport }).',
    );
  const id = crypto.randomUUID();
  let begun = (): void => {};
  const first = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const limit = timeoutMs === Number.POSITIVE_INFINITY ? undefined : timeoutMs;
  const submitting = transport.submit(
    { id, op, needs, codeVersion, attempts, timeoutMs: limit },
    chunksOf(items, work, begun),
  );
  // The job is there when its first chunk is asked for.
  await Promise.race([first, submitting]);
  const job = (await transport.job(id)) ?? (await submitting);
  submitting.catch(() => {});
  const { signal } = options;
  const cancel = (): void => void job.cancel().catch(() => {});
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    const made = await collected(job, op, items.length, options);
    await submitting;
    if (made.length < items.length) throw signal?.aborted ? aborted(op, signal) : cancelledElsewhere(op);
    await job.remove();
    return options.onError === 'collect' ? made : made.map((m) => (m as { value: Json }).value);
  } catch (error) {
    await job.cancel();
    await submitting.catch(() => {});
    // Nobody else knows its id. One with dead letters stays: `gpuforge jobs show` tells what happened.
    if (!(error instanceof BatchOperationError) || error.attempts === 0) await job.remove();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

function* chunksOf<T>(items: readonly T[], work: QueuedWork<T>, begun: () => void): Generator<ChunkInput, void> {
  begun();
  const { op, params = (item) => item as Json, inputs = () => [] } = work;
  for (const [i, item] of items.entries()) {
    let chunk: ChunkInput;
    try {
      chunk = { params: params(item, i), inputs: inputs(item, i) };
    } catch (cause) {
      throw new BatchOperationError({
        message: `${op}: item ${i} of ${items.length} failed: its params or inputs: ${firstLineOf(cause)}`,
        where: op,
        fix: ownError,
        index: i,
        attempts: 0,
        completed: 0,
        cause,
      });
    }
    yield chunk;
  }
}

async function collected(
  job: JobHandle,
  op: string,
  total: number,
  { onProgress, onError }: ChunkOptions,
): Promise<Outcome<Json>[]> {
  const made: Outcome<Json>[] = [];
  for await (const outcome of job.results()) {
    if (outcome.ok) made.push({ ok: true, value: outcome.result.value });
    else {
      const { dead } = outcome;
      if (onError !== 'collect') throw died(op, total, dead, made);
      made.push({ ok: false, error: died(op, total, dead, []) });
    }
    await promiseOf(onProgress?.(made.length, total));
  }
  return made;
}

const cancelledElsewhere = (op: string): Aborted =>
  new Aborted({
    message: `${op}: the job was cancelled by somebody else`,
    where: op,
    fix: 'Run it again when it is wanted.',
  });

/** What helps, by the code of a dead letter. */
const fixes: ReadonlyMap<string, string> = new Map([
  [ChunkOverdue.code, tooSlow],
  ['NO_OPERATION', 'Start a worker whose module exports it: gpuforge worker --ops, or handlerOf({ ops }).'],
  ['OTHER_VERSION', 'Start a worker with that version of the code, or leave codeVersion out.'],
  ['WORKER_LOST', 'See why its workers died: what the chunk does may end a process, such as taking all of its memory.'],
]);

/** An item whose chunk is a dead letter: that is the cause. */
function died(op: string, total: number, dead: DeadLetter, made: readonly Outcome<Json>[]): BatchOperationError {
  const { index, error, attempts, code } = dead;
  const overdue = code === ChunkOverdue.code;
  const fix = fixes.get(code ?? '') ?? ownError;
  return new BatchOperationError({
    code: overdue ? code : undefined,
    message: `${op}: item ${index} of ${total} failed: ${error.split('\n')[0]}`,
    where: op,
    fix,
    index,
    attempts,
    completed: made.filter((m) => m.ok).length,
    batch: { first: index, size: 1 },
    results: made.map((m) => (m.ok ? m.value : undefined)),
    cause: dead,
  });
}
