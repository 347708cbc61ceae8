import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts', 'src/**/testing.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: {
        'src/graph/**': { lines: 90 },
        'src/kernel/**': { lines: 90 },
        'src/devices/cpu/**': { lines: 90 },
      },
    },
  },
});
