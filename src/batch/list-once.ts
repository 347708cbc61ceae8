// A short list of tensors of one kind, as a single chunk: what most calls are.
//
// It is enqueued when it is called, and costs little more than the compiled groups themselves: there are no sizes to choose, no
// memory to ask about and no order to restore. Whatever goes wrong is left to the loop of chunks (list-run.ts), which runs the list
// again and names the item that fails.

import { type Runtime, Tensor, turnIfDue } from '../index.ts';
import { endsWithin } from './ends-within.ts';
import { fusedOf, type Operands } from './fused.ts';
import { type ListCall, type ListSettings, MiB, smallBytes } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import { type BatchResult, reported } from './list-report.ts';
import { spun, told, type Until } from './until.ts';

/** A list that is enqueued. */
interface Enqueued {
  readonly made: Tensor[];
  readonly launches: number;
  /** When the device has done it; null where it has. */
  readonly until: Until | null;
  readonly start: number;
}

/** Null if the list is none of these; `again` runs it the other way if this fails. */
export function runAtOnce<R>(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
  again: () => Promise<BatchResult<R>>,
): Promise<BatchResult<R>> | null {
  const { first, uniform } = op;
  if (!uniform || call.out !== 'tensors' || call.signal || settings.device !== undefined) return null;
  if (!(first[0] instanceof Tensor) || first.length > settings.maxBatchSize) return null;
  if (first.length * op.bytesOf(0) > smallBytes) return null;
  const enqueued = enqueue(runtime, op, settings);
  return enqueued ? finished(enqueued, op, settings, call, again) : again();
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
  { made, launches, until, start }: Enqueued,
  op: ListOp,
  settings: ListSettings,
  { onProgress }: ListCall,
  again: () => Promise<BatchResult<R>>,
): Promise<BatchResult<R>> {
  const { clock, stats, mbPerItem } = settings;
  const items = made.length;
  // Asked for while it is known to be there.
  const device = made[0]!.device!;
  try {
    // Whoever started several batches at once has started the others after this.
    await undefined;
    const after = (ms: number, then: () => void) => clock.after(ms, then);
    if (until && !spun(until) && !(await endsWithin(settings.timeoutMs, told(until), after))) throw late;
  } catch {
    for (const t of made) t.dispose();
    return again();
  }
  const ms = clock.now() - start;
  stats.done(op.name, items, ms);
  try {
    onProgress?.(items, items);
  } catch (error) {
    for (const t of made) t.dispose();
    throw error;
  }
  // Loops of short batches let timers and signals have their turn too.
  const due = turnIfDue(performance.now());
  if (due) await due;
  return reported(made, {
    items,
    groups: 1,
    launches,
    device,
    moved: none,
    ms,
    perItemMs: ms / items,
    retries: 0,
    memory: 'known',
    mbPerItem: { mb: mbPerItem ?? op.bytesOf(0) / MiB, source: mbPerItem === undefined ? 'planned' : 'declared' },
  });
}

const none: readonly never[] = [];

/** The loop of chunks says what that means. */
const late = new Error('late');
