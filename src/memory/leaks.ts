// Growth without end: what a device's live bytes did over a window, and which lines made what stayed.
//
// Reported is only a trend, never one allocation: the last third of the window holds more than 1.2 × the first and at
// least `leastBytes` more, and of five equal parts at least three of the four steps rise. A first mean of zero is fine.
// A load that has shown that it comes down again is known by its rise: a new rise that is no longer and no higher is
// taken for another tooth of the same saw, so long ramps that end in a release are at most reported once.
//
// Costs: one sample a half per mille of the window, one census of all holders five times a window.

import type { LeakSettings } from './options.ts';
import { type Holder, MiB } from './view.ts';

/** What one line's surviving bytes did over the window. */
export interface LeakSite {
  /** The line that made them, or '' where that was not recorded. */
  readonly site: string;
  readonly bytes: number;
  readonly count: number;
  readonly growthBytes: number;
  readonly mbPerMinute: number;
}

export interface LeakReport {
  readonly device: string;
  readonly timestamp: number;
  readonly windowMs: number;
  readonly fromMb: number;
  readonly toMb: number;
  readonly mbPerMinute: number;
  /** Until the device is full at this slope; null where its size is not known. */
  readonly minutesToFull: number | null;
  /** Growing sites, fastest first, at most five. */
  readonly sites: readonly LeakSite[];
}

interface Sample {
  readonly time: number;
  readonly bytes: number;
}

interface Census {
  readonly time: number;
  readonly bySite: ReadonlyMap<string, { readonly bytes: number; readonly count: number }>;
}

const leastSamples = 10;
const parts = 5;
const leastRises = 3;
const leastRatio = 1.2;
/** How much longer and higher than a known rise a new one may be before it counts as something else. */
const longer = 1.5;
const higher = 1.1;
const topSites = 5;

/** Watches one device. */
export class LeakDetector {
  readonly #device: string;
  readonly #settings: LeakSettings;
  #samples: Sample[] = [];
  #censuses: Census[] = [];
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reported = false;
  #saw = new Saw();

  constructor(device: string, settings: LeakSettings) {
    this.#device = device;
    this.#settings = settings;
  }

