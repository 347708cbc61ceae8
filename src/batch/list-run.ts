// One operation on a list: what a chunk of it is, where it runs, and the report.
//
// The list is put in order of its groups, and chunks are cut from that: a chunk of equal items is one group. Host arrays travel as
// one array; tensors are run in compiled groups. Trying again, and another device, are the runtime's business (`rt.attempt`);
// smaller chunks are the loop's.

import {
  aborted,
  type DeviceId,
  ForgeError,
  type Maybe,
  type Runtime,
  Tensor,
  type TypedArray,
  throwIfAborted,
} from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import type { ChunkDone, ChunkWork, Sizes } from './chunk-work.ts';
import { runChunks } from './chunks.ts';
import { allOrNone, freeAll } from './free-all.ts';
import { fusedOf } from './fused.ts';
import type { ListCall, ListSettings } from './list-call.ts';
import { computeGroup, runOnHost } from './list-host.ts';
import { runAtOnce } from './list-once.ts';
import type { ArraysCall, ListOp } from './list-op.ts';
import { type ListPlan, planOf } from './list-plan.ts';
import { type BatchReport, type BatchResult, reported } from './list-report.ts';
import { groupBy, type Item, positions } from './lists.ts';
import { defaults } from './settings.ts';
import type { BatchStatistics } from './stats.ts';
import { isFreeWithin, reached } from './until.ts';

/** Runs something as part of an attempt. */
type Run = <T>(body: () => T) => T;

const outside: Run = (body) => body();

/** From this size on, operands and result of an item are not packed for WebGPU: all are on their way at once instead. */
const apartBytes = 4 << 20;

/** Not an async function: passing a promise on through one takes as long as a short batch. */
export function runList<R>(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
): Promise<BatchResult<R>> {
  throwIfAborted(call.signal, op.name);
  const again = (limits: Partial<ListSettings>): Promise<BatchResult<R>> =>
    inChunks(runtime, op, { ...settings, ...limits }, call, 1);
  return (
    runAtOnce<R>(runtime, op, settings, call, again) ??
    runOnHost<R>(runtime, op, settings, call, () => again({})) ??
    inChunks(runtime, op, settings, call, 0)
  );
}

async function inChunks<R>(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
  retries: number,
): Promise<BatchResult<R>> {
  const run = new ListRun(runtime, op, settings, call);
  const start = settings.clock.now();
  const made = run.inOrder((await runChunks(run, call)) as Item[]);
  return reported<R>(made, run.report(settings.clock.now() - start, retries));
}

class ListRun implements ChunkWork<Item> {
  readonly operation: string;
  readonly total: number;
  readonly clock: Clock;
  readonly stats: BatchStatistics;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly sizer: Sizes;
  /** Items of equal kind; null if all are. */
  readonly #groups: readonly (readonly number[])[] | null;
  /** The item at each place of the list in order of groups, and the group it is in. */
  readonly #order: readonly number[] | null;
  readonly #groupAt: Uint32Array | null;
  readonly #runtime: Runtime;
  readonly #op: ListOp;
  readonly #settings: ListSettings;
  readonly #call: ListCall;
  readonly #plan: ListPlan;
  readonly #device: DeviceId | undefined;
  readonly #host: boolean;
  /** Its memory is mapped to be read: what is packed is copied twice more on the way. */
  readonly #mapped: boolean;
  readonly #moved: BatchReport['moved'][number][] = [];
  #where: DeviceId | null = null;
  /** Where the last tensors were computed, done or not. */
  #enqueuedOn: DeviceId | null = null;
  #launches = 0;
  #retries = 0;

