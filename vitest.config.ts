import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { pageScript } from './scripts/page-script.mjs';
import { softwareGpu } from './scripts/software-gpu.mjs';

// Workers inherit this: the dynamic linker reads LD_LIBRARY_PATH when a process starts, and never again.
Object.assign(process.env, softwareGpu().dawn);

/** Small pieces that keep no state: their files share a process, so that what they import is loaded once. */
const units = 'src/{base,kernel,graph,devices,io}/**/*.test.ts';

export default defineConfig({
  plugins: [pageScript()],
  // The programs under examples/ import the package by its name, as a user does.
  resolve: { alias: [{ find: /^gpuforge$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }] },
  test: {
    projects: [
      { extends: true, test: { name: 'units', include: [units], isolate: false } },
      { extends: true, test: { name: 'systems', include: ['{src,test}/**/*.test.ts'], exclude: [units] } },
    ],
    globalSetup: 'test/support/built.mjs',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
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
