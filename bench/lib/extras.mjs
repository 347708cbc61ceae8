// Figures that are not times of an op: what importing costs, and how much memory the fused chain takes.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { summary } from './stats.mjs';

const exec = promisify(execFile);

async function wall(args, cwd) {
  const start = performance.now();
  await exec(process.execPath, args, { cwd });
  return performance.now() - start;
}

/** Whole processes in turn, with and without the import, so that both see the same machine. */
export async function importCost(cwd, runs, onStep) {
  const bare = ['--input-type=module', '-e', '0'];
  const full = [
    '--input-type=module',
    '-e',
    `await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)})`,
  ];
  const times = { bare: [], full: [] };
  for (let i = 0; i < runs; i++) {
    onStep(`import cost: ${i + 1} of ${runs}`);
    times.bare.push(await wall(bare, cwd));
    times.full.push(await wall(full, cwd));
  }
  const [bareMs, fullMs] = [summary(times.bare), summary(times.full)];
  const cost = fullMs.median - bareMs.median;
  return { bare: bareMs, full: fullMs, cost, bound: 40, pass: cost <= 40 };
}

/** Resident memory of a process of its own that runs the chain, over what it held before. */
export async function peakMemory(cwd) {
  const { stdout } = await exec(process.execPath, ['--expose-gc', 'sides/memory.mjs'], { cwd });
  const m = JSON.parse(stdout.trim().split('\n').pop());
  const bound = 1.1 * (m.inputBytes + m.outputBytes);
  return { ...m, bound, pass: m.peakBytes <= bound };
}
