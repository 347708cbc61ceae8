// The Mandelbrot set: how many rounds each point of the plane stays near the origin.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Rounds (at most `limit`) for each point of a picture [height, width]. */
export function mandelbrot(rt, { width, height, limit = 50, x = [-2, 0.5], y = [-1.2, 1.2] }) {
  const re = rt.linspace(x[0], x[1], width).unsqueeze(0);
  const im = rt.linspace(y[0], y[1], height).unsqueeze(1);
  const round = rt.compile(({ a, b, count }) => {
    const inside = a.mul(a).add(b.mul(b)).lessEqual(4);
    return {
      a: rt.where(inside, a.mul(a).sub(b.mul(b)).add(re), a),
      b: rt.where(inside, a.mul(b).mul(2).add(im), b),
      count: count.add(inside.cast('f32')),
    };
  });
  let state = { a: rt.zeros([height, width]), b: rt.zeros([height, width]), count: rt.zeros([height, width]) };
  for (let i = 0; i < limit; i++) state = round(state);
  return state.count;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const counts = await mandelbrot(rt, { width: 70, height: 28 }).array();
  for (const row of counts) console.log(row.map((n) => ' .:-=+*#%@'[Math.floor((n / 50) * 9)]).join(''));
  await rt.close();
}
