// What measurements have taught about one device: how much longer or shorter work takes than its profile says.
//
// Three levels, the finest that has samples counting most: this very program (its launches by class and quarter-octave sizes),
// its class at this size, its class. The first is the lower quartile of log(measured / predicted) over the last few samples, because what
// disturbs a run makes it longer; the others are running means that forget old ones. A slow first sample of a program is thrown
// away (something was compiled). Looking up and learning allocate nothing.

import { operationTypes } from '../../base/operations.ts';
import { type KernelClass, kernelClasses, type Operation, type WorkItem } from './types.ts';

/** Samples of a program that are kept, and those of them that tell a change. */
const recent = 8;
const latest = 3;
const alike = 0.2;
/** Samples after which a new one still counts for this share. */
const leastWeight = 1 / 16;
/** How many samples a finer level needs to count as much as the coarser one. */
const trust = [1, 4, 8] as const;
/** A program is judged by its own samples; the coarser levels never say more than this factor. */
const coarseLimit = Math.log(4);
/** With fewer samples than this, slow ones may only say so much, as a logarithm, each. */
const samplesToJudge = 4;
const surprise = 0.7;
const fullAt = 3072;
const slots = 4096;

const classIndex = Object.fromEntries(kernelClasses.map((c, i) => [c, i])) as Record<KernelClass, number>;
const opIndex = Object.fromEntries([...operationTypes, ...kernelClasses].map((o, i) => [o, i])) as Record<
  Operation,
  number
>;
/** Quarter octaves from 1 to 2^48. */
const buckets = 192;

const bucketOf = (amount: number): number =>
  amount < 1 ? 0 : Math.min(buckets - 1, Math.floor(4 * Math.log2(amount) + 0.5));

const mix = (h: number, v: number): number => {
  h = Math.imul(h ^ v, 0x85ebca6b);
  return h ^ (h >>> 15);
};

/** What a program is known by. 64 bits of hash: a collision would mix two corrections, nothing worse. */
export class Signature {
  a = 0;
  b = 0;
  /** Class and bucket of the largest launch. */
  cls = 0;
  bucket = 0;

  #a = 0;
  #b = 0;

