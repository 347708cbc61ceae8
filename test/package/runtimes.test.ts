// The packed package in Bun and in Deno, where one of them is installed (on PATH, or from npm); else skipped with the reason.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from '../support/time.ts';
import { type Project, packedProject } from './packed.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const folders = [...(process.env.PATH ?? '').split(delimiter), join(modules, '.bin')];

const find = (name: string): string | undefined =>
  folders.flatMap((f) => [join(f, name), join(f, `${name}.exe`)]).find((f) => existsSync(f));

const program = `
import { createRuntime } from 'gpuforge';
const rt = await createRuntime();
const sums = await rt.arange(12).cast('f32').reshape([3, 4]).sum({ axis: 1 }).data();
console.log([...sums].join(' '), rt.devices().some((d) => d.id === 'cpu' && d.open));
await rt.close();
`;

const runtimes = [
  { name: 'bun', ways: [['run', 'hello.mjs']] },
  {
    name: 'deno',
    // Without permissions, and with all of them.
    ways: [
      ['run', '--no-prompt', '--node-modules-dir=manual', 'hello.mjs'],
      ['run', '--no-prompt', '--node-modules-dir=manual', '-A', 'hello.mjs'],
    ],
  },
];

describe('the packed package', () => {
  let project: Project;
  beforeAll(() => {
    if (!runtimes.some((r) => find(r.name))) return;
    project = packedProject();
    project.write('package.json', JSON.stringify({ type: 'module', dependencies: { gpuforge: '*' } }));
    project.write('hello.mjs', program);
  });
  afterAll(() => project?.remove());

  for (const { name, ways } of runtimes) {
    it(`computes in ${name}`, { timeout: within(20_000) }, ({ skip }) => {
      const command = find(name);
      skip(command === undefined, `${name} is not installed: npm install --global ${name}`);
      for (const args of ways) {
        const { stdout, stderr } = spawnSync(command!, args, { cwd: project.folder, encoding: 'utf8' });
        expect(stdout, `${args.join(' ')}\n${stderr}`).toBe('6 22 38 true\n');
      }
    });
  }
});
