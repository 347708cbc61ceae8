// The sizes of a processor's batches: from its settings, from memory, and from what was measured on the device.

import { DeviceUnavailable, type Runtime, Tensor } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { sizeClass } from '../profile/statistics.ts';
import { CurveStore, curveFolder, measureCurve, type SizeCurve } from './curve.ts';
import { badOption } from './failures.ts';
import type { ListOp } from './list-op.ts';
import type { BatchReport } from './list-report.ts';
import { assumedMb, sizeFor } from './memory-size.ts';
import { type BatchSettings, defaults } from './settings.ts';

/** How the last size came about. */
export interface SizeFacts {
  /** Items of a batch at most. */
  readonly size: number | null;
  /** What an item was taken to need. */
  readonly mbPerItem: BatchReport['mbPerItem'] | null;
  /** Whether the device told how much memory there is. */
  readonly memory: 'known' | 'assumed' | null;
}

/** Sizes are remembered for an operation on items of about as many bytes: what is best for short ones is not for long ones. */
export const sizedOperation = (op: Pick<ListOp, 'name' | 'bytesOf'>): string =>
  `${op.name} ${sizeClass(op.bytesOf(0))}`;

/** What a function of the settings said; throws unless it is a size. */
function declared(mb: unknown): number {
  if (typeof mb === 'number' && mb > 0 && mb < Number.POSITIVE_INFINITY) return mb;
  throw badOption('BatchProcessor', "mbPerItem's result", mb, 'a function that returns a number of MB above 0');
}

/** What an item of unknown kind is taken to need. */
const unknownMb = 10;
const MiB = 2 ** 20;

export class ProcessorSizes<T> {
  readonly #items: readonly T[];
  readonly #settings: BatchSettings<T>;
  /** The best size of each operation, as far as it is known. */
  readonly #best = new Map<string, number>();
  #measuredMb: number | null = null;
  last: SizeFacts = { size: null, mbPerItem: null, memory: null };

  constructor(items: readonly T[], settings: BatchSettings<T>) {
    this.#items = items;
    this.#settings = settings;
  }

  /** The limits of batches of an operation. */
  limits(operation: string): {
    readonly maxBatchSize: number;
    readonly minBatchSize: number;
    readonly safetyMargin: number;
  } {
    const s = this.#settings;
    const best = this.#best.get(operation) ?? Number.MAX_SAFE_INTEGER;
    const maxBatchSize = Math.min(s.maxBatchSize ?? defaults.maxBatchSize, best);
    const minBatchSize = Math.min(s.minBatchSize ?? defaults.minBatchSize, maxBatchSize);
    return { maxBatchSize, minBatchSize, safetyMargin: s.safetyMargin ?? defaults.safetyMargin };
  }

  /** The size of the next batch of items, of those from `at` on. */
  next(left: number, at: number, runtime: Runtime | null, operation: string): number {
    const available = runtime?.memory.snapshot(this.#settings.device).availableMb ?? null;
    const availableMb = available ?? assumedMb;
    const limits = this.limits(operation);
    const own = this.#fitting(at, Math.min(left, limits.maxBatchSize), (1 - limits.safetyMargin) * availableMb);
    const mbPerItem = own?.mbPerItem ?? this.#itemMb();
    const size = own
      ? Math.min(left, Math.max(limits.minBatchSize, own.count))
      : sizeFor(limits, left, availableMb, mbPerItem.mb);
    this.last = { size, mbPerItem, memory: available === null ? 'assumed' : 'known' };
    return size;
  }

  /** A batch of this size did not fit. */
  failed(operation: string, size: number): void {
    this.#best.set(operation, Math.max(1, Math.floor(size / 2)));
  }

  /** A batch of so many items took so much more memory. */
  took(mb: number, items: number): void {
    if (mb > 0) this.#measuredMb = Math.max(this.#measuredMb ?? 0, mb / items);
  }

  /** The best size that was measured on this device, by whichever process. */
  async remember(rt: Runtime, operation: string): Promise<void> {
    const device = this.#device(rt);
    // Where every device is lost, the operation itself tells that.
    if (this.#best.has(operation) || device === null) return;
    const store = new CurveStore(await curveFolder());
    const known = await store.get(keyOf(rt, device, operation), this.#most());
    this.#best.set(operation, known?.best ?? Number.MAX_SAFE_INTEGER);
  }

  /** Measures sizes, unless they are known. */
  async measure(
    rt: Runtime,
    clock: Clock,
    operation: string,
    fresh: boolean,
    run: (size: number) => Promise<void>,
  ): Promise<SizeCurve> {
    const device = this.#device(rt);
    if (device === null) throw nowhere(rt);
    const store = new CurveStore(await curveFolder());
    const key = keyOf(rt, device, operation);
    const known = fresh ? null : await store.get(key, this.#most());
    const curve = known ?? (await measureCurve(clock, device, this.#most(), run));
    this.#best.set(operation, curve.best);
    if (!known) await store.set(key, curve);
    return curve;
  }

  /** How many of the next items, at most so many, have room together, and their mean; null unless a function tells what each takes. */
  #fitting(at: number, most: number, roomMb: number): { count: number; mbPerItem: BatchReport['mbPerItem'] } | null {
    const { mbPerItem: mbOf } = this.#settings;
    if (typeof mbOf !== 'function') return null;
    let [count, sum] = [0, 0];
    while (count < most) {
      const mb = declared(mbOf(this.#items[at + count] as T));
      if (count > 0 && sum + mb > roomMb) break;
      sum += mb;
      count++;
    }
    return { count, mbPerItem: { mb: sum / count, source: 'declared' } };
  }

  #itemMb(): BatchReport['mbPerItem'] {
    const { mbPerItem } = this.#settings;
    const [first] = this.#items;
    if (typeof mbPerItem === 'number') return { mb: mbPerItem, source: 'declared' };
    if (first instanceof Tensor) return { mb: (2 * first.nbytes) / MiB, source: 'planned' };
    if (this.#measuredMb !== null) return { mb: this.#measuredMb, source: 'measured' };
    return { mb: unknownMb, source: 'default' };
  }

  #most(): number {
    return this.#settings.maxBatchSize ?? defaults.maxBatchSize;
  }

  /** Null if every device is lost. */
  #device(rt: Runtime): string | null {
    return this.#settings.device ?? rt.devices().find((d) => d.open)?.id ?? null;
  }
}

/** What the best size of an operation is remembered under. */
const keyOf = (rt: Runtime, device: string, operation: string): string =>
  `${rt.device(device).caps.name} ${device} ${operation}`;

const nowhere = (rt: Runtime): DeviceUnavailable =>
  new DeviceUnavailable({
    message: 'optimalBatchSize: no device is open to measure on',
    where: 'optimalBatchSize',
    device: rt.devices()[0]?.id ?? 'none',
    fix: 'rt.devices() tells why. Open a runtime anew: createRuntime().',
  });
