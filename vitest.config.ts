import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { pageScript } from './scripts/page-script.mjs';
import { softwareGpu } from './scripts/software-gpu.mjs';
import { within } from './test/support/time.ts';

// Workers inherit this: the dynamic linker reads LD_LIBRARY_PATH when a process starts, and never again.
Object.assign(process.env, softwareGpu().dawn);

/** Folders whose files share a process, so that what they import is loaded once: what they leave behind, the next one sees. */
const shared =
  /^(src\/(base|batch|compute|devices|forge|governor|graph|io|kernel|profile|runtime)|test\/(calls|cases|core|field|fuzz|governor|lattice|math))\//;
/** Some of them steer or measure the clock, memory, the collector or other things that a process has only once, or start processes: nobody else may be there. */
const steering = new Set(
  [
    ...['finalizer', 'platform'].map((name) => `src/base/${name}`),
    ...['buffer', 'host', 'lifetime'].map((name) => `src/devices/cpu/${name}`),
    ...['marks', 'modules', 'spans', 'transfer', 'waits'].map((name) => `src/devices/cuda/${name}`),
    'src/forge/explain/command',
    'src/governor/memory/monitor',
    'src/governor/routing/router',
    'test/governor/memory',
    ...['bounded', 'host-cost', 'lifetime', 'planning', 'turns'].map((name) => `test/core/${name}`),
    ...['page', 'wire'].map((name) => `test/field/${name}`),
  ].map((path) => `${path}.test.ts`),
);
const root = fileURLToPath(new URL('.', import.meta.url));
const sharing = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' }).map((f) => `${folder}/${f}`),
  )
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.test.ts') && shared.test(path) && !steering.has(path));

/** The files that take longest, the longest first: one that began last would be waited for alone. */
const longest = [
  'test/webgpu/device',
  'test/studio/page',
  'test/recovery/sweep',
  'test/tfjs/conformance',
  'test/core/planning',
  'test/webgpu/on-chip',
  'test/package/bundlers',
  'test/package/runtimes',
  'test/browser/suite',
  'test/field/hard',
  'test/browser/lattice-page',
  'test/cases/cases',
  'src/devices/cuda/routines/routines',
  'src/forge/explain/explain',
  'test/calls/calls',
  'test/calls/odd',
  'test/lattice/overlap',
  'src/devices/cuda/routines/plans',
  'test/fuzz/fuzz',
  'src/devices/cpu/routines/routines',
  'src/devices/cpu/pool/pool',
  'test/lattice/catalytic',
  'src/devices/cuda/ptx/reduce/spread',
  'test/lattice/promises',
  'src/devices/cpu/render/elementwise',
  'src/devices/cuda/routines/fourier/fourier',
  'test/lattice/device-work',
  'src/compute/recovery',
  'src/devices/cpu/routines/sort/select',
  'test/lattice/programs',
].map((path) => fileURLToPath(new URL(`${path}.test.ts`, import.meta.url)));

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => longest.indexOf(moduleId) + 1 || longest.length + 1;
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map((f) => f.project.name))];
    return projects.flatMap((name) => sorted.filter((f) => f.project.name === name).sort((a, b) => rank(a) - rank(b)));
  }
}

export default defineConfig({
  plugins: [pageScript()],
  // The programs under examples/ import the package by its name, as a user does.
  resolve: { alias: [{ find: /^gpuforge$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }] },
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'units', include: sharing, isolate: false, setupFiles: 'test/support/left-behind.ts' },
      },
      // One project for all the others: each transforms what its tests import by itself.
      { extends: true, test: { name: 'systems', include: ['{src,test}/**/*.test.ts'], exclude: sharing } },
    ],
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/built.mjs',
    pool: 'forks',
    // One more than CI has cores: for about a quarter of their time tests wait for timers, processes and browsers.
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: within(1000) } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: {
        'src/graph/**': { lines: 90 },
        'src/kernel/**': { lines: 90 },
        'src/devices/cpu/**': { lines: 90 },
      },
    },
  },
});
