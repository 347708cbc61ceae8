// N bodies that attract each other, moved by the leapfrog method. Close encounters are softened.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

const soft = 0.01;

/** The acceleration of each body: positions [n, 3], masses [n]. */
function acceleration(positions, masses) {
  const between = positions.unsqueeze(0).sub(positions.unsqueeze(1)); // [i, j]: from i to j
  const weight = between.square().sum({ axis: 2 }).add(soft).pow(-1.5).mul(masses);
  return between.mul(weight.unsqueeze(2)).sum({ axis: 1 });
}

/** Positions and velocities [n, 3] after some steps. */
export function simulate(rt, { positions, velocities, masses }, steps, dt = 0.01) {
  const step = rt.compile((p, v, m) => {
    const half = v.add(acceleration(p, m).mul(dt / 2));
    const moved = p.add(half.mul(dt));
    return { p: moved, v: half.add(acceleration(moved, m).mul(dt / 2)) };
  });
  let state = { p: positions, v: velocities };
  for (let i = 0; i < steps; i++) state = step(state.p, state.v, masses);
  return { positions: state.p, velocities: state.v };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const start = {
    positions: rt.random.normal([256, 3], { seed: 1 }),
    velocities: rt.random.normal([256, 3], { seed: 2, std: 0.1 }),
    masses: rt.full([256], 1 / 256),
  };
  const { positions } = simulate(rt, start, 100);
  console.log('spread:', await positions.std({ axis: 0 }).data());
  await rt.close();
}
