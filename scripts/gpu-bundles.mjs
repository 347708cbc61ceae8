// Bundles what runs on GPU hosts, which have Node and no packages: tests and benchmarks, one file each.

import { cpSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { rolldown } from 'rolldown';
import { bundleTfjs } from './bundle-tfjs.mjs';
import { pageScript } from './page-script.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The bundles by their names, and where each begins. */
const entries = {
  test: 'test/gpu/main.ts',
  suite: 'test/gpu/suite.ts',
  bench: 'bench/gpu/main.ts',
  tensors: 'bench/gpu/tensors.ts',
  small: 'bench/gpu/small.ts',
  halves: 'bench/gpu/halves.ts',
  spans: 'bench/gpu/spans.ts',
  waits: 'bench/gpu/waits.ts',
  copies: 'bench/copies/main.ts',
  batch: 'bench/gpu/batch.ts',
  'batch-test': 'test/gpu/batch.ts',
  field: 'bench/gpu/field.ts',
  everyday: 'bench/gpu/everyday.ts',
  classes: 'bench/gpu/classes.ts',
  rows: 'bench/gpu/rows.ts',
  webgpu: 'test/webgpu/host.ts',
  profile: 'bench/profile/main.ts',
  lattice: 'test/gpu/lattice.ts',
  'lattice-bench': 'bench/gpu/lattice.ts',
  'lattice-delta': 'bench/lattice/delta.ts',
  'lattice-workloads': 'bench/lattice/workloads.ts',
};

const optionsFor = (input) => ({
  input,
  cwd: root,
  platform: 'node',
  plugins: [pageScript()],
  external: ['koffi', 'webgpu', 'bullmq', 'ioredis', /^node:/],
  // Test files are bundled with what they use of vitest: the host has no packages.
  resolve: { alias: { vitest: join(root, 'test/gpu/vitest.ts') } },
  // Test files are imported for what they do.
  treeshake: { moduleSideEffects: [{ test: /\.test\.ts$/, sideEffects: true }] },
  // Node 20 knows no `await using`.
  transform: { target: 'es2022' },
});

/** Writes all of them, and the data and scripts that they read. */
export async function bundleGpu(out) {
  for (const [name, input] of Object.entries(entries)) {
    const build = await rolldown(optionsFor(input));
    await build.write({ file: join(out, `${name}.mjs`), format: 'esm', codeSplitting: false });
  }
  await bundleTfjs(join(out, 'tfjs.mjs'));
  // TF.js's WebGPU backend is among the libraries of bench/, if those are installed.
  const peers = existsSync(join(root, 'bench', 'node_modules', '@tensorflow', 'tfjs-backend-webgpu'));
  if (peers) await bundleTfjs(join(out, 'tfjs-bench.mjs'), 'bench/tfjs/gpu.ts');
  for (const script of ['everyday_torch.py', 'classes_torch.py', 'torch_timing.py', 'field_torch.py'])
    cpSync(join(root, 'bench', 'gpu', script), join(out, script));
  cpSync(join(root, 'test', 'cases', 'data'), join(out, 'data'), { recursive: true });
}

/** What keeps them from being built, or from running on a host without packages: all in one build of which nothing is written. TF.js's suite has tests of its own. */
export async function problemsOfBundles() {
  const problems = [];
  const onLog = (_level, { code, message }) => {
    if (/UNRESOLVED|MISSING/.test(code ?? '')) problems.push(message);
  };
  try {
    const build = await rolldown({ ...optionsFor(entries), onLog });
    await build.generate({ format: 'esm' });
    await build.close();
  } catch (e) {
    problems.push(`${e}`);
  }
  return problems.map(stripVTControlCharacters);
}
