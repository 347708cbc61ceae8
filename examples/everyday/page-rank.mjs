// PageRank: how much of the time a reader who follows links at random is at each page.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Links `from[i]` → `to[i]` between `pages` pages → the rank of each page, and the rounds it took. */
export async function pageRank(rt, from, to, pages, { damping = 0.85, tolerance = 1e-6 } = {}) {
  const out = rt.ones([from.size]).segmentSum(from, pages);
  const deadEnd = out.equal(0);
  const share = out.maximum(1).reciprocal();
  const { state, rounds } = await rt.loop(
    ({ change }) => change.greater(tolerance),
    ({ rank }) => {
      const sent = rank.mul(share).gather(from, 0);
      const lost = rt.where(deadEnd, rank, 0).sum(); // readers at a page without links go anywhere
      const next = sent
        .segmentSum(to, pages)
        .add(lost.div(pages))
        .mul(damping)
        .add((1 - damping) / pages);
      return { rank: next, change: next.sub(rank).abs().sum() };
    },
    { rank: rt.full([pages], 1 / pages), change: rt.ones([]) },
    { maxRounds: 200 },
  );
  return { rank: state.rank, rounds };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const from = rt.random.integers([5000], { seed: 1, high: 1000 });
  const to = rt.random.integers([5000], { seed: 2, high: 1000 });
  const { rank, rounds } = await pageRank(rt, from, to, 1000);
  const { indices, values } = rank.topk(5);
  console.log(rounds, 'rounds; first pages', await indices.data(), 'with', await values.data());
  await rt.close();
}
