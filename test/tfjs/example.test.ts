// The example runs: it learns, and reads digits it has not seen.

import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { registerBackend } from '../../src/tfjs/index.ts';
import { cpu, tf } from './support.ts';

it('learns to read the digits it draws', async () => {
  const text = readFileSync(new URL('../../examples/tfjs.ts', import.meta.url), 'utf8').replace(/^import .*$/gm, '');
  const { outputText } = ts.transpileModule(`async function example() { ${text} }`, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.None },
  });
  const lines: string[] = [];
  const print = { log: (line: string) => void lines.push(line) };
  const register = (core: typeof tf, options: object) =>
    registerBackend(core, { ...options, runtime: { devices: ['cpu'] } });
  await new Function('tf', 'cpu', 'registerBackend', 'console', `${outputText}; return example();`)(
    tf,
    cpu,
    register,
    print,
  );
  expect(lines).toHaveLength(11);
  expect(lines[9]).toMatch(/^█{24} step 200: loss /);
  const right = Number(
    /^(\d+) of 200 new digits read, on cpu; 1\d\d native kernels, 0 routed\.$/.exec(lines[10]!)?.[1],
  );
  expect(right).toBeGreaterThan(180);
});
