// Measures the rows of works.mjs: libraries in turn, several rounds, every result checked.

import { disagreement } from './data.mjs';
import { summary } from './stats.mjs';
import { js } from './works.mjs';

/** What a work takes on each library: { library: { median, low, high, samples } | { unsupported } | { error } }. */
export async function measureWork(work, peers, { rounds, seconds, onStep }) {
  const ours = work.ours ?? 'gpuforge';
  const name = work.peersAs ?? work.name;
  const taking = [...peers.keys()].filter(
    (p) => p === ours || (!p.startsWith('gpuforge') && (!work.only || work.only.includes(p))),
  );
  const results = {};
  const digests = {};
  const live = [];
  for (const p of taking) {
    onStep(`${work.title}: preparing ${p}`);
    const reply = await peers.get(p).ask('prepare', name);
    if (reply.unsupported) results[p] = { unsupported: true };
    else if (reply.error) results[p] = { error: reply.error };
    else {
      digests[p] = reply.digest;
      live.push(p);
    }
  }
  // The first library is the yardstick of the others' results: ours, or NumPy where ours is left out.
  const standard = digests[ours] ? ours : live[0];
  for (const p of live) {
    const wrong = disagreement(digests[p], digests[standard], work.tolerance);
    if (wrong) results[p] = { error: `result differs from ${standard}: ${wrong}`, wrong: true };
  }
  const times = Object.fromEntries(live.map((p) => [p, []]));
  for (let round = 0; round < rounds; round++) {
    for (const p of live) {
      // What takes seconds is measured once: more rounds would only make the others wait.
      if (results[p]?.error || (round > 0 && times[p][0] > 1500)) continue;
      onStep(`${work.title}: ${p}, round ${round + 1} of ${rounds}`);
      const reply = await peers.get(p).ask('measure', name, seconds);
      if (reply.error) results[p] = { error: reply.error };
      else times[p].push(...reply.times);
    }
  }
  for (const p of live) {
    results[p] ??= summary(times[p]);
    await peers.get(p).ask('drop', name);
  }
  return results;
}

/** Our median against each bound of the work. */
export function judge(work, results) {
  const mine = results[work.ours ?? 'gpuforge']?.median;
  return work.bounds.map(({ times, of }) => {
    const candidates = of === 'best-js' ? js : [of];
    const measured = candidates.filter((p) => results[p]?.median !== undefined);
    if (mine === undefined || measured.length === 0) return { times, of, ratio: null, pass: null };
    const best = measured.reduce((a, b) => (results[a].median <= results[b].median ? a : b));
    const ratio = mine / results[best].median;
    return { times, of, against: best, ratio, pass: ratio <= times };
  });
}
