import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { pageScript } from './scripts/page-script.mjs';
import { softwareGpu } from './scripts/software-gpu.mjs';
import { within } from './test/support/time.ts';

// Workers inherit this: the dynamic linker reads LD_LIBRARY_PATH when a process starts, and never again.
Object.assign(process.env, softwareGpu().dawn);

const every = ['{src,test}/**/*.test.ts'];
/** Small pieces that keep no state: their files share a process, so that what they import is loaded once. */
const units = ['src/{base,forge,graph,io,kernel,devices}/**/*.test.ts', 'test/{calls,cases,lattice,math}/**/*.test.ts'];
/** Some of them steer the clock or other things that a process has only once, or start processes: nobody else may be there. */
const steering = [
  'src/base/platform.test.ts',
  'src/devices/cpu/host.test.ts',
  'src/devices/cuda/{marks,spans,transfer,waits}.test.ts',
  'src/forge/explain/command.test.ts',
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
      { extends: true, test: { name: 'units', include: units, exclude: steering, isolate: false } },
      { extends: true, test: { name: 'alone', include: steering } },
      { extends: true, test: { name: 'systems', include: every, exclude: units } },
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
