// The pages tell the truth: codes, scores and the example are those of the code.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../../src/forge/explain/catalogue/index.ts';
import * as forge from '../../src/forge/index.ts';
import { play } from './fixtures/fixture.ts';
import { machine } from './fixtures/machines.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const page = (name: string) => fs.readFileSync(path.join(root, 'docs/forge', name), 'utf8');

describe('the pages', () => {
  it('list every code of the doctor and no other', () => {
    const folder = path.join(root, 'src/forge/doctor');
    const source = fs
      .readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
      .join('\n');
    const raised = new Set([...source.matchAll(/finding\(\s*'([A-Z0-9]+(?:-[A-Z0-9]+)+)'/g)].map((found) => found[1]!));
    const listed = new Set(
      [...page('doctor.md').matchAll(/`([A-Z]+[A-Z0-9]*(?:-[A-Z0-9]+)+)`/g)].map((found) => found[1]!),
    );
    expect([...listed].sort()).toEqual([...raised].sort());
  });

  it('list every class of explain with its severity and title, and no other', () => {
    const listed = [
      ...page('explain.md').matchAll(/^\| `([a-z0-9-]+)` \| (critical|error|warning|information) \| (.+) \|$/gm),
    ];
    expect(listed.map(([, code, severity, title]) => [code, severity, title]).sort()).toEqual(
      catalogue.map(({ code, severity, title }) => [code, severity, title]).sort(),
    );
  });

  it.each([
    ['H200', 'h200'],
    ['RTX 5090', 'rtx5090'],
    ['RTX 4090', 'rtx4090'],
    ['GTX 1080', 'gtx1080'],
  ] as const)('give the score of the %s', async (label, name) => {
    const { machine: found } = await forge.detect(play(machine(name)));
    const [best] = forge.rankGpus(found.gpus);
    expect(page('detect.md')).toContain(`| ${label} | ${best?.total?.toFixed(1)} |`);
  });

  it.each([
    ['detect', 'detect.md'],
    ['doctor', 'doctor.md'],
    ['report', 'report.md'],
    ['resolve', 'resolve.md'],
    ['env', 'env.md'],
    ['verify', 'env.md'],
    ['profiles', 'env.md'],
    ['data', 'env.md'],
    ['explain', 'explain.md'],
  ])('list every option in the help of %s', async (command, name) => {
    const { Command } = await import('commander');
    const { register } = await import(`../../src/cli/forge/${command}.ts`);
    const program = new Command();
    register(program);
    for (const { long } of program.commands[0]!.options) expect(page(name), long).toContain(long);
  });

  it('name exports that exist', () => {
    for (const name of [forge.detect, forge.nodePorts, forge.rankGpus]) expect(typeof name).toBe('function');
  });
});
