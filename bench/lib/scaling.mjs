// Time against size and threads: the chain and the sum, from 1K to 64M elements, ours with 1 … n threads beside NumPy.

import os from 'node:os';
import { Peer } from './peer.mjs';
import { summary } from './stats.mjs';
import { scaled, sizes } from './works.mjs';

export async function measureScaling({ here, commands, settings, onStep }) {
  const counts = [];
  for (let t = 1; t < os.availableParallelism(); t *= 2) counts.push(t);
  counts.push(os.availableParallelism());
  const columns = [
    ...counts.map((t) => [`${t} thread${t > 1 ? 's' : ''}`, [process.execPath, ['sides/gpuforge.mjs', `${t}`]]]),
    ['numpy', commands.numpy],
  ];
  const peers = [];
  for (const [name, [command, args]] of columns) {
    const peer = new Peer(name, command, args, here);
    if (!(await peer.opened).error) peers.push(peer);
  }
  const rows = {};
  for (const work of scaled) {
    rows[work] = [];
    for (const size of sizes) {
      const medians = {};
      for (const peer of peers) {
        onStep(`scaling: ${work} of ${size}, ${peer.name}`);
        const made = await peer.ask('prepare', `${work}:${size}`);
        if (made.error || made.unsupported) continue;
        const reply = await peer.ask('measure', `${work}:${size}`, settings.seconds);
        if (reply.times) medians[peer.name] = summary(reply.times).median;
        await peer.ask('drop', `${work}:${size}`);
      }
      rows[work].push({ size, medians });
    }
  }
  await Promise.all(peers.map((p) => p.close()));
  return { columns: peers.map((p) => p.name), rows };
}