  constructor(runtime: Runtime, op: ListOp, settings: ListSettings, call: ListCall) {
    this.#runtime = runtime;
    this.#op = op;
    this.#settings = settings;
    this.#call = call;
    this.operation = op.name;
    this.total = op.first.length;
    this.clock = settings.clock;
    this.stats = settings.stats;
    this.timeoutMs = settings.timeoutMs;
    this.#groups = op.uniform ? null : groupBy(this.total, (i) => op.keyOf(i));
    this.#order = this.#groups?.flat() ?? null;
    this.#groupAt = this.#groups && groupsAt(this.total, this.#groups);
    this.#plan = planOf(runtime, op, settings, this.#groups);
    this.sizer = this.#plan.sizer;
    this.#device = this.#plan.device;
    this.#host = this.#device === undefined ? fusedOf(runtime).host : runtime.device(this.#device).caps.host === true;
    this.#mapped = this.#device?.startsWith('webgpu') ?? false;
    this.concurrency = settings.concurrency ?? (this.#host ? 1 : 2);
  }

  ready(): Promise<void> | null {
    const { signal } = this.#call;
    return this.#plan.pressure?.ready(signal, () => aborted(this.operation, signal)) ?? null;
  }

  scale(): number {
    return 1;
  }

  run(at: number, size: number): Maybe<ChunkDone<Item>> {
    const start = this.clock.now();
    const told = (value: Item[]): ChunkDone<Item> => ({ value, ms: this.clock.now() - start });
    // Where there is nothing but the CPU no chunk can go anywhere else, and following all its tensors takes as long as short items do.
    const anywhere = this.#settings.device === undefined && fusedOf(this.#runtime).host;
    if (this.#device !== undefined && !anywhere) {
      const done = this.#attempts(at, size, this.#device);
      return done instanceof Promise ? done.then(told) : told(done);
    }
    // Where the router places each operation, the runtime tries each again by itself.
    const made = this.#chunk(at, size, outside);
    if (made instanceof Promise) return made.then((items) => told(this.#ranOn(null, items)));
    return told(this.#ranOn(null, made));
  }

  #attempts(at: number, size: number, home: DeviceId): Maybe<Item[]> {
    const policy = {
      what: this.operation,
      attempts: this.#settings.attempts,
      backoffMs: defaults.waits,
      // Lack of room is answered with fewer items first, and with another device when there is only one left.
      fallback: size > 1 ? ('failures' as const) : true,
      signal: this.#call.signal,
      device: home,
    };
    return this.#runtime.attempt<Item[]>(policy, ({ device, run }) => {
      const made = this.#chunk(at, size, run);
      const tell = (items: Item[]): Item[] => this.#ranOn(device, items);
      return made instanceof Promise ? made.then(tell) : tell(made);
    });
  }

  #ranOn(device: DeviceId | null, items: Item[]): Item[] {
    const [first] = items;
    this.#where = device ?? (first instanceof Tensor ? first.device : null) ?? this.#where;
    if (this.#device !== undefined && device !== null && device !== this.#device) {
      const reason = this.#runtime.recovery.of(this.#device).lastError ?? 'it has no room';
      this.#moved.push({ from: this.#device, to: device, items: items.length, reason });
    }
    this.stats.ranOn(this.operation, this.#where);
    return items;
  }

  /** Results in the order of the list. */
  inOrder(made: Item[]): Item[] {
    const order = this.#order;
    if (!order) return made;
    const results = new Array<Item>(made.length);
    for (let i = 0; i < made.length; i++) results[order[i]!] = made[i]!;
    return results;
  }

  #chunk(at: number, size: number, run: Run): Maybe<Item[]> {
    const [order, groupAt] = [this.#order, this.#groupAt];
    if (!order || !groupAt) return this.#group(positions(at, size), run);
    const results: Maybe<Item[]>[] = [];
    try {
      for (let from = at; from < at + size; ) {
        let end = from + 1;
        while (end < at + size && groupAt[end] === groupAt[from]) end++;
        results.push(this.#group(order.slice(from, end), run));
        from = end;
      }
    } catch (error) {
      for (const r of results) void Promise.resolve(r).then(freeAll, () => {});
      throw error;
    }
    if (results.length === 1) return results[0]!;
    if (results.some((r) => r instanceof Promise)) return joined(results);
    return (results as Item[][]).flat();
  }

  /** Items of one kind. */
  #group(at: readonly number[], run: Run): Maybe<Item[]> {
    const { first, second } = this.#op;
    if (!(first[0] instanceof Tensor)) {
      const ran = (t: Tensor): void => {
        this.#where = t.device ?? this.#where;
      };
      // Work of the CPU may move to a GPU, which is not read at once.
      const call = { runtime: this.#runtime, host: fusedOf(this.#runtime).host, run, ran };
      const apart = this.#mapped && this.#op.bytesOf(at[0]!) >= apartBytes;
      const { parts, arrays } = apart ? this.#apart(call, at) : computeGroup(this.#op, call, at, this.#host);
      this.#launches += parts;
      if (this.#call.out === 'arrays') return arrays;
      const up = (list: readonly TypedArray[]): Tensor[] => this.#uploaded(list, at, run);
      return arrays instanceof Promise ? arrays.then(up) : up(arrays);
    }
    const tensors = run(() => this.#tensors(at, first as readonly Tensor[], second as readonly Tensor[]));
    return this.#call.out === 'arrays' ? read(tensors) : this.#settled(tensors);
  }

  /** Each by itself, and all on their way at once. */
  #apart(call: ArraysCall, at: readonly number[]): { readonly parts: number; readonly arrays: Promise<TypedArray[]> } {
    const arrays = joined(at.map((i) => this.#op.arrays(call, [i]))) as Promise<TypedArray[]>;
    return { parts: at.length, arrays };
  }

  #tensors(at: readonly number[], first: readonly Tensor[], second: readonly Tensor[] | Tensor): Tensor[] {
    const fused = fusedOf(this.#runtime);
    const before = fused.launches;
    const of = (list: readonly Tensor[]): readonly Tensor[] =>
      at.length === list.length && !this.#order ? list : at.map((i) => list[i]!);
    const made = fused.run(this.#op.item, {
      first: of(first),
      second: Array.isArray(second) ? of(second) : (second as Tensor | undefined),
    });
    this.#launches += fused.launches - before;
    return made;
  }

  /** A chunk has ended when the device has done it: only then is it known to have worked. */
  #settled(tensors: Tensor[]): Maybe<Item[]> {
    const device = tensors[0]!.device;
    // There a launch is done when it returns.
    if (device === null || this.#host) return tensors;
    this.#enqueuedOn = device;
    const failed = (error: unknown): never => {
      freeAll(tensors);
      throw error;
    };
    try {
      return reached(this.#runtime.device(device).mark(false)).then(() => tensors, failed);
    } catch (error) {
      return failed(error);
    }
  }

  #uploaded(list: readonly TypedArray[], at: readonly number[], run: Run): Tensor[] {
    return run(() => allOrNone(list, (data, i) => this.#runtime.tensor(data, this.#op.shapeOf(at[i]!)) as Tensor));
  }

  done(): Promise<void> | null {
    return null;
  }

  indexOf(at: number): number {
    return this.#order?.[at] ?? at;
  }

  /** A device does things in order: smaller chunks would wait behind the one that took too long. */
  isFree(ms: number): Promise<boolean> | null {
    const device = this.#enqueuedOn ?? this.#device;
    return device === undefined || this.#host ? null : isFreeWithin(this.#runtime, device, ms, this.clock);
  }

  /** No item is to blame for a runtime that is closed. */
  ends(error: unknown): boolean {
    return error instanceof ForgeError && error.code === 'RUNTIME_CLOSED';
  }

  retried(): void {
    this.#retries++;
  }

  free(value: Item): void {
    freeAll([value]);
  }

  /** `retries`: before there were chunks. */
  report(ms: number, retries: number): BatchReport {
    const { mbPerItem } = this.#settings;
    return {
      items: this.total,
      groups: this.#groups?.length ?? 1,
      launches: this.#launches,
      device: this.#where ?? this.#device ?? firstOf(this.#runtime),
      moved: this.#moved,
      ms,
      perItemMs: this.total === 0 ? 0 : ms / this.total,
      retries: retries + this.#retries,
      memory: this.#plan.memory,
      mbPerItem: { mb: this.#plan.itemMb, source: mbPerItem === undefined ? 'planned' : 'declared' },
    };
  }
}

/** The first device that is open, or was: one may be lost as soon as its results are read. */
function firstOf(runtime: Runtime): DeviceId {
  const all = runtime.devices();
  return (all.find((d) => d.open) ?? all[0]!).id;
}

/** The group of each place of a list in order of groups. */
function groupsAt(total: number, groups: readonly (readonly number[])[]): Uint32Array {
  const at = new Uint32Array(total);
  let from = 0;
  for (const [k, { length }] of groups.entries()) {
    at.fill(k, from, from + length);
    from += length;
  }
  return at;
}

/** All of them, or none: if one fails, what the others made is freed. */
async function joined(parts: readonly Maybe<Item[]>[]): Promise<Item[]> {
  const ended = await Promise.allSettled(parts);
  const failed = ended.find((e) => e.status === 'rejected');
  if (!failed) return ended.flatMap((e) => (e as PromiseFulfilledResult<Item[]>).value);
  for (const e of ended) if (e.status === 'fulfilled') freeAll(e.value);
  throw failed.reason;
}

async function read(tensors: readonly Tensor[]): Promise<Item[]> {
  try {
    return (await Promise.all(tensors.map((t) => t.data()))) as Item[];
  } finally {
    freeAll(tensors);
  }
}
