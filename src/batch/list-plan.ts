// Where a list runs and into how large chunks it is cut: by its bytes, the memory that is free, and what fitted before.

import { type DeviceId, type Runtime, Tensor } from '../index.ts';
import { Bounded } from '../profile/bounded.ts';
import { sizeClass } from '../profile/statistics.ts';
import type { Sizes } from './chunk-work.ts';
import { fusedOf } from './fused.ts';
import { type ListSettings, MiB, mostAtOnce, smallBytes } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import { isShort, Pressure, sizeFor } from './memory-size.ts';
import { ChunkSizer } from './sizer.ts';

/** Without a limit of items, a chunk has at most so many bytes: more makes nothing faster, and nothing would overlap. */
const chunkBytes = 64 * MiB;

export interface ListPlan {
  /** Undefined where the router places each operation. */
  readonly device: DeviceId | undefined;
  readonly sizer: Sizes;
  /** Null for lists that always fit: memory is not asked about. */
  readonly pressure: Pressure | null;
  /** Whether so many items are one chunk that need not wait, as memory was when the plan was made: asking again takes as long as short items do. */
  isOne(count: number): boolean;
  /** What an item takes at most. */
  readonly itemMb: number;
  readonly memory: 'known' | 'assumed';
}

/** `groups`: positions of items of equal kind; null if all are. */
export function planOf(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  groups: readonly (readonly number[])[] | null,
): ListPlan {
  const bytesOf = (index: number): number => takenBy(runtime, op, index);
  const kinds = groups?.map((g) => ({ bytes: bytesOf(g[0]!), count: g.length }));
  const sizes = kinds ?? [{ bytes: bytesOf(0), count: op.first.length }];
  const bytes = sizes.reduce((sum, s) => sum + s.bytes * s.count, 0);
  const most = sizes.reduce((largest, s) => Math.max(largest, s.bytes), 0);
  const itemMb = settings.mbPerItem ?? most / MiB;
  if (bytes <= smallBytes) {
    const sizer = new ChunkSizer({ start: Math.min(settings.maxBatchSize, mostAtOnce), grow: false });
    return { device: settings.device, sizer, pressure: null, isOne: () => true, itemMb, memory: 'known' };
  }
  const device = settings.device ?? deviceFor(runtime, op);
  const { availableMb, pressure: level } = runtime.memory.snapshot(device);
  const pressure = new Pressure(settings.clock, () => runtime.memory.snapshot(device).pressure);
  const unlimited = settings.maxBatchSize === Number.MAX_SAFE_INTEGER;
  const wanted = unlimited ? Math.max(1, Math.floor(chunkBytes / Math.max(1, most))) : settings.maxBatchSize;
  const maxBatchSize = Math.min(wanted, mostAtOnce);
  const limits = { ...settings, maxBatchSize };
  // What fitted is remembered per operation, size of items and device.
  const learned = sizersOf(runtime).of(
    `${op.name} ${sizeClass(most)} ${device}`,
    () => new ChunkSizer({ start: Number.MAX_SAFE_INTEGER, grow: false }),
  );
  const best = (left: number): number => Math.min(sizeFor(limits, left, availableMb, itemMb), learned.next(left));
  const sizer = {
    next: (left: number): number => pressure.limit(best(left)),
    failed: (size: number): void => void learned.failed(size),
  };
  const isOne = (count: number): boolean => availableMb !== null && !isShort(level) && best(count) === count;
  return { device, sizer, pressure, isOne, itemMb, memory: availableMb === null ? 'assumed' : 'known' };
}

/** What an item takes on its device: itself, its result, and the copies of both where they are stacked. */
export function takenBy(runtime: Runtime, op: ListOp, index: number): number {
  const stacked = op.first[0] instanceof Tensor && fusedOf(runtime).stacks(op.item);
  return op.bytesOf(index) + (stacked ? (op.stackedBytesOf?.(index) ?? 0) : 0);
}

/** Whether a list of one kind is a single chunk that need not wait: small ones are, for the others memory is asked. */
export function fitsAtOnce(runtime: Runtime, op: ListOp, settings: ListSettings): boolean {
  const count = op.first.length;
  if (count > mostAtOnce) return false;
  if (count * takenBy(runtime, op, 0) <= smallBytes) return true;
  // One item cannot be cut: it goes at once unless memory is short. A plan would take as long as a part of its work.
  if (count === 1) return !isShort(runtime.memory.snapshot(settings.device ?? deviceFor(runtime, op)).pressure);
  return planOf(runtime, op, settings, null).isOne(count);
}

/** Where the router would run one item of a large list. */
function deviceFor(runtime: Runtime, op: ListOp): DeviceId | undefined {
  const open = runtime.devices().filter((d) => d.open);
  if (open.length === 1) return open[0]!.id;
  const [first] = op.first;
  if (first instanceof Tensor && first.device !== null) return first.device;
  return runtime.routing.route(op.route, op.elementsOf(0)).device;
}

const sizers = new WeakMap<Runtime, Bounded<ChunkSizer>>();

function sizersOf(runtime: Runtime): Bounded<ChunkSizer> {
  let known = sizers.get(runtime);
  if (!known) sizers.set(runtime, (known = new Bounded<ChunkSizer>(256)));
  return known;
}
