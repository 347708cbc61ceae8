// The packed package in other runtimes: Bun and Deno; in `npm run test:all` the oldest and newest supported versions of Node, and one
// that is too old. All of them come from npm (other-runtimes.ts). Where npm cannot be reached, the tests are skipped with the reason.

import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { fetched, firstOf } from './other-runtimes.ts';
import { type Project, packedProject } from './packed.ts';

const program = `
import { createRuntime } from 'gpuforge';
import { parseNpy, formatNpy } from 'gpuforge/io';
import { Lattice } from 'gpuforge/lattice';
const rt = await createRuntime();
const sums = await rt.arange(12).cast('f32').reshape([3, 4]).sum({ axis: 1 }).data();
const file = formatNpy({ dtype: 'f32', shape: [3], bytes: new Uint8Array(sums.buffer, sums.byteOffset, sums.byteLength) });
const { path } = await new Lattice({ dimensions: 2, size: 3 }).shortestPath(0, 8);
console.log([...sums].join(' '), parseNpy(file).shape, path.length, rt.devices().some((d) => d.id === 'cpu' && d.open));
await rt.close();
`;
const printed = /^6 22 38 \[ ?3 ?\] 5 true\n$/;

const required = `
const { createRuntime } = require('gpuforge');
createRuntime({ devices: ['cpu'] }).then(async (rt) => {
  console.log((await rt.tensor([1, 2]).add(1).data()).join(' '));
  await rt.close();
});
`;

const cli = 'node_modules/gpuforge/dist/cli.js';
const deno = ['run', '--no-prompt', '--node-modules-dir=manual'];

/** Where each program of a package is, and how it is called: what it prints, or what it says when it refuses. */
const others = [
  {
    name: 'bun',
    files: ['darwin-aarch64', 'linux-aarch64', 'linux-x64-baseline'].map((p) => `@oven/bun-${p}/bin/bun`),
    runs: [
      { args: ['run', 'hello.mjs'], prints: printed },
      { args: [cli, 'lattice', 'path', '0', '8', '-d', '2', '-n', '3'], prints: /^0 → .* → 8$/m },
    ],
  },
  {
    name: 'deno',
    files: ['darwin-arm64', 'linux-arm64-glibc', 'linux-x64-glibc'].map((p) => `@deno/${p}/deno`),
    // Without permissions, and with all of them.
    runs: [
      { args: [...deno, 'hello.mjs'], prints: printed },
      { args: [...deno, '-A', 'hello.mjs'], prints: printed },
    ],
  },
];

const node = (version: number, runs: (typeof others)[number]['runs']) => ({
  name: `node ${version}`,
  files: [`node-${version}/bin/node`],
  runs,
});
const works = [
  { args: ['hello.mjs'], prints: printed },
  { args: ['hello.cjs'], prints: /^2 3\n$/ },
  { args: [cli, '--version'], prints: /^\d+\.\d+\.\d+\n$/ },
];
const tooOld = /gpuforge:? needs Node 20\.19 or later, and this is Node 18\.20\.8/;
const nodes = [
  node(18, [
    { args: ['hello.mjs'], prints: tooOld },
    { args: [cli, 'detect'], prints: tooOld },
  ]),
  node(20, works),
  node(22, works),
  node(24, works),
];

describe.each([
  { list: 'others' as const, runtimes: others },
  ...(all ? [{ list: 'nodes' as const, runtimes: nodes }] : []),
])('the packed package in $list', ({ list, runtimes }) => {
  let project: Project;
  let folder: string;
  let reason: string | undefined;
  beforeAll(() => {
    try {
      folder = fetched(list);
    } catch (e) {
      reason = `npm could not fetch it: ${e instanceof Error ? e.message.split('\n')[0] : String(e)}`;
      return;
    }
    project = packedProject();
    project.write('package.json', JSON.stringify({ type: 'module', dependencies: { gpuforge: '*' } }));
    project.write('hello.mjs', program);
    project.write('hello.cjs', required);
  }, 400_000);
  afterAll(() => project?.remove());

  for (const { name, files, runs } of runtimes)
    it(name, { timeout: within(30_000) }, ({ skip }) => {
      skip(reason !== undefined, reason);
      const command = firstOf(folder, files);
      skip(command === undefined, `npm has none for ${process.platform}-${process.arch}`);
      for (const { args, prints } of runs) {
        const { stdout, stderr } = spawnSync(command!, args, { cwd: project.folder, encoding: 'utf8' });
        expect(prints === tooOld ? stderr : stdout, `${args.join(' ')}\n${stderr}`).toMatch(prints);
      }
    });
});
