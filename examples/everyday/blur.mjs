// Gaussian blur of an image: one pass along rows, one along columns. Outside the image there is black.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** An image [height, width] → the blurred image. */
export function blur(rt, image, sigma = 2) {
  const radius = Math.ceil(3 * sigma);
  const weights = rt
    .arange(-radius, radius + 1)
    .cast('f32')
    .div(sigma)
    .square()
    .mul(-0.5)
    .exp();
  const kernel = weights.div(weights.sum());
  const pass = (x, shape, padding) => x.conv2d(kernel.reshape(shape), { padding });
  const size = 2 * radius + 1;
  const input = image.unsqueeze(0).unsqueeze(0); // one image, one channel
  const rows = pass(input, [1, 1, 1, size], [0, radius]);
  return pass(rows, [1, 1, size, 1], [radius, 0]).reshape(image.shape);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const image = rt.random.bernoulli([24, 60], { seed: 1, p: 0.1 }).cast('f32');
  const blurred = blur(rt, image, 1.5);
  const shades = await blurred.div(blurred.max()).mul(9).cast('i32').array();
  for (const row of shades) console.log(row.map((s) => ' .:-=+*#%@'[s]).join(''));
  await rt.close();
}
