// A plain echo-state reservoir of 256 units with a ridge readout, as ReservoirPy has it: to compare a field's prediction with.

import { normal, uniform } from '../../examples/field/src/cart.ts';
import { apply, ridge } from '../../src/field/linear.ts';

const units = 256;

/** Skill against persistence on held-out cycles: 1 − MSE / MSE of the last value. */
export function reservoir(at: (t: number) => Float32Array, training: number, held: number, seed: number): number {
  const random = uniform(seed + 1);
  const width = at(0).length;
  const into = Float64Array.from({ length: units * width }, () => (2 * random() - 1) * 0.5);
  // Ten links per unit; their scale keeps the spectral radius near 0.9.
  const links = Array.from({ length: units }, () =>
    Array.from({ length: 10 }, () => [Math.floor(random() * units), (0.9 * normal(random)) / Math.sqrt(10)] as const),
  );
  let state = new Float64Array(units);
  const next = (input: Float32Array): Float64Array => {
    const made = new Float64Array(units);
    for (let u = 0; u < units; u++) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += into[u * width + i]! * input[i]!;
      for (const [v, w] of links[u]!) sum += w * state[v]!;
      made[u] = 0.7 * state[u]! + 0.3 * Math.tanh(sum);
    }
    state = made;
    return Float64Array.from([...made, ...input, 1]);
  };
  const fit = ridge(units + width + 1, width, 1e-6);
  for (let t = 0; t < training; t++) {
    const features = next(at(t));
    if (t >= 50) fit.add(features, at(t + 1));
  }
  const weights = fit.weights();
  let [error, change] = [0, 0];
  for (let t = training; t < training + held; t++) {
    const said = apply(weights, next(at(t)));
    const [now, then] = [at(t), at(t + 1)];
    then.forEach((v, i) => {
      error += (v - said[i]!) ** 2;
      change += (v - now[i]!) ** 2;
    });
  }
  return 1 - error / change;
}
