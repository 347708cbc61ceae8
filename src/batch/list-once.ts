// A short list of tensors of one kind, as a single chunk: what most calls are.
//
// It is enqueued when it is called, and costs little more than the compiled groups themselves: there are no sizes to choose, no
// memory to ask about and no order to restore. What goes wrong is left to the loop of chunks (list-run.ts), which runs the list
// again in the time that is left and names the item that fails. A list that takes too long is run again in halves, once its device is
// done with it: that does things in order, and smaller pieces would only wait behind it. It has as long again for that.

import { type Runtime, Tensor, turnIfDue } from '../index.ts';
import { listOverdue } from './chunk-failures.ts';
import { endsWithin } from './ends-within.ts';
import { fusedOf, type Operands } from './fused.ts';
import { type ListCall, type ListSettings, MiB, smallBytes } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import { type BatchResult, reported } from './list-report.ts';
import { isFreeWithin, spun, told, type Until } from './until.ts';

/** A list that is enqueued. */
interface Enqueued {
  readonly made: Tensor[];
  readonly launches: number;
  /** When the device has done it; null where it has. */
  readonly until: Until | null;
  readonly start: number;
}

/** Runs a list the other way, within other limits. */
type Again<R> = (limits: Pick<Partial<ListSettings>, 'timeoutMs' | 'maxBatchSize'>) => Promise<BatchResult<R>>;

/** Null if the list is none of these; `again` runs it the other way if this fails. */
export function runAtOnce<R>(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
  again: Again<R>,
): Promise<BatchResult<R>> | null {
  const { first, uniform } = op;
  if (!uniform || call.out !== 'tensors' || call.signal || settings.device !== undefined) return null;
  if (!(first[0] instanceof Tensor) || first.length > settings.maxBatchSize) return null;
  if (first.length * op.bytesOf(0) > smallBytes) return null;
  const enqueued = enqueue(runtime, op, settings);
  return enqueued ? finished(runtime, enqueued, op, settings, call, again) : again({});
}

function enqueue(runtime: Runtime, op: ListOp, { clock, stats }: ListSettings): Enqueued | null {
  const start = clock.now();
  const fused = fusedOf(runtime);
  const before = fused.launches;
  try {
    const made = fused.run(op.item, op as Operands);
    const { device } = made[0]!;
    stats.ranOn(op.name, device);
    const until = device === null || fused.host ? null : runtime.device(device).mark(false);
    return { made, launches: fused.launches - before, until, start };
  } catch {
    return null;
  }
}

async function finished<R>(
  runtime: Runtime,
  { made, launches, until, start }: Enqueued,
  op: ListOp,
  settings: ListSettings,
  { onProgress }: ListCall,
  again: Again<R>,
): Promise<BatchResult<R>> {
  const { clock, stats, mbPerItem, timeoutMs } = settings;
  const items = made.length;
  // Asked for while it is known to be there.
  const device = made[0]!.device!;
  let inTime = true;
  // Everything but the time is written down while the device works.
  const report = {
    items,
    groups: 1,
    launches,
    device,
    moved: none,
    ms: 0,
    perItemMs: 0,
    retries: 0,
    memory: 'known' as const,
    mbPerItem:
      mbPerItem === undefined
        ? { mb: op.bytesOf(0) / MiB, source: 'planned' as const }
        : { mb: mbPerItem, source: 'declared' as const },
  };
  const result = reported<R>(made, report);
  try {
    // Whoever started several batches at once has started the others after this.
    await undefined;
    if (until && !spun(until)) inTime = await endsWithin(timeoutMs, told(until), (ms, then) => clock.after(ms, then));
  } catch {
    free(made);
    return again({ timeoutMs: Math.max(1, timeoutMs - (clock.now() - start)) });
  }
  if (!inTime) {
    free(made);
    stats.failed(op.name);
    if (items > 1 && (await isFreeWithin(runtime, device, timeoutMs, clock)))
      return again({ maxBatchSize: Math.ceil(items / 2) });
    throw listOverdue(op.name, items, device, timeoutMs);
  }
  const ms = clock.now() - start;
  report.ms = ms;
  report.perItemMs = ms / items;
  stats.done(op.name, items, ms);
  try {
    onProgress?.(items, items);
  } catch (error) {
    free(made);
    throw error;
  }
  // Loops of short batches let timers and signals have their turn too.
  const due = turnIfDue(performance.now());
  if (due) await due;
  return result;
}

const none: readonly never[] = [];

function free(made: readonly Tensor[]): void {
  for (const t of made) t.dispose();
}
