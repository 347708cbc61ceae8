// How the jobs of the GPU tests are run: side by side, some alone at the end, and none of them passes that did not.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Job, runJobs } from '../../scripts/gpu-jobs.mjs';
import { within } from '../support/time.ts';

let folder: string;
let said: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jobs-'));
  said = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => said.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const job = (name: string, code: string, more: Partial<Job> = {}): Job => ({
  name,
  command: [process.execPath, '-e', code],
  alone: false,
  seconds: 30,
  ...more,
});

describe('jobs', () => {
  it('pass if each of them does, those that are alone when the others have ended', async () => {
    const times = `const t = Date.now(); setTimeout(() => console.log(JSON.stringify([t, Date.now()])), 300)`;
    const jobs = [job('a 1/2', times), job('b', times), job('last', times, { alone: true }), job('a 2/2', times)];
    expect(await runJobs(jobs, 3, folder)).toBe(true);
    const [a, b, c, last] = ['a-1-2', 'b', 'a-2-2', 'last'].map(
      (name) => JSON.parse(readFileSync(join(folder, `${name}.txt`), 'utf8')) as [number, number],
    );
    expect(last![0]).toBeGreaterThanOrEqual(Math.max(a![1], b![1], c![1]));
    expect(said.at(-1)).toMatch(/^4 of 4 passed/);
  });

  it.each([
    ['exits with a code', 'console.log("FAIL order / it is late"); process.exit(3)', /exit 3[\s\S]*it is late/],
    ['throws', 'throw new Error("no such thing")', /exit 1[\s\S]*no such thing/],
    ['is killed', 'process.kill(process.pid, "SIGKILL")', /exit SIGKILL/],
  ])('fail if one %s, and show why', async (_, code, shown) => {
    expect(await runJobs([job('good', ''), job('bad', code)], 2, folder)).toBe(false);
    expect(said.join('\n')).toMatch(shown);
    expect(said.at(-1)).toMatch(/^1 of 2 passed/);
  });

  it('fail if one takes too long, and end what it has started too', async () => {
    const child = `require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })`;
    const code = `console.log('child', ${child}.pid); setInterval(() => {}, 1000)`;
    expect(await runJobs([job('slow', code, { seconds: 4 })], 1, folder)).toBe(false);
    expect(said.join('\n')).toContain('not done in 4 s');
    const pid = Number(/child (\d+)/.exec(readFileSync(join(folder, 'slow.txt'), 'utf8'))![1]);
    await expect.poll(() => running(pid), { timeout: within(5000) }).toBe(false);
  });

  it('fail if there is none', async () => {
    expect(await runJobs([], 2, folder)).toBe(false);
  });
});

function running(pid: number): boolean {
  try {
    // A process that ended and that nobody has asked about is still there, as a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
