// TF.js's own test suite on our backend. The suite runs in a process of its own: it changes globals, and wants to be bundled.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleTfjs } from '../../scripts/bundle-tfjs.mjs';
import { kernelNames } from '../../src/tfjs/evaluate.ts';
import { hostKernels } from '../../src/tfjs/routed.ts';
import { type BuiltChild, buildChild } from '../recovery/child.ts';
import { all } from '../support/extent.ts';
import { noWebGpu } from '../support/webgpu.ts';
import type { Result } from './conformance/result.ts';

// Inside the repository: the bundle imports `koffi` and `webgpu` from there.
const folder = mkdtempSync(join(process.cwd(), 'node_modules', '.tfjs-suite-'));
const file = join(folder, 'suite.mjs');
let child: BuiltChild | null = null;
beforeAll(() => bundleTfjs(file));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  child?.remove();
});

function run(...args: string[]): Promise<Result> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [file, '--json', ...args],
      { maxBuffer: 1 << 26, cwd: tmpdir() },
      (error, stdout, stderr) => {
        const line = stdout.trim().split('\n').at(-1) ?? '';
        if (line.startsWith('{')) resolve(JSON.parse(line) as Result);
        else reject(error ?? new Error(`no result: ${stdout}${stderr}`));
      },
    );
  });
}

/** A quiet machine takes a quarter of a minute for each; a busy one many times that. */
const patience = 900_000;

// Each is a process of its own that takes one core: they need not wait for each other.
describe.concurrent("TF.js's own test suite", { timeout: patience }, () => {
  it('passes on the CPU device: 4,225 specs, 5 pending as upstream', async () => {
    const result = await run();
    expect(result.failures).toEqual([]);
    expect(result).toMatchObject({ passed: 4225, failed: 0, pending: 5 });
    // The page shows what this run gave.
    const page = readFileSync(new URL('../../docs/tfjs.md', import.meta.url), 'utf8');
    const routed = Object.keys(result.routed).length;
    expect(page).toContain(`| cpu | synchronous | 4,225 | 0 | 5 | ${result.native} | ${routed} |`);
  });

  it("runs every kernel of ours with TF.js's CPU kernels switched off; only kernels that are not ours are missing", async () => {
    const result = await run('--no-routing', ...(all ? [] : ['--part', '0/5']));
    expect(kernelNames.length).toBeGreaterThanOrEqual(150);
    const missing = kernelNames.filter((k) => !Object.hasOwn(result.ran, k));
    // The suite has no spec for this one; the values are compared in kernels.test.ts.
    if (all) expect(missing).toEqual(['RotateWithOffset']);
    else expect(missing.length).toBeLessThan(25);
    // Specs of host kernels that expect an error get the one that says so, or fail on its words.
    const ofHost = new RegExp(`has no kernel on 'gpuforge'|^(${hostKernels.join('|')})`, 'i');
    expect(result.failures.filter((f) => !ofHost.test(f))).toEqual([]);
    expect(result.passed).toBeGreaterThanOrEqual(all ? 4000 : 780);
  });

  // A part of it unless everything is asked for: software GPUs take minutes for the whole.
  const extent = (jobs: number, part: string): string[] => (all ? ['--jobs', String(jobs)] : ['--part', part]);

  it.skipIf(noWebGpu !== undefined)('passes on WebGPU with asynchronous reads', async () => {
    const result = await run('--device', 'webgpu', '--async', ...extent(2, '0/29'));
    expect(result.failures).toEqual([]);
    expect(result.launches['webgpu:0']).toBeGreaterThan(100);
    expect(result.launches.cpu ?? 0).toBeLessThan(result.launches['webgpu:0']! / 10);
    if (all) expect(result).toMatchObject({ passed: 4166, failed: 0, pending: 4 });
    else expect(result.passed).toBeGreaterThan(100);
  });

  it.skipIf(noWebGpu !== undefined)(
    'passes on WebGPU in a process of its own, which can be read synchronously',
    async () => {
      // A bundle looks for the process of the device beside itself.
      child = await buildChild();
      writeFileSync(join(folder, 'gpu-child.js'), `import(${JSON.stringify(pathToFileURL(child.script).href)});`);
      const result = await run('--device', 'webgpu', '--isolated', ...extent(2, '3/59'));
      expect(result.failures).toEqual([]);
      expect(result.launches['webgpu:0']).toBeGreaterThan(50);
      if (all) expect(result).toMatchObject({ passed: 4225, failed: 0, pending: 5 });
      else expect(result.passed).toBeGreaterThan(50);
    },
  );
});
