// Growth without end: what a device's live bytes did over a window, and which lines made what stayed.
//
// Reported is only a trend, never one allocation: the last third of the window holds more than 1.2 × the first and at
// least `leastBytes` more, and of five equal parts at least three of the four steps rise. A first mean of zero is fine.
// The same must hold for the least that was live in each part, by at least half as much: work that comes and goes in
// random sizes has means that wander, a leak lifts the floor. A load that has come down again is remembered by its rise: a new rise that is no longer and
// no higher is treated as part of the same sawtooth pattern. So a long ramp that ends in a release is reported at most once.
//
// Costs: at most 600 samples, sixty looks and five counts of all holders per window.

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
const samplesPerWindow = 600;
const looksPerWindow = 60;

/** Watches one device. */
export class LeakDetector {
  readonly #device: string;
  readonly #settings: LeakSettings;
  #samples: Sample[] = [];
  #censuses: Census[] = [];
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reported = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
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
    else if (newest && time - newest.time < windowMs / samplesPerWindow) return null;
    this.#saw.sample(time, bytes);
    this.#samples.push({ time, bytes });
    this.#forget(time - windowMs);
    if (time - (this.#censuses.at(-1)?.time ?? Number.NEGATIVE_INFINITY) >= windowMs / parts)
      this.#count(time, holders());
    if (time - this.#lookedAt < windowMs / looksPerWindow) return null;
    this.#lookedAt = time;
    const trend = findTrend(this.#samples, this.#settings);
    if (!trend) this.#reported = false;
    if (!trend || this.#saw.explains(time, bytes, trend.floor + this.#settings.leastBytes)) return null;
    if (this.#reported && time - this.#reportedAt < windowMs) return null;
    this.#reported = true;
    this.#reportedAt = time;
    if (this.#censuses.at(-1)!.time < time) this.#count(time, holders());
    const perMinute = slopeOf(this.#samples) * 60_000;
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
    this.#lookedAt = Number.NEGATIVE_INFINITY;
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

export interface Trend {
  /** Means of the first and the last third. */
  readonly from: number;
  readonly to: number;
  /** The least that was live in the first third. */
  readonly floor: number;
}

/** The trend of samples if it is that of a leak, else null. */
function findTrend(samples: readonly Sample[], settings: LeakSettings): Trend | null {
  if (samples.length < leastSamples) return null;
  const start = samples[0]!.time;
  const span = samples.at(-1)!.time - start;
  if (span < settings.spanMs) return null;
  // One pass for thirds and fifths.
  const cells = cut(samples, start, span, 3 * parts);
  const thirds = join(cells, 3);
  const [from, to] = [mean(thirds[0]!), mean(thirds[2]!)];
  if (!(to > leastRatio * from) || to - from < settings.leastBytes) return null;
  const floor = thirds[0]!.least;
  const lifted = thirds[2]!.least - floor;
  if (lifted < settings.leastBytes || lifted < (to - from) / 2) return null;
  const fifths = join(cells, parts);
  for (const figure of [mean, least]) if (risesOf(fifths.map(figure)) < leastRises) return null;
  return { from, to, floor };
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

interface Stretch {
  count: number;
  sum: number;
  least: number;
}

const mean = (s: Stretch): number => s.sum / s.count;
const least = (s: Stretch): number => s.least;
const empty = (): Stretch => ({ count: 0, sum: 0, least: Number.POSITIVE_INFINITY });

function cut(samples: readonly Sample[], start: number, span: number, count: number): Stretch[] {
  const cells = Array.from({ length: count }, empty);
  for (const { time, bytes } of samples) {
    const cell = cells[Math.min(count - 1, Math.floor(((time - start) / span) * count))]!;
    cell.count++;
    cell.sum += bytes;
    if (bytes < cell.least) cell.least = bytes;
  }
  return cells;
}

/** Neighbouring cells as `count` larger ones; one without a sample goes on as the one before it. */
function join(cells: readonly Stretch[], count: number): Stretch[] {
  const size = cells.length / count;
  const joined: Stretch[] = [];
  for (let i = 0; i < count; i++) {
    const all = empty();
    for (const cell of cells.slice(i * size, (i + 1) * size)) {
      all.count += cell.count;
      all.sum += cell.sum;
      all.least = Math.min(all.least, cell.least);
    }
    joined.push(all.count > 0 ? all : joined[i - 1]!);
  }
  return joined;
}

function risesOf(values: readonly number[]): number {
  let rises = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[i - 1]!) rises++;
  return rises;
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

  /** Whether growth above `floor` is one rise, and one like it has come down by itself before. */
  explains(time: number, bytes: number, floor: number): boolean {
    if (!this.#trough || this.#trough.bytes > floor) return false;
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
