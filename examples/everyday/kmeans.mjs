// k-means: groups points around k centres (Lloyd's method).

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** Points [n, d] → centres [k, d] and the group of each point. The first k points are the first centres. */
export function kmeans(rt, points, k, rounds = 20) {
  const nearest = (x, centres) =>
    x.unsqueeze(1).sub(centres.unsqueeze(0)).square().sum({ axis: 2 }).argmin({ axis: 1 });
  const round = rt.compile((x, centres) => {
    const groups = nearest(x, centres);
    const counts = rt.ones([x.shape[0]]).segmentSum(groups, k).unsqueeze(1);
    const means = x.segmentSum(groups, k).div(counts.maximum(1));
    return rt.where(counts.greater(0), means, centres); // a centre that lost all its points stays
  });
  let centres = points.slice([[0, k]]);
  for (let i = 0; i < rounds; i++) centres = round(points, centres);
  return { centres, groups: nearest(points, centres) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const corners = rt
    .tensor([
      [0, 0],
      [8, 0],
      [4, 7],
    ])
    .tile([1000, 1]);
  const points = corners.add(rt.random.normal([3000, 2], { seed: 1 }));
  const { centres } = kmeans(rt, points, 3);
  console.log(await centres.array());
  await rt.close();
}
