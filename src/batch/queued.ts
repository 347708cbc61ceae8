// A batch through a transport: one chunk for each item, results in the order of the items.

import type { ChunkOptions, Outcome } from './chunk-work.ts';
import { aborted, BatchOperationError, badArgument } from './failures.ts';
import type { BlobRef, Capability, ChunkInput, Json, Transport } from './transport.ts';

/** An operation that workers know by name. */
export interface QueuedWork<T> {
  readonly op: string;
  /** What the operation is told about an item. Default: the item. */
  readonly params?: ((item: T, index: number) => Json) | undefined;
  readonly inputs?: ((item: T, index: number) => readonly BlobRef[]) | undefined;
  readonly needs?: Capability | undefined;
  readonly codeVersion?: string | undefined;
}

export const isQueued = <T>(work: unknown): work is QueuedWork<T> =>
  typeof work === 'object' && work !== null && 'op' in work && !('module' in work);

export async function runQueued<T>(
  transport: Transport | undefined,
  attempts: number | undefined,
  items: readonly T[],
  work: QueuedWork<T>,
  { signal, onProgress, onError }: ChunkOptions,
): Promise<readonly unknown[]> {
  const where = 'executeParallel';
  if (!transport)
    throw badArgument(
      where,
      `'${work.op}' is for a transport, and there is none`,
      'Give one: createBatch(items, { transport }).',
    );
  const { op, needs, codeVersion, params = (item) => item as Json, inputs = () => [] } = work;
  const chunks = items.map((item, i): ChunkInput => ({ params: params(item, i), inputs: inputs(item, i) }));
  const job = await transport.submit({ op, needs, codeVersion, attempts }, chunks);
  const cancel = (): void => void job.cancel().catch(() => {});
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  const made: Outcome<Json>[] = [];
  try {
    for await (const outcome of job.results()) {
      if (outcome.ok) made.push({ ok: true, value: outcome.result.value });
      else if (onError === 'collect') made.push({ ok: false, error: new Error(outcome.dead.error) });
      else {
        await job.cancel();
        throw itemFailed(op, outcome.index, items.length, outcome.dead.error, outcome.dead.attempts, made);
      }
      onProgress?.(made.length, items.length);
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
  // Nobody else knows its id. A job that failed stays: `gpuforge jobs show` tells what happened.
  await job.remove();
  if (made.length < items.length) throw aborted(op, signal);
  return onError === 'collect' ? made : made.map((m) => (m as { value: Json }).value);
}

const itemFailed = (
  op: string,
  index: number,
  total: number,
  reason: string,
  attempts: number,
  made: readonly Outcome<Json>[],
): BatchOperationError =>
  new BatchOperationError({
    message: `${op}: item ${index} of ${total} failed: ${reason}`,
    where: op,
    fix: "The cause is the operation's own error. onError: 'collect' goes on with the other items.",
    index,
    attempts,
    completed: made.length,
    results: made.map((m) => (m.ok ? m.value : undefined)),
  });
