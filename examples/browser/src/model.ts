// The model: Gray and Scott's reaction of two substances. u is fed, v eats u and decays, both diffuse.
//
// The state is one tensor [2, size, size], u before v. What the sliders change is in a second, small tensor [4, 2]: one row
// per term of the equation, one column per substance. A new value is a new tensor of the same shape, so nothing is
// compiled again.

import type { Runtime, Tensor } from 'gpuforge';

export const size = 256;

export type Field = Tensor<'f32'>;

export interface Parameters {
  readonly feed: number;
  readonly kill: number;
  readonly diffusion: number;
}

export const presets: Readonly<Record<string, Parameters>> = {
  Currents: { feed: 0.026, kill: 0.051, diffusion: 1 },
  Coral: { feed: 0.0545, kill: 0.062, diffusion: 1 },
  Cells: { feed: 0.0367, kill: 0.0649, diffusion: 1 },
  Maze: { feed: 0.029, kill: 0.057, diffusion: 1 },
  Worms: { feed: 0.046, kill: 0.063, diffusion: 0.8 },
};

/** The rows of the parameter tensor: diffusion, supply, decay, and the sign of the reaction. */
export function rowsOf({ feed, kill, diffusion }: Parameters): number[][] {
  return [
    [diffusion, diffusion / 2],
    [feed, 0],
    [feed, feed + kill],
    [-1, 1],
  ];
}

/** One step in time: nine-point Laplacian by rolls, reaction, supply and decay. One kernel. */
export function advance(state: Field, parameters: Field): Field {
  const term = (row: number): Field => parameters.slice([[row, row + 1]]).reshape([2, 1, 1]);
  const beside = [state.roll(1, 1), state.roll(-1, 1), state.roll(1, 2), state.roll(-1, 2)];
  const across = [-1, 1].flatMap((y) => [-1, 1].map((x) => state.roll([y, x], [1, 2])));
  const laplacian = sum(beside).mul(0.2).add(sum(across).mul(0.05)).sub(state);
  const [u, v] = [state.slice([[0, 1]]), state.slice([[1, 2]])];
  const reaction = u.mul(v).mul(v).mul(term(3));
  return state
    .add(laplacian.mul(term(0)))
    .add(reaction)
    .add(term(1))
    .sub(state.mul(term(2)));
}

/** Puts substance v into a disc; `brush` holds its centre and radius in cells. */
export const stirrer =
  (rt: Runtime) =>
  (state: Field, brush: Field): Field => {
    const value = (i: number): Field => brush.slice([[i, i + 1]]).reshape([1, 1, 1]);
    const offset = (axis: number, i: number): Field => rt.iota([1, size, size], axis, { dtype: 'f32' }).sub(value(i));
    const inside = offset(2, 0).square().add(offset(1, 1).square()).less(value(2).square());
    const filled = rt.tensor([0.5, 0.5], [2, 1, 1], { dtype: 'f32' });
    return rt.where(inside, filled, state) as Field;
  };

/** All u, with a few discs of v at random places. */
export function seed(random: () => number = Math.random): Float32Array {
  const state = new Float32Array(2 * size * size).fill(1, 0, size * size);
  for (let n = 0; n < 24; n++) {
    const [x, y, r] = [random() * size, random() * size, 3 + random() * 5];
    for (let j = -8; j <= 8; j++) {
      for (let i = -8; i <= 8; i++) {
        if (i * i + j * j > r * r) continue;
        const at = (Math.floor(y + j + size) % size) * size + (Math.floor(x + i + size) % size);
        state[at] = 0.5;
        state[size * size + at] = 0.5;
      }
    }
  }
  return state;
}

const sum = (fields: readonly Field[]): Field => fields.reduce((a, b) => a.add(b));
