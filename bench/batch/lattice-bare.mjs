// Use case A on a thread without gpuforge/batch: told once how many lattices it does. And as much arithmetic as it takes to see what a
// second core is worth on this machine.

import { parentPort } from 'node:worker_threads';
import { latticeWork } from './lattice-work.mjs';

/** Steps of a generator of random numbers: registers only, no memory. */
function spin(steps) {
  let x = 1;
  for (let i = 0; i < steps; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  return x;
}

parentPort.on('message', async ({ lattices, steps }) => {
  const made = [];
  for (let i = 0; i < lattices; i++) made.push(await latticeWork([4, 10]));
  parentPort.postMessage({ made, spun: spin(steps) });
});
