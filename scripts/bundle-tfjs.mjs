// Bundles TF.js's own test suite, which its core package ships, with our backend into one file that runs anywhere Node does.
//
//   node scripts/bundle-tfjs.mjs OUT.mjs
//
// The suite is ES module syntax with imports that Node cannot resolve, so it must be bundled. All imports of the core must
// lead to one copy (`mainFields`), and the test files must not be dropped (`treeshake`).

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export async function bundleTfjs(file, input = 'test/tfjs/conformance/main.ts') {
  const build = await rolldown({
    input: join(root, input),
    platform: 'node',
    external: ['koffi', 'webgpu', /^node:/],
    resolve: { mainFields: ['module', 'main'] },
    treeshake: false,
    transform: { target: 'es2022' },
    onLog: () => {},
  });
  await build.write({ file, format: 'esm', codeSplitting: false });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleTfjs(process.argv[2]);
