// Finds what changed in the metrics of a running program: a step in latency, memory that grows, a rising rate of errors, a
// falling hit rate. Medians and counts against a baseline of the recent past, with limits so wide that steady but noisy
// loads stay silent; after an alarm the new level becomes the baseline, so one change is told once.

import type { LeakReport } from '../index.ts';
import { Bounded } from './bounded.ts';
import { median } from './statistics.ts';

export type AnomalyKind = 'latency' | 'memory' | 'errors' | 'hit-rate';

export interface Anomaly {
  readonly kind: AnomalyKind;
  /** The series it was found in. */
  readonly series: string;
  readonly value: number;
  readonly baseline: number;
  readonly message: string;
}

const baselineCount = 120;
const leastBaseline = 30;
const recentCount = 12;
/** Values between two looks: usually, and at least. */
const lookEvery = 32;
const lookSoon = 6;

/** A step to at least 1.3 times the usual, and far outside of the usual spread. */
const stepFactor = 1.3;
const stepDeviations = 8;

/** A step in a series of measurements, by the medians of the newest values and of those before. */
export class StepDetector {
  readonly #series: string;
  readonly #values: number[] = [];
  /** The usual value when it was last looked at. */
  #usual = 0;
  #since = 0;

  constructor(series: string) {
    this.#series = series;
  }

  add(value: number): Anomaly | null {
    const all = this.#values;
    all.push(value);
    if (all.length > baselineCount + recentCount) all.shift();
    if (all.length < leastBaseline + recentCount || !this.#due()) return null;
    const before = all.slice(0, all.length - recentCount);
    const recent = median(all.slice(-recentCount));
    const usual = median(before);
    this.#usual = usual;
    // Scaled to the standard deviation of normal noise, then to that of a median of the newest values.
    const noise = (1.4826 * median(before.map((v) => Math.abs(v - usual))) * 1.2533) / Math.sqrt(recentCount);
    if (recent < stepFactor * usual || recent - usual < stepDeviations * noise) return null;
    all.splice(0, all.length - recentCount);
    const times = usual > 0 ? `${(recent / usual).toFixed(1)} times` : 'from nothing to';
    return {
      kind: 'latency',
      series: this.#series,
      value: recent,
      baseline: usual,
      message: `${this.#series}: ${times} the usual time (${recent.toFixed(3)} ms against ${usual.toFixed(3)} ms)`,
    };
  }

  /** Sorting costs more than most of what is measured: now and then, and sooner if half of the newest are suspicious. */
  #due(): boolean {
    if (++this.#since < lookSoon) return false;
    const all = this.#values;
    const limit = stepFactor * this.#usual;
    let suspicious = 0;
    for (let i = all.length - recentCount; i < all.length; i++) if (all[i]! >= limit) suspicious++;
    if (this.#since < lookEvery && suspicious < recentCount / 2) return false;
    this.#since = 0;
    return true;
  }
}

/** Memory that rises and rises, as the runtime found it: it knows how much there is and who holds it. */
function growthOf({ device, fromMb, toMb, mbPerMinute, sites }: LeakReport): Anomaly {
  const site = sites[0]?.site ? `, most of it made at ${sites[0].site}` : '';
  return {
    kind: 'memory',
    series: device,
    value: toMb * 2 ** 20,
    baseline: fromMb * 2 ** 20,
    message: `memory of ${device} grows by ${mbPerMinute.toFixed(2)} MB a minute: from ${fromMb.toFixed(1)} MB to ${toMb.toFixed(1)} MB${site}`,
  };
}

interface RateLimits {
  readonly kind: 'errors' | 'hit-rate';
  /** Which way is bad. */
  readonly rises: boolean;
  readonly least: number;
  readonly text: string;
}

const rates: Readonly<Record<'errors' | 'hit-rate', RateLimits>> = {
  errors: { kind: 'errors', rises: true, least: 0.05, text: 'of the operations fail' },
  'hit-rate': { kind: 'hit-rate', rises: false, least: 0.1, text: 'of the requests are hits' },
};
const rateRecent = 40;
const rateBaseline = 400;
const leastRateBaseline = 100;
const rateDeviations = 5;
const lookRatesEvery = 8;

/** A share of yes among yes and no that has changed: the newest outcomes against those before. */
export class RateDetector {
  readonly #limits: RateLimits;
  readonly #outcomes: boolean[] = [];
  #since = 0;

  constructor(kind: 'errors' | 'hit-rate') {
    this.#limits = rates[kind];
  }

  add(outcome: boolean): Anomaly | null {
    const all = this.#outcomes;
    all.push(outcome);
    if (all.length > rateRecent + rateBaseline) all.shift();
    if (all.length < rateRecent + leastRateBaseline || ++this.#since < lookRatesEvery) return null;
    this.#since = 0;
    const share = (list: readonly boolean[]): number => list.filter(Boolean).length / list.length;
    const before = all.slice(0, all.length - rateRecent);
    const [recent, usual] = [share(all.slice(-rateRecent)), share(before)];
    const { kind, rises, least, text } = this.#limits;
    const change = rises ? recent - usual : usual - recent;
    // Laplace's estimate: a baseline without a single failure does not prove that there are none.
    const p = (usual * before.length + 1) / (before.length + 2);
    const noise = Math.sqrt(p * (1 - p) * (1 / rateRecent + 1 / before.length));
    if (change < least || change < rateDeviations * noise) return null;
    all.splice(0, all.length - rateRecent);
    const percent = (v: number): string => `${(100 * v).toFixed(0)} %`;
    return {
      kind,
      series: kind,
      value: recent,
      baseline: usual,
      message: `${percent(recent)} ${text}, usually ${percent(usual)}`,
    };
  }
}

/** All of them together. */
export class AnomalyDetector {
  readonly #found: (anomaly: Anomaly) => void;
  readonly #latency = new Bounded<StepDetector>(256);
  readonly #errors = new RateDetector('errors');
  readonly #hits = new RateDetector('hit-rate');

  constructor(found: (anomaly: Anomaly) => void) {
    this.#found = found;
  }

  latency(series: string, ms: number): void {
    this.#tell(this.#latency.of(series, () => new StepDetector(series)).add(ms));
  }

  memory(growth: LeakReport): void {
    this.#tell(growthOf(growth));
  }

  outcome(failed: boolean): void {
    this.#tell(this.#errors.add(failed));
  }

  request(hit: boolean): void {
    this.#tell(this.#hits.add(hit));
  }

  #tell(anomaly: Anomaly | null): void {
    if (anomaly) this.#found(anomaly);
  }
}
