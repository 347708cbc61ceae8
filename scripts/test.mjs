// npm test: lint, types, build and tests with their own set-up, ending in the counts.
//
//   node scripts/test.mjs              npm test: every test file, of the largest suites a fixed part of what repeats itself
//   node scripts/test.mjs --all        npm run test:all: all of those suites, and the coverage with its thresholds
//   node scripts/test.mjs FILTER …     only test files whose path contains a filter, without lint and coverage; --all as above

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { softwareGpu } from './software-gpu.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const all = process.argv.includes('--all');
const filters = process.argv.slice(2).filter((a) => a !== '--all');
const bin = (path) => fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));
const start = performance.now();

async function step(name, run) {
  const from = performance.now();
  process.stdout.write(`== ${name}\n`);
  const result = await run();
  process.stdout.write(`== ${name}: ${((performance.now() - from) / 1000).toFixed(1)} s\n\n`);
  return result;
}

async function node(args) {
  const env = { ...process.env, ...(all ? { GPUFORGE_TEST_ALL: '1' } : {}) };
  const run = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  const [status, signal] = await once(run, 'exit');
  if (status !== 0) {
    process.stdout.write(`\nFailed: ${args[0].replace(root, '')} ended with status ${status ?? signal}.\n`);
    process.exitCode = 1;
  }
  return status === 0;
}

await step('Chromium with SwiftShader, the software GPU of the WebGPU tests', () => {
  const { from, browser } = softwareGpu();
  process.stdout.write(
    browser.reason ? `No browser: ${browser.reason}. Tests that need one are skipped.\n` : `${from}\n`,
  );
});
const lintOk =
  filters.length > 0 ||
  (await step('Lint and types', async () => {
    const checks = await Promise.all([
      node([bin('@biomejs/biome/bin/biome'), 'check', '.']),
      node([bin('typescript/bin/tsc'), '--noEmit']),
      node([bin('typescript/bin/tsc'), '--noEmit', '-p', 'examples/browser/tsconfig.json']),
    ]);
    return checks.every(Boolean);
  }));
await step('Build', () => ensureBuilt({ quiet: true }));
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-test-'));
const report = join(folder, 'report.json');
await step('Tests', () =>
  node([
    bin('vitest/vitest.mjs'),
    'run',
    ...(all && filters.length === 0 ? ['--coverage'] : filters),
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]),
);
let counts;
try {
  counts = JSON.parse(readFileSync(report, 'utf8'));
} catch {
  process.exitCode = 1;
}
rmSync(folder, { recursive: true, force: true });
if (!lintOk) process.stdout.write('Lint or types failed.\n');
process.stdout.write(`${((performance.now() - start) / 1000).toFixed(0)} s in all\n`);
if (counts) {
  process.stdout.write(
    `${counts.numPassedTests} passed, ${counts.numFailedTests} failed, ${counts.numPendingTests + counts.numTodoTests} skipped\n`,
  );
}
