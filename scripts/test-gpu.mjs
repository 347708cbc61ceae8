// npm run test:gpu — the device tests on a machine with an NVIDIA GPU. Without one it says so and fails.
//
//   node scripts/test-gpu.mjs [kernels] [routines] [runtime]   run (all parts by default)
//   node scripts/test-gpu.mjs --build                          only bundle, into dist/gpu/, to be carried to a GPU host
//   node scripts/test-gpu.mjs --sanitize                       also run a part under compute-sanitizer where it exists
//
// On a host without the sources (only dist/) the bundle is run as it is.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'dist', 'gpu');
const args = process.argv.slice(2);

async function bundle() {
  const { rolldown } = await import('rolldown');
  for (const [name, input] of [
    ['test', 'test/gpu/main.ts'],
    ['bench', 'bench/gpu/main.ts'],
  ]) {
    if (!existsSync(join(root, input))) continue;
    const build = await rolldown({ input: join(root, input), platform: 'node', external: ['koffi', /^node:/] });
    await build.write({ file: join(out, `${name}.mjs`), format: 'esm', codeSplitting: false });
  }
}

if (existsSync(join(root, 'test', 'gpu', 'main.ts'))) await bundle();
if (args.includes('--build')) process.exit(0);

const parts = args.filter((a) => !a.startsWith('--'));
const run = spawnSync(process.execPath, ['--expose-gc', join(out, 'test.mjs'), ...parts], { stdio: 'inherit' });
let status = run.status ?? 1;

if (status === 0 && args.includes('--sanitize')) {
  if (spawnSync('compute-sanitizer', ['--version']).status === 0) {
    for (const tool of ['memcheck', 'racecheck']) {
      const options = ['--tool', tool, '--error-exitcode', '9', process.execPath, join(out, 'test.mjs'), 'quick'];
      const checked = spawnSync('compute-sanitizer', options, { stdio: 'inherit' });
      console.log(`compute-sanitizer ${tool}: exit ${checked.status}`);
      status ||= checked.status ?? 1;
    }
  } else {
    console.log('compute-sanitizer is not on the PATH: not run');
  }
}
process.exit(status);
