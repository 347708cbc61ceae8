// The heat equation on a plate whose border keeps its temperature.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Temperatures [height, width] after some steps; `rate` is the conductivity times the time step, at most 0.25. */
export function heat(rt, plate, steps, rate = 0.2) {
  const step = rt.compile((u) => {
    const inner = u.slice([
      [1, -1],
      [1, -1],
    ]);
    const above = u.slice([
      [0, -2],
      [1, -1],
    ]);
    const below = u.slice([
      [2, null],
      [1, -1],
    ]);
    const left = u.slice([
      [1, -1],
      [0, -2],
    ]);
    const right = u.slice([
      [1, -1],
      [2, null],
    ]);
    const flow = above.add(below).add(left).add(right).sub(inner.mul(4));
    return u.add(
      flow.mul(rate).pad([
        [1, 1],
        [1, 1],
      ]),
    );
  });
  for (let i = 0; i < steps; i++) plate = step(plate);
  return plate;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const hot = rt.ones([1, 60]).mul(100);
  const plate = await heat(rt, rt.concat([hot, rt.zeros([23, 60])], 0), 400).array();
  for (const row of plate) console.log(row.map((t) => ' .:-=+*#%@'[Math.floor(t * 0.0999)]).join(''));
  await rt.close();
}
