// How long work of some size takes: a fixed part and a part per byte, fitted to what was measured. Fitted to relative errors,
// because a short piece of work tells as much as a long one; both parts are never negative.

export interface Sample {
  readonly bytes: number;
  readonly ms: number;
}

const kept = 128;
/** Measurements between two fits: few while there are few, then a quarter of what is kept. */
const refitEvery = (count: number): number => (count < 16 ? 1 : count < 64 ? 8 : 32);

export class CostModel {
  readonly #samples: Sample[] = [];
  #at = 0;
  #fixed = 0;
  #perByte = 0;
  #spread = 0;
  #since = 0;

  get count(): number {
    return this.#samples.length;
  }

  add(bytes: number, ms: number): void {
    const sample = { bytes, ms: Math.max(ms, 1e-6) };
    if (this.#samples.length < kept) this.#samples.push(sample);
    else this.#samples[this.#at] = sample;
    this.#at = (this.#at + 1) % kept;
    if (++this.#since >= refitEvery(this.#samples.length)) this.#fit();
  }

  clear(): void {
    this.#samples.length = 0;
    this.#at = 0;
    this.#since = 0;
  }

  /** Expected ms, and the relative error that 9 of 10 measurements stayed below; null without measurements. */
  predict(bytes: number): { readonly ms: number; readonly error: number } | null {
    if (this.#samples.length === 0) return null;
    return { ms: this.#fixed + this.#perByte * bytes, error: this.#spread };
  }

  #fit(): void {
    this.#since = 0;
    const best = this.#solve(this.#samples);
    // Outliers (a pause of the collector, a first launch) bend the fit: once more without the worst tenth.
    const off = (s: Sample): number => Math.abs(best.fixed + best.perByte * s.bytes - s.ms) / s.ms;
    const trusted = [...this.#samples].sort((a, b) => off(a) - off(b)).slice(0, Math.ceil(this.#samples.length * 0.9));
    const { fixed, perByte } = this.#solve(trusted);
    this.#fixed = fixed;
    this.#perByte = perByte;
    const errors = this.#samples.map((s) => Math.abs(fixed + perByte * s.bytes - s.ms) / s.ms).sort((a, b) => a - b);
    this.#spread = errors[Math.ceil(0.9 * errors.length) - 1]!;
  }

  /** Least squares of (fixed + perByte · bytes − ms) / ms. */
  #solve(samples: readonly Sample[]): { fixed: number; perByte: number } {
    let [w, x, xx, y, xy] = [0, 0, 0, 0, 0];
    for (const { bytes, ms } of samples) {
      const weight = 1 / (ms * ms);
      w += weight;
      x += weight * bytes;
      xx += weight * bytes * bytes;
      y += weight * ms;
      xy += weight * bytes * ms;
    }
    const determinant = w * xx - x * x;
    if (determinant > 1e-9 * w * xx) {
      const perByte = (w * xy - x * y) / determinant;
      const fixed = (y - perByte * x) / w;
      if (perByte >= 0 && fixed >= 0) return { fixed, perByte };
    }
    // All of one size, or a line that would start below zero: only one of the parts.
    const proportional = xx > 0 ? xy / xx : 0;
    const constant = y / w;
    const cost = (fixed: number, perByte: number): number =>
      samples.reduce((sum, s) => sum + ((fixed + perByte * s.bytes - s.ms) / s.ms) ** 2, 0);
    return proportional > 0 && cost(0, proportional) < cost(constant, 0)
      ? { fixed: 0, perByte: proportional }
      : { fixed: constant, perByte: 0 };
  }
}
