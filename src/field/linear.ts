// Linear readouts, fitted on the host in doubles: ridge regression in closed form, and recursive least squares.

/** A matrix [outputs, inputs], row by row. */
export interface Weights {
  readonly inputs: number;
  readonly outputs: number;
  readonly values: Float64Array;
}

export function apply({ inputs, outputs, values }: Weights, x: ArrayLike<number>): Float64Array {
  const y = new Float64Array(outputs);
  for (let o = 0; o < outputs; o++) {
    let sum = 0;
    for (let i = 0; i < inputs; i++) sum += values[o * inputs + i]! * x[i]!;
    y[o] = sum;
  }
  return y;
}

export interface Fit {
  add(x: ArrayLike<number>, y: ArrayLike<number>): void;
  weights(): Weights;
}

/** (XᵀX + λ·n·I) W = XᵀY, solved by Cholesky's factors. */
export function ridge(inputs: number, outputs: number, lambda: number): Fit {
  const square = new Float64Array(inputs * inputs);
  const cross = new Float64Array(inputs * outputs);
  let samples = 0;
  return {
    add(x, y) {
      samples++;
      for (let i = 0; i < inputs; i++) {
        const v = x[i]!;
        if (v === 0) continue;
        for (let j = 0; j <= i; j++) square[i * inputs + j]! += v * x[j]!;
        for (let o = 0; o < outputs; o++) cross[i * outputs + o]! += v * y[o]!;
      }
    },
    weights() {
      const factor = cholesky(square, inputs, lambda * Math.max(1, samples));
      const values = new Float64Array(inputs * outputs);
      for (let o = 0; o < outputs; o++) {
        const column = Float64Array.from({ length: inputs }, (_, i) => cross[i * outputs + o]!);
        values.set(solve(factor, column, inputs), o * inputs);
      }
      return { inputs, outputs, values };
    },
  };
}

/** The lower factor of a matrix given by its lower half, with `shift` added to the diagonal. */
function cholesky(a: Float64Array, n: number, shift: number): Float64Array {
  const l = Float64Array.from(a);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = l[i * n + j]! + (i === j ? shift : 0);
      for (let k = 0; k < j; k++) sum -= l[i * n + k]! * l[j * n + k]!;
      l[i * n + j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / l[j * n + j]!;
    }
  }
  return l;
}

function solve(l: Float64Array, b: Float64Array, n: number): Float64Array {
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) b[i]! -= l[i * n + k]! * b[k]!;
    b[i]! /= l[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) b[i]! -= l[k * n + i]! * b[k]!;
    b[i]! /= l[i * n + i]!;
  }
  return b;
}

/** How sure of nothing recursive least squares begins: P = 100·I. */
const startVariance = 100;
/**
 * And how unsure it may become. Directions that the records never take grow by 1 / forget with each of them; without a limit they end as
 * infinity, and the weights as no numbers.
 */
const mostVariance = 1e4 * startVariance;

/** Recursive least squares with a forgetting factor; `from` goes on with weights that are there. */
export function recursive(inputs: number, outputs: number, forget: number, from?: Weights): Fit {
  const values = from ? Float64Array.from(from.values) : new Float64Array(inputs * outputs);
  const p = new Float64Array(inputs * inputs);
  for (let i = 0; i < inputs; i++) p[i * inputs + i] = startVariance;
  const px = new Float64Array(inputs);
  let widest = startVariance;
  return {
    add(x, y) {
      const fade = widest < mostVariance ? forget : 1;
      let denominator = fade;
      for (let i = 0; i < inputs; i++) {
        let sum = 0;
        for (let j = 0; j < inputs; j++) sum += p[i * inputs + j]! * x[j]!;
        px[i] = sum;
        denominator += sum * x[i]!;
      }
      for (let o = 0; o < outputs; o++) {
        let error = y[o]!;
        for (let i = 0; i < inputs; i++) error -= values[o * inputs + i]! * x[i]!;
        for (let i = 0; i < inputs; i++) values[o * inputs + i]! += (error * px[i]!) / denominator;
      }
      widest = 0;
      for (let i = 0; i < inputs; i++) {
        for (let j = 0; j <= i; j++) {
          const v = (p[i * inputs + j]! - (px[i]! * px[j]!) / denominator) / fade;
          p[i * inputs + j] = v;
          p[j * inputs + i] = v;
        }
        widest = Math.max(widest, p[i * inputs + i]!);
      }
    },
    weights: () => ({ inputs, outputs, values: Float64Array.from(values) }),
  };
}