  /**
   * Takes a sample of live bytes. `holders` is asked for now and then; `room` is what is left on the device, or null.
   * Returns a report when a leak is found, and again after each further window in which it goes on.
   */
  sample(time: number, bytes: number, holders: () => Iterable<Holder>, room: number | null): LeakReport | null {
    const { windowMs } = this.#settings;
    const newest = this.#samples.at(-1);
    if (newest && time < newest.time) this.reset();
    else if (newest && time - newest.time < windowMs / 2000) return null;
    this.#saw.sample(time, bytes);
    this.#samples.push({ time, bytes });
    this.#forget(time - windowMs);
    if (time - (this.#censuses.at(-1)?.time ?? Number.NEGATIVE_INFINITY) >= windowMs / parts)
      this.#count(time, holders());
    const trend = findTrend(this.#samples, this.#settings);
    if (!trend || this.#saw.explains(time, bytes)) {
      if (!trend) this.#reported = false;
      return null;
    }
    if (this.#reported && time - this.#reportedAt < windowMs) return null;
    this.#reported = true;
    this.#reportedAt = time;
    if (this.#censuses.at(-1)!.time < time) this.#count(time, holders());
    const perMinute = trend.bytesPerMs * 60_000;
    return {
      device: this.#device,
      timestamp: time,
      windowMs: time - this.#samples[0]!.time,
      fromMb: trend.from / MiB,
      toMb: trend.to / MiB,
      mbPerMinute: perMinute / MiB,
      minutesToFull: room === null || perMinute <= 0 ? null : room / perMinute,
      sites: this.#growingSites(),
    };
  }

  reset(): void {
    this.#samples = [];
    this.#censuses = [];
    this.#reported = false;
    this.#reportedAt = Number.NEGATIVE_INFINITY;
    this.#saw = new Saw();
  }

  #forget(before: number): void {
    let gone = 0;
    while (this.#samples[gone]!.time < before) gone++;
    if (gone > 0) this.#samples.splice(0, gone);
    while (this.#censuses.length > 1 && this.#censuses[0]!.time < before) this.#censuses.shift();
  }

  #count(time: number, holders: Iterable<Holder>): void {
    const bySite = new Map<string, { bytes: number; count: number }>();
    for (const h of holders) {
      if (h.device !== this.#device) continue;
      const known = bySite.get(h.site);
      if (known) {
        known.bytes += h.bytes;
        known.count++;
      } else bySite.set(h.site, { bytes: h.bytes, count: 1 });
    }
    this.#censuses.push({ time, bySite });
  }

  #growingSites(): LeakSite[] {
    const [first, last] = [this.#censuses[0]!, this.#censuses.at(-1)!];
    const minutes = (last.time - first.time) / 60_000;
    const sites: LeakSite[] = [];
    for (const [site, { bytes, count }] of last.bySite) {
      const growthBytes = bytes - (first.bySite.get(site)?.bytes ?? 0);
      if (growthBytes <= 0) continue;
      sites.push({ site, bytes, count, growthBytes, mbPerMinute: minutes > 0 ? growthBytes / MiB / minutes : 0 });
    }
    return sites.sort((a, b) => b.growthBytes - a.growthBytes).slice(0, topSites);
  }
}

/** The trend of samples if it is that of a leak, else null. */
export function findTrend(
  samples: readonly Sample[],
  settings: LeakSettings,
): { readonly from: number; readonly to: number; readonly bytesPerMs: number } | null {
  if (samples.length < leastSamples) return null;
  const start = samples[0]!.time;
  const span = samples.at(-1)!.time - start;
  if (span < settings.spanMs) return null;
  const thirds = meansOf(samples, start, span, 3);
  const [from, to] = [thirds[0]!, thirds[2]!];
  if (!(to > leastRatio * from) || to - from < settings.leastBytes) return null;
  const means = meansOf(samples, start, span, parts);
  let rises = 0;
  for (let i = 1; i < parts; i++) if (means[i]! > means[i - 1]!) rises++;
  return rises < leastRises ? null : { from, to, bytesPerMs: slopeOf(samples) };
}

/** Least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const n = samples.length;
  const meanTime = samples.reduce((sum, s) => sum + s.time, 0) / n;
  const meanBytes = samples.reduce((sum, s) => sum + s.bytes, 0) / n;
  let products = 0;
  let squares = 0;
  for (const { time, bytes } of samples) {
    products += (time - meanTime) * (bytes - meanBytes);
    squares += (time - meanTime) ** 2;
  }
  return products / squares;
}

/** Means over equal stretches of time; a stretch without a sample goes on as the one before it. */
function meansOf(samples: readonly Sample[], start: number, span: number, count: number): number[] {
  const sums = new Array<number>(count).fill(0);
  const counts = new Array<number>(count).fill(0);
  for (const { time, bytes } of samples) {
    const i = Math.min(count - 1, Math.floor(((time - start) / span) * count));
    sums[i] = sums[i]! + bytes;
    counts[i] = counts[i]! + 1;
  }
  const means: number[] = [];
  for (let i = 0; i < count; i++) means.push(counts[i]! > 0 ? sums[i]! / counts[i]! : means[i - 1]!);
  return means;
}

/** Remembers the longest and highest rise that was followed by a release of at least half of it. */
class Saw {
  #trough: Sample | null = null;
  #peak: Sample | null = null;
  #longest = 0;
  #highest = 0;

  sample(time: number, bytes: number): void {
    if (!this.#trough || !this.#peak || bytes < this.#trough.bytes) {
      this.#release(time, bytes);
    } else if (bytes > this.#peak.bytes) {
      this.#peak = { time, bytes };
    } else if (bytes < (this.#trough.bytes + this.#peak.bytes) / 2) {
      this.#release(time, bytes);
    }
  }

  /** Whether a rise like this one has come down by itself before. */
  explains(time: number, bytes: number): boolean {
    if (!this.#trough) return false;
    return time - this.#trough.time <= longer * this.#longest && bytes <= higher * this.#highest;
  }

  #release(time: number, bytes: number): void {
    if (this.#trough && this.#peak && this.#peak.bytes > this.#trough.bytes) {
      this.#longest = Math.max(this.#longest, this.#peak.time - this.#trough.time);
      this.#highest = Math.max(this.#highest, this.#peak.bytes);
    }
    this.#trough = { time, bytes };
    this.#peak = this.#trough;
  }
}
