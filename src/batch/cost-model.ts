// How long work of some size takes: a fixed part and a part per byte, fitted to what was measured. Fitted to relative errors,
// because a short piece of work tells as much as a long one; both parts are never negative. Adding costs next to nothing: the
// fit is made when somebody asks.

export interface Sample {
  readonly bytes: number;
  readonly ms: number;
}

interface Line {
  readonly fixed: number;
  readonly perByte: number;
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
    this.#since++;
  }

  /** Expected ms, and the relative error that 9 of 10 measurements stayed below; null without measurements. */
  predict(bytes: number): { readonly ms: number; readonly error: number } | null {
    if (this.#samples.length === 0) return null;
    if (this.#since >= refitEvery(this.#samples.length)) this.#fit();
    return { ms: this.#fixed + this.#perByte * bytes, error: this.#spread };
  }

  #fit(): void {
    this.#since = 0;
    const all = this.#samples;
    // Outliers (a pause of the collector, a first launch) bend the fit: once more without the worst tenth.
    const first = errorsOf(all, this.#solve(all));
    const limit = ninth(first);
    const { fixed, perByte } = this.#solve(all.filter((_, i) => first[i]! <= limit));
    this.#fixed = fixed;
    this.#perByte = perByte;
    this.#spread = ninth(errorsOf(all, { fixed, perByte }));
  }

  /** Least squares of (fixed + perByte · bytes − ms) / ms. */
  #solve(samples: readonly Sample[]): Line {
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

/** How far each sample is off, relative to itself. */
function errorsOf(samples: readonly Sample[], { fixed, perByte }: Line): Float64Array {
  const errors = new Float64Array(samples.length);
  samples.forEach(({ bytes, ms }, i) => {
    errors[i] = Math.abs(fixed + perByte * bytes - ms) / ms;
  });
  return errors;
}

/** What nine of ten values do not exceed. */
const ninth = (values: Float64Array): number => values.slice().sort()[Math.ceil(0.9 * values.length) - 1]!;
