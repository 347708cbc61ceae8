// A list of tensors of one kind that is a single chunk: what most calls are.
//
// It is enqueued when it is called, and costs little more than the compiled groups themselves: there are no sizes to choose, no
// memory to ask about and no order to restore. What goes wrong is left to the loop of chunks (list-run.ts), which runs the list
// again in the time that is left and names the item that fails. A list that takes too long is run again in halves, once its device is
// done with it: that does things in order, and smaller pieces would only wait behind it. It has as long again for that.

import { type Runtime, Tensor } from '../index.ts';
import { listOverdue } from './chunk-failures.ts';
import { endsWithin } from './ends-within.ts';
import { freeAll } from './free-all.ts';
import { fusedOf, type Operands } from './fused.ts';
import { type ListCall, type ListSettings, mostAtOnce, smallBytes } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import { fitsAtOnce, takenBy } from './list-plan.ts';
import { afterTelling, type BatchReport, type BatchResult, inTurn, itemSize, reported } from './list-report.ts';
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
  if (!(first[0] instanceof Tensor) || first.length > Math.min(settings.maxBatchSize, mostAtOnce)) return null;
  // Elsewhere large lists are cut, so that one chunk computes while another travels.
  if (fusedOf(runtime).host ? !fitsAtOnce(runtime, op, settings) : first.length * op.bytesOf(0) > smallBytes)
    return null;
  const enqueued = enqueue(runtime, op, settings);
  if (!enqueued) return again({});
  // Where everything is done when it is called, no function waits for it.
  return enqueued.until
    ? later(runtime, enqueued, enqueued.until, op, settings, call, again)
    : ended<R>(enqueued, reportOf(runtime, enqueued, op, settings), op, settings, call);
}

function enqueue(runtime: Runtime, op: ListOp, { clock, stats }: ListSettings): Enqueued | null {
  const start = clock.now();
  const fused = fusedOf(runtime);
  const before = fused.launches;
  let made: Tensor[] = [];
  try {
    made = fused.run(op.item, op as Operands);
    const { device } = made[0]!;
    stats.ranOn(op.name, device);
    const until = device === null || fused.host ? null : runtime.device(device).mark(false);
    return { made, launches: fused.launches - before, until, start };
  } catch {
    freeAll(made);
    return null;
  }
}

type Report = { -readonly [K in keyof BatchReport]: BatchReport[K] };

/** Everything but the time. */
function reportOf(runtime: Runtime, { made, launches }: Enqueued, op: ListOp, { mbPerItem }: ListSettings): Report {
  return {
    items: made.length,
    groups: 1,
    launches,
    // Asked for while it is known to be there.
    device: made[0]!.device!,
    moved: none,
    ms: 0,
    perItemMs: 0,
    retries: 0,
    memory: 'known',
    mbPerItem: itemSize(mbPerItem, takenBy(runtime, op, 0)),
  };
}

async function later<R>(
  runtime: Runtime,
  enqueued: Enqueued,
  until: Until,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
  again: Again<R>,
): Promise<BatchResult<R>> {
  const { made, start } = enqueued;
  const { clock, stats, timeoutMs } = settings;
  // Written down while the device works.
  const report = reportOf(runtime, enqueued, op, settings);
  const { items, device } = report;
  let inTime = true;
  try {
    // Whoever started several batches at once has started the others after this.
    await undefined;
    if (!spun(until)) inTime = await endsWithin(timeoutMs, told(until), (ms, then) => clock.after(ms, then));
  } catch {
    freeAll(made);
    return again({ timeoutMs: Math.max(1, timeoutMs - (clock.now() - start)) });
  }
  if (!inTime) {
    freeAll(made);
    stats.failed(op.name);
    if (items > 1 && (await isFreeWithin(runtime, device, timeoutMs, clock)))
      return again({ maxBatchSize: Math.ceil(items / 2) });
    throw listOverdue(op.name, items, device, timeoutMs);
  }
  return ended<R>(enqueued, report, op, settings, call);
}

/** Counts what is done, and tells of it. */
function ended<R>(
  { made, start }: Enqueued,
  report: Report,
  op: ListOp,
  { clock, stats }: ListSettings,
  { onProgress }: ListCall,
): Promise<BatchResult<R>> {
  const { items } = report;
  const now = clock.now();
  report.ms = now - start;
  report.perItemMs = report.ms / items;
  stats.done(op.name, items, report.ms);
  const result = reported<R>(made, report);
  if (!onProgress) return inTurn(clock, now, result);
  // Calls with a signal run in chunks.
  const telling = {
    where: op.name,
    signal: undefined,
    tell: () => onProgress(items, items),
    free: () => freeAll(made),
  };
  return afterTelling(telling, clock, now, result);
}

const none: readonly never[] = [];
