import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { pageScript } from './scripts/page-script.mjs';
import { softwareGpu } from './scripts/software-gpu.mjs';
import { within } from './test/support/time.ts';

// Workers inherit this: the dynamic linker reads LD_LIBRARY_PATH when a process starts, and never again.
Object.assign(process.env, softwareGpu().dawn);

const every = ['{src,test}/**/*.test.ts'];
/** Small pieces that keep no state. */
const units = 'src/{base,kernel,graph,devices,io}/**/*.test.ts';
/**
 * Files with a process of their own: they measure its memory or its time, wait for the collector, start, kill and watch processes,
 * drive a browser, or change what a process has only once. All others share a process with those before them, so that what they
 * import is loaded once.
 */
const alone = [
  'test/{browser,gpu,memory,package,profile,recovery,studio,support,tfjs,types}/**/*.test.ts',
  'test/batch/{kills,transport}.test.ts',
  'test/core/{bounded,host-cost,lifetime,planning,turns}.test.ts',
  'test/compute/names.test.ts',
  'test/field/page.test.ts',
  'test/governor/{degradation,health,isolation,memory}.test.ts',
  'test/webgpu/{browser,life}.test.ts',
  'src/cli/forge/sessions.test.ts',
  'src/forge/explain/command.test.ts',
  'src/governor/routing/open.test.ts',
];

/** The files that take longest, the longest first: one that began last would be waited for alone. */
const longest = [
  'test/webgpu/device',
  'test/studio/page',
  'test/cases/cases',
  'test/recovery/sweep',
  'test/tfjs/conformance',
  'src/devices/cuda/routines/routines',
  'test/fuzz/fuzz',
  'test/webgpu/on-chip',
  'test/webgpu/browser',
  'src/devices/cuda/routines/plans',
  'src/devices/cuda/ptx/ptxas',
  'test/browser/lattice-page',
  'test/lattice/catalytic',
  'test/tfjs/models',
  'src/forge/explain/explain',
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
      { extends: true, test: { name: 'alone', include: alone } },
      { extends: true, test: { name: 'together', include: every, exclude: [...alone, units], isolate: false } },
      { extends: true, test: { name: 'units', include: [units], isolate: false } },
    ],
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/built.mjs',
    pool: 'forks',
    maxWorkers: 2,
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
