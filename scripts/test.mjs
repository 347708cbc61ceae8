// npm test: lint, types, build and tests with their own set-up, ending in the counts.
//
//   node scripts/test.mjs              npm test: every test file, of the largest suites a fixed part of what repeats itself
//   node scripts/test.mjs --all        npm run test:all: all of those suites, and the coverage with its thresholds
//   node scripts/test.mjs FILTER …     only test files whose path contains a filter, without lint and coverage; --all as above

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
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

const failures = [];

function failed(args, status) {
  failures.push(`${args[0].replace(root, '')} ended with status ${status}`);
  process.stdout.write(`\nFailed: ${failures.at(-1)}.\n`);
  process.exitCode = 1;
}

async function node(args) {
  const env = { ...process.env, ...(all ? { GPUFORGE_TEST_ALL: '1' } : {}) };
  const run = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  const [status, signal] = await once(run, 'exit');
  if (status !== 0) failed(args, status ?? signal);
}

/** Runs beside what follows. What it says, if it fails, comes when `told` is called. */
function beside(args, priority = constants.priority.PRIORITY_NORMAL) {
  const run = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (text) => said.push(text));
  const ended = once(run, 'close');
  try {
    setPriority(run.pid, priority);
  } catch {
    // It takes its share then.
  }
  return async function told() {
    const [status, signal] = await ended;
    if (status === 0) return;
    process.stdout.write(Buffer.concat(said));
    failed(args, status ?? signal);
  };
}

await step('Chromium with SwiftShader, the software GPU of the WebGPU tests', () => {
  const { from, browser } = softwareGpu();
  process.stdout.write(
    browser.reason ? `No browser: ${browser.reason}. Tests that need one are skipped.\n` : `${from}\n`,
  );
});
const whole = filters.length === 0;
await step(whole ? 'Lint and build' : 'Build', async () => {
  const lint = whole && beside([bin('@biomejs/biome/bin/biome'), 'check', '.']);
  ensureBuilt({ quiet: true });
  if (lint) await lint();
});
// The compiler takes the time that tests leave over: many of them wait.
const types = whole && beside([bin('typescript/bin/tsc'), '--noEmit'], constants.priority.PRIORITY_LOW);
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-test-'));
const report = join(folder, 'report.json');
await step('Tests', () =>
  node([
    bin('vitest/vitest.mjs'),
    'run',
    ...(all && whole ? ['--coverage'] : filters),
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]),
);
if (types) await step('Types, what was left of them', types);
let counts;
try {
  counts = JSON.parse(readFileSync(report, 'utf8'));
} catch {
  process.exitCode = 1;
}
rmSync(folder, { recursive: true, force: true });
if (failures.length > 0) process.stdout.write(`Failed: ${failures.join('; ')}.\n`);
process.stdout.write(`${((performance.now() - start) / 1000).toFixed(0)} s in all\n`);
if (counts) {
  process.stdout.write(
    `${counts.numPassedTests} passed, ${counts.numFailedTests} failed, ${counts.numPendingTests + counts.numTodoTests} skipped\n`,
  );
}
