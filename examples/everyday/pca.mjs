// Principal components: the directions in which data varies most, by power iteration with deflation.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Data [n, d] → the first `count` components [count, d], the variance along each, and the data in these directions [n, count]. */
export function pca(rt, data, count, rounds = 200) {
  const centred = data.sub(data.mean({ axis: 0 }));
  let covariance = centred
    .transpose()
    .matmul(centred)
    .div(data.shape[0] - 1);
  const refine = rt.compile((c, v) => {
    const w = c.matmul(v);
    return w.div(w.norm());
  });
  const components = [];
  const variances = [];
  for (let i = 0; i < count; i++) {
    let v = rt.linspace(1, 2, data.shape[1]);
    for (let r = 0; r < rounds; r++) v = refine(covariance, v);
    v = v.mul(rt.where(v.sum().less(0), -1, 1)); // the sign is free: the sum of a component is not negative here
    const variance = v.dot(covariance.matmul(v));
    covariance = covariance.sub(v.outer(v).mul(variance));
    components.push(v);
    variances.push(variance);
  }
  const directions = rt.stack(components, 0);
  return {
    components: directions,
    variances: rt.stack(variances, 0),
    projected: centred.matmul(directions.transpose()),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const mixing = rt.tensor([
    [3, 1, 0],
    [0, 1, 0],
    [0, 0, 0.1],
  ]);
  const data = rt.random.normal([2000, 3], { seed: 1 }).matmul(mixing);
  const { components, variances } = pca(rt, data, 2);
  console.log(await components.array(), await variances.array());
  await rt.close();
}
