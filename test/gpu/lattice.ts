// The lattice's test files on a GPU host, on every device that it has; without CUDA it fails.
//
//   node dist/gpu/lattice.mjs [PART OF A NAME]
//
// GPUFORGE_TEST_ALL=1 runs their long forms. Made by `node scripts/test-gpu.mjs --build`.

import '../lattice/values.test.ts';
import '../lattice/data.test.ts';
import '../lattice/batch.test.ts';
import '../lattice/errors.test.ts';
import '../lattice/graphs.test.ts';
import '../lattice/device-work.test.ts';
import '../lattice/reversible.test.ts';
import '../lattice/catalytic.test.ts';
import '../lattice/overlap.test.ts';
import '../lattice/promises.test.ts';
import '../lattice/programs.test.ts';
import { kinds } from '../lattice/devices.ts';
import { runTests } from './vitest.ts';

console.log(`devices: ${kinds.join(', ')}`);
if (!kinds.includes('cuda')) {
  console.error('no CUDA device: nothing was tested');
  process.exit(1);
}
process.exit((await runTests(process.argv[2])) ? 0 : 1);
