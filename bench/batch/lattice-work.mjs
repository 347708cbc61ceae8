// One lattice of use case A, for worker threads: built, analysed, searched.

import { createRuntime } from '../../dist/index.js';
import { Lattice } from '../../dist/lattice.js';

let runtime = null;

export async function latticeWork([dimensions, size]) {
  runtime ??= createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, routing: { mode: 'off' } });
  const lattice = new Lattice({ dimensions, size, runtime: await runtime });
  await lattice.build();
  const { edges } = await lattice.analyze();
  const { length } = await lattice.shortestPath(0, lattice.vertices - 1, { method: 'search' });
  await lattice.dispose();
  return [edges, length];
}