  /** Turns the signature of a program into that of a call: the same program with its data or its result elsewhere is another. */
  call(transferUs: number, wanted: string | null): this {
    const word = bucketOf(16 * transferUs) * 4 + (wanted === null ? 0 : wanted === 'host' ? 1 : 2);
    this.a = mix(this.#a, word) | 0;
    this.b = mix(this.#b, Math.imul(word, 0x27d4eb2f)) | 1;
    return this;
  }

  set(op: Operation, work: readonly WorkItem[]): this {
    let a = 0x9e3779b9 ^ opIndex[op];
    let b = 0x7f4a7c15 ^ opIndex[op];
    let most = -1;
    for (let i = 0; i < work.length; i++) {
      const item = work[i]!;
      const bytes = bucketOf(item.bytes);
      const flops = bucketOf(item.flops);
      const cls = classIndex[item.class];
      const word = (cls << 20) ^ (flops << 10) ^ bytes ^ ((item.gathers ?? 0) << 24);
      a = mix(a, word);
      b = mix(b, Math.imul(word, 0xc2b2ae35) + i);
      if (item.bytes + item.flops > most) {
        most = item.bytes + item.flops;
        this.cls = cls;
        this.bucket = bytes;
      }
    }
    this.#a = a;
    this.#b = b;
    this.a = a | 0;
    // 0 marks a free slot.
    this.b = b | 1;
    return this;
  }
}

/** Stored form: per program the two halves of its signature, samples, mean. */
export interface SavedCorrections {
  readonly programs: readonly (readonly [a: number, b: number, samples: number, mean: number])[];
  readonly classes: readonly (readonly [index: number, samples: number, mean: number])[];
}

export class Corrections {
  readonly #a = new Int32Array(slots);
  readonly #b = new Int32Array(slots);
  /** Samples taken in. */
  readonly #count = new Float32Array(slots);
  readonly #mean = new Float32Array(slots);
  readonly #known = new Float32Array(slots);
  readonly #ring = new Float32Array(slots * recent);
  readonly #used = new Float64Array(slots);
  #filled = 0;
  #tick = 0;
  /** By class and bucket, then by class alone. */
  readonly #coarseCount = new Float32Array(kernelClasses.length * (buckets + 1));
  readonly #coarseMean = new Float32Array(kernelClasses.length * (buckets + 1));
  readonly #sorted = new Float32Array(recent);

  /** How often this program was measured. */
  samples(s: Signature): number {
    const slot = this.#find(s);
    return slot < 0 ? 0 : this.#count[slot]!;
  }

  /** Whether it has ever run here. */
  seen(s: Signature): boolean {
    return this.#find(s) >= 0;
  }

  /** It has run here, in however long a time. */
  meet(s: Signature): void {
    if (this.#find(s) < 0) this.#add(s, 0, 0);
  }

  /** The factor by which a prediction from the profile is to be multiplied. */
  factor(s: Signature): number {
    const whole = kernelClasses.length * buckets + s.cls;
    const part = s.cls * buckets + s.bucket;
    let log = blend(this.#coarseCount[whole]!, this.#coarseMean[whole]!, trust[2], 0);
    log = blend(this.#coarseCount[part]!, this.#coarseMean[part]!, trust[1], log);
    log = Math.max(-coarseLimit, Math.min(coarseLimit, log));
    const slot = this.#find(s);
    if (slot >= 0 && this.#count[slot]! > 0) log = blend(this.#count[slot]!, this.#mean[slot]!, trust[0], log);
    return Math.exp(log);
  }

  /** The log of the correction by this program's own samples, where there are few by `prior` too. */
  own(s: Signature, prior: number): number {
    const slot = this.#find(s);
    return slot < 0 ? prior : blend(this.#count[slot]!, this.#mean[slot]!, trust[0], prior);
  }

  /**
   * Learns that the profile's prediction was off by this log ratio, where `expected` was thought; `fresh` if something may have been made
   * on the way. Returns how far the program's own correction has moved since it last returned a move, if that is more than `notable`.
   */
  learn(s: Signature, log: number, expected: number, fresh: boolean, notable: number): number {
    if (!Number.isFinite(log)) return 0;
    let slot = this.#find(s);
    if (slot < 0) {
      slot = this.#add(s, 0, 0);
      if (fresh && log > expected + surprise) return 0;
    }
    this.#used[slot] = ++this.#tick;
    const n = this.#count[slot]! + 1;
    this.#count[slot] = n;
    this.#ring[slot * recent + ((n - 1) % recent)] = log;
    // A fast sample is no accident.
    const most = n < samplesToJudge ? expected + surprise * n : Number.POSITIVE_INFINITY;
    const mean = Math.min(most, this.#level(slot, n));
    this.#mean[slot] = mean;
    const plain = Math.max(mean - surprise, Math.min(mean + surprise, log));
    this.#coarse(kernelClasses.length * buckets + s.cls, plain);
    this.#coarse(s.cls * buckets + s.bucket, plain);
    const moved = Math.abs(mean - this.#known[slot]!);
    if (moved < notable) return 0;
    this.#known[slot] = mean;
    return moved;
  }

  save(): SavedCorrections {
    const programs: [number, number, number, number][] = [];
    for (let i = 0; i < slots; i++) {
      if (this.#b[i] !== 0 && this.#count[i]! > 0)
        programs.push([this.#a[i]!, this.#b[i]!, this.#count[i]!, round(this.#mean[i]!)]);
    }
    const classes: [number, number, number][] = [];
    this.#coarseCount.forEach((n, i) => {
      if (n > 0) classes.push([i, n, round(this.#coarseMean[i]!)]);
    });
    return { programs, classes };
  }

  /** Takes in what was saved, as knowledge that counts less than fresh samples. */
  load(saved: SavedCorrections): void {
    for (const [a, b, n, mean] of saved.programs) {
      if (this.#filled >= fullAt) break;
      this.#add(Object.assign(new Signature(), { a, b: b | 1 }), Math.min(4, n), mean);
    }
    for (const [i, n, mean] of saved.classes) {
      if (i < 0 || i >= this.#coarseCount.length) continue;
      this.#coarseCount[i] = Math.min(8, n / 2);
      this.#coarseMean[i] = mean;
    }
  }

  #coarse(i: number, log: number): void {
    const n = this.#coarseCount[i]!;
    this.#coarseMean[i] = this.#coarseMean[i]! + (log - this.#coarseMean[i]!) * Math.max(1 / (n + 1), leastWeight);
    this.#coarseCount[i] = n + 1;
  }

  /**
   * What the last of n samples say: the lower quartile, the second of eight. If the latest ones are all slower than all before, that is how
   * it is now: the fastest of them.
   */
  #level(slot: number, n: number): number {
    const sorted = this.#sorted;
    const kept = Math.min(recent, n);
    let now = Number.POSITIVE_INFINITY;
    let last = Number.NEGATIVE_INFINITY;
    let before = kept < latest + 2 ? now : Number.NEGATIVE_INFINITY;
    for (let i = 0; i < kept; i++) {
      const x = this.#ring[slot * recent + ((n - 1 - i) % recent)]!;
      if (i >= latest) before = Math.max(before, x);
      else {
        now = Math.min(now, x);
        last = Math.max(last, x);
      }
      let k = i;
      for (; k > 0 && sorted[k - 1]! > x; k--) sorted[k] = sorted[k - 1]!;
      sorted[k] = x;
    }
    return now > before && last < now + alike ? now : sorted[(kept - 1) >> 2]!;
  }

  #find(s: Signature): number {
    for (let i = s.a & (slots - 1); this.#b[i] !== 0; i = (i + 1) & (slots - 1))
      if (this.#a[i] === s.a && this.#b[i] === s.b) return i;
    return -1;
  }

  #add(s: Signature, count: number, mean: number): number {
    if (this.#filled >= fullAt) this.#forget();
    let i = s.a & (slots - 1);
    while (this.#b[i] !== 0) i = (i + 1) & (slots - 1);
    this.#a[i] = s.a;
    this.#b[i] = s.b;
    this.#count[i] = count;
    this.#mean[i] = mean;
    this.#known[i] = mean;
    this.#ring.fill(mean, i * recent, (i + 1) * recent);
    this.#used[i] = ++this.#tick;
    this.#filled++;
    return i;
  }

  /** Drops the half that was used longest ago. */
  #forget(): void {
    const kept: { s: Signature; count: number; mean: number; used: number }[] = [];
    for (let i = 0; i < slots; i++) {
      if (this.#b[i] === 0) continue;
      const s = Object.assign(new Signature(), { a: this.#a[i]!, b: this.#b[i]! });
      kept.push({ s, count: this.#count[i]!, mean: this.#mean[i]!, used: this.#used[i]! });
    }
    kept.sort((p, q) => p.used - q.used);
    this.#b.fill(0);
    this.#filled = 0;
    for (const { s, count, mean } of kept.slice(kept.length >> 1)) this.#add(s, count, mean);
  }
}

const blend = (n: number, mean: number, needed: number, coarser: number): number =>
  n <= 0 ? coarser : (n * mean + needed * coarser) / (n + needed);

const round = (v: number): number => Math.round(v * 1e4) / 1e4;
