// The packed package as its users meet it: the rules of publint and arethetypeswrong, links, and the first program of the README.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Project, packedProject } from './packed.ts';

describe('the packed package', () => {
  let project: Project;
  let home: string;
  beforeAll(() => {
    project = packedProject();
    home = join(project.folder, 'node_modules', 'gpuforge');
  });
  afterAll(() => project?.remove());

  const read = (file: string): string => readFileSync(join(home, file), 'utf8');
  const node = (file: string): string =>
    execFileSync(process.execPath, [file], {
      cwd: project.folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });

  /** The files that a page links to, by their paths in the package. */
  const linksOf = (page: string): string[] =>
    [...read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map((m) => m[1]!)
      .filter((to) => !/^[a-z]+:/.test(to))
      .map((to) => posix.normalize(posix.join(posix.dirname(page), to)));

  it('satisfies publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: home, pack: false, level: 'warning', strict: true });
    expect(messages.map((m) => formatMessage(m, pkg, { color: false }))).toEqual([]);
  });

  it('has types that resolve wherever the code does', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(project.tarball)));
    const problems = analysis.types ? analysis.problems : [];
    expect(analysis.types).toBeTruthy();
    // Node loads ES modules by require() since 20.19; compilers without `exports` (node10) see the main entry alone.
    const real = problems.filter(
      (p) => p.kind !== 'CJSResolvesToESM' && !('resolutionKind' in p && p.resolutionKind === 'node10'),
    );
    expect(real).toEqual([]);
  });

  it('holds every page and picture that its pages link to', () => {
    const there = new Set(project.files);
    const pages = project.files.filter((f) => f.endsWith('.md'));
    expect(pages).toContain('docs/api/tensor.md');
    const dead = pages.flatMap((page) => linksOf(page).flatMap((to) => (there.has(to) ? [] : `${page} → ${to}`)));
    expect(dead).toEqual([]);
  });

  it('leads to every page from its README', () => {
    const seen = new Set<string>();
    const open = ['README.md'];
    for (let page = open.pop(); page !== undefined; page = open.pop()) {
      if (seen.has(page) || !page.endsWith('.md')) continue;
      seen.add(page);
      for (const to of linksOf(page)) open.push(to);
    }
    expect(project.files.filter((f) => /^docs\/.*\.md$/.test(f) && !seen.has(f))).toEqual([]);
  });

  it('runs the first program of its README as it stands', () => {
    const [, first] = /^```ts\n([\s\S]*?)^```/m.exec(read('README.md'))!;
    const printed = node(project.write('hello.mjs', first!));
    const numbers = /Float32Array\(10\) \[([^\]]+)\]/.exec(printed)![1]!.split(',').map(Number);
    expect(numbers.reduce((a, b) => a + b)).toBeCloseTo(1, 4);
    expect(printed).toMatch(/kernel/);
  });

  it('loads every entry by import and by require', () => {
    const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, unknown> };
    // The TF.js backend needs TF.js, and registering the profiler is an effect of its own.
    const entries = Object.keys(exports).filter((e) => !['./package.json', './tfjs', './profile/register'].includes(e));
    expect(entries.length).toBeGreaterThan(8);
    const names = JSON.stringify(entries.map((e) => e.replace(/^\./, 'gpuforge')));
    const count = (all: string): string => `console.log(${all}.map((m) => Object.keys(m).length > 0).join());`;
    const imported = `const all = await Promise.all(${names}.map((n) => import(n)));\n${count('all')}`;
    const required = `const all = ${names}.map((n) => require(n));\n${count('all')}`;
    const want = `${entries.map(() => 'true').join()}\n`;
    expect(node(project.write('all.mjs', imported))).toBe(want);
    expect(node(project.write('all.cjs', required))).toBe(want);
  });
});
