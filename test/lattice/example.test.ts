// The example runs, and prints what it should.

import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { Lattice } from '../../src/lattice/index.ts';

it('walks around a wall, and leaves lent tensors as they were', async () => {
  const text = readFileSync(new URL('../../examples/lattice.ts', import.meta.url), 'utf8').replace(/^import .*$/gm, '');
  const { outputText } = ts.transpileModule(`async function example() { ${text} }`, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.None },
  });
  const lines: string[] = [];
  const print = { log: (line: string) => void lines.push(line) };
  const body = new Function('createRuntime', 'Lattice', 'console', `${outputText}; return example();`);
  await body(() => createRuntime({ devices: ['cpu'], cpu: { threads: 1 } }), Lattice, print);
  expect(lines[0]).toBe('From corner to corner around the wall: 27 steps.');
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toMatch(/^157300 shortest paths.* unchanged: true\.$/);
});
