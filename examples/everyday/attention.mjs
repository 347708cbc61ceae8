// Causal attention: each position looks at itself and at those before it.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Queries, keys and values [heads, n, d] → [heads, n, d]. */
export function attention(rt, q, k, v) {
  const [, n, d] = q.shape;
  const scores = q.matmul(k.swapaxes(1, 2)).div(Math.sqrt(d));
  const visible = rt.tri(n).greater(0);
  return rt.where(visible, scores, -Infinity).softmax(-1).matmul(v);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const [q, k, v] = [1, 2, 3].map((seed) => rt.random.normal([8, 128, 64], { seed }));
  const out = attention(rt, q, k, v);
  console.log(out.shape, await out.mean().data());
  await rt.close();
}
