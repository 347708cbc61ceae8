// The example runs as a file of its own, with the package that is built: it learns, and reads digits it has not seen.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-tfjs-'));
  const packages = join(folder, 'node_modules', '@tensorflow');
  mkdirSync(join(packages, 'tfjs'), { recursive: true });
  symlinkSync(root, join(folder, 'node_modules', 'gpuforge'));
  for (const name of ['tfjs-core', 'tfjs-backend-cpu', 'tfjs-layers'])
    symlinkSync(join(root, 'node_modules', '@tensorflow', name), join(packages, name));
  // The package `@tensorflow/tfjs` is these three and more; the layers bring the gradients.
  writeFileSync(
    join(packages, 'tfjs', 'index.js'),
    "require('@tensorflow/tfjs-layers'); module.exports = require('@tensorflow/tfjs-core');",
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

it('learns to read the digits it draws', () => {
  const text = readFileSync(join(root, 'examples', 'tfjs.ts'), 'utf8');
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const file = join(folder, 'tfjs.mjs');
  writeFileSync(file, outputText);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(11);
  expect(lines[9]).toMatch(/^█{24} step 200: loss /);
  const right = Number(
    /^(\d+) of 200 new digits read, on \S+; 1\d\d native kernels, 0 routed\.$/.exec(lines[10]!)?.[1],
  );
  expect(right).toBeGreaterThan(180);
}, 120_000);
