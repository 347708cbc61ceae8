// Logistic regression: fits the probability of a class by gradient descent.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Features [n, d] and labels [n] of 0 and 1 → weights [d], bias, and the mean loss after the last step. */
export function fitLogistic(rt, features, labels, { steps = 200, rate = 0.5 } = {}) {
  const n = features.shape[0];
  const step = rt.compile((x, y, { weights, bias }) => {
    const error = x.matmul(weights).add(bias).sigmoid().sub(y);
    return {
      weights: weights.sub(
        x
          .transpose()
          .matmul(error)
          .mul(rate / n),
      ),
      bias: bias.sub(error.mean().mul(rate)),
    };
  });
  let model = { weights: rt.zeros([features.shape[1]]), bias: rt.zeros([]) };
  for (let i = 0; i < steps; i++) model = step(features, labels, model);
  // -log p of the right class, written so that no probability can round to 0.
  const z = features.matmul(model.weights).add(model.bias);
  const loss = z.abs().neg().exp().log1p().add(z.relu()).sub(z.mul(labels)).mean();
  return { ...model, loss };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const features = rt.random.normal([1000, 2], { seed: 1 });
  const labels = features
    .matmul(rt.tensor([2, -1]))
    .greater(0.5)
    .cast('f32');
  const { weights, bias, loss } = fitLogistic(rt, features, labels);
  console.log(await weights.data(), await bias.data(), await loss.data());
  await rt.close();
}
