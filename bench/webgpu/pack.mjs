// Bundles the bench for a host without the sources: `node bench/webgpu/pack.mjs [FOLDER]` (default dist/bench-webgpu).
//
// One file a side and main.mjs, with only the package `webgpu` left to be found. There: `node FOLDER/main.mjs --json run.json`.

import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const out = resolve(process.argv[2] ?? join(root, 'dist', 'bench-webgpu'));
for (const name of ['main', 'gpuforge', 'tfjs', 'jax', 'bare']) {
  const bundle = await rolldown({
    input: join(here, `${name}.mjs`),
    platform: 'node',
    external: ['webgpu', 'koffi', /^node:/],
    // Peers' packages refer to each other by several entries; one copy of each.
    resolve: { mainFields: ['module', 'main'] },
    // Node 20 knows no `using`.
    transform: { target: 'es2022' },
    // From the sources, so that the host measures what is here and not an older build.
    ...(name === 'gpuforge' ? { plugins: [fromSources()] } : {}),
    onLog: (level, log, handle) => (level === 'warn' ? undefined : handle(level, log)),
  });
  await bundle.write({ file: join(out, `${name}.mjs`), format: 'esm', codeSplitting: false });
  console.log(join(out, `${name}.mjs`));
}

function fromSources() {
  return {
    name: 'from-sources',
    resolveId: (id) => (id.endsWith('dist/index.js') ? join(root, 'src', 'index.ts') : null),
  };
}
