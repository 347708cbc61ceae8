// Every ```ts block of README.md and docs/ in a fresh project beside the packed package: it must compile under `strict` with
// `skipLibCheck: false`, in a Node project without `dom` and in one for a bundler, with the oldest and the newest compilers.
//
// `npm test` takes one combination, the hardest; `npm run test:all` takes all, and runs what the compiler made of every block that can run
// (test/doc-examples.test.ts runs them from src/, and checks the values that they name).

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as gpuforge from '../../src/index.ts';
import { all as isAll } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { type Project, packedProject } from './packed.ts';

type Compiler = typeof ts;

const root = join(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

/** Types that a block may name without importing them, as it may use `rt` and what the package exports. */
const types = ['Tensor', 'Borrowed'];

const projects: Readonly<Record<string, (compiler: Compiler) => ts.CompilerOptions>> = {
  'a Node project': (c) => ({
    module: c.ModuleKind.NodeNext,
    moduleResolution: c.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
  }),
  'a bundler project': (c) => ({
    module: c.ModuleKind.ESNext,
    moduleResolution: c.ModuleResolutionKind.Bundler,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  }),
};

const strictly = (c: Compiler): ts.CompilerOptions => ({
  target: c.ScriptTarget.ES2022,
  strict: true,
  skipLibCheck: false,
});

const compilers = ['typescript-5.4', 'typescript-5.9', 'typescript'];
const all = compilers.flatMap((compiler) => Object.keys(projects).map((kind) => ({ compiler, kind })));
const combinations = isAll ? all : all.slice(0, 1);

/** What a page has no use for, and no types. */
const onlyNode = /'gpuforge\/studio'|\bprocess\.|'node:/;

/** TF.js is the user's own, and its declarations do not compile without the DOM. */
const usesTfjs = /'@tensorflow\//;

interface Block {
  readonly at: string;
  readonly code: string;
  readonly runs: boolean;
}

function blocks(): Block[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.md'));
  return ['README.md', ...pages.map((f) => `docs/${f.replaceAll('\\', '/')}`)].flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return [...text.matchAll(/^```ts( no-run)?\n([\s\S]*?)^```/gm)].map((m) => ({
      at: `${page}:${text.slice(0, m.index).split('\n').length}`,
      code: m[2]!,
      runs: m[1] === undefined,
    }));
  });
}

/** A block as a module: `rt` and names of the package that it uses without importing them are there. */
function asModule(code: string): string {
  const declares = (name: string): boolean =>
    new RegExp(`(import[^;]*|(const|let|using)\\s+(\\{[^}]*)?)\\b${name}\\b`).test(code);
  const wanted = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(code) && !declares(name);
  const names = [...Object.keys(gpuforge).filter(wanted), ...types.filter(wanted).map((t) => `type ${t}`)];
  const own = names.filter((n) => !(n === 'Tensor' && names.includes('type Tensor')));
  return `import { ${[...own, 'type Runtime as AnyRuntime'].join(', ')} } from 'gpuforge';
${declares('rt') ? '' : 'declare const rt: AnyRuntime;'}
export type { AnyRuntime };
${code}`;
}

/** Imports compiled blocks one after the other, with `rt` as they expect it, and prints which of them failed. */
const runner = (files: readonly string[]): string => `
import { createRuntime } from 'gpuforge';
const failed = [];
for (const file of ${JSON.stringify(files)}) {
  globalThis.rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, seed: 1 });
  try {
    await import(file);
  } catch (e) {
    failed.push(file + ': ' + (e?.stack ?? e));
  }
}
process.stderr.write(JSON.stringify(failed));
process.exit(0);
`;

describe('the blocks of the documentation', () => {
  let project: Project;
  const files = new Map<string, Block>();

  beforeAll(() => {
    project = packedProject();
    const links = ['@types/node', 'undici-types', '@tensorflow/tfjs-core', '@tensorflow/tfjs-backend-cpu'];
    for (const name of links) project.link(name);
    for (const block of blocks())
      files.set(project.write(`${block.at.replace(/\W/g, '_')}.ts`, asModule(block.code)), block);
  });
  afterAll(() => project?.remove());

  const problemsOf = (c: Compiler, program: ts.Program): string[] =>
    c.getPreEmitDiagnostics(program).map((d) => {
      const name = d.file?.fileName ?? '';
      const line = d.file ? d.file.getLineAndCharacterOfPosition(d.start ?? 0).line + 1 : 0;
      return `${files.get(name)?.at ?? name}, line ${line}: ${c.flattenDiagnosticMessageText(d.messageText, ' ')}`;
    });

  it.each(combinations)('compile in $kind with $compiler', { timeout: within(60_000) }, ({ compiler, kind }) => {
    const c = require(compiler) as Compiler;
    const options = projects[kind]!(c);
    const inNode = options.types!.includes('node');
    const taken = [...files.entries()].flatMap(([file, { code }]) =>
      usesTfjs.test(code) || (!inNode && onlyNode.test(code)) ? [] : [file],
    );
    expect(taken.length).toBeGreaterThan(50);
    const program = c.createProgram(taken, { ...options, ...strictly(c), noEmit: true });
    expect(problemsOf(c, program)).toEqual([]);
  });

  it.runIf(isAll)('compile where they use TF.js, whose own declarations do not', { timeout: within(60_000) }, () => {
    const c = require('typescript') as Compiler;
    const taken = [...files.entries()].flatMap(([file, { code }]) => (usesTfjs.test(code) ? [file] : []));
    expect(taken.length).toBeGreaterThan(0);
    const options = { ...projects['a bundler project']!(c), ...strictly(c), skipLibCheck: true, noEmit: true };
    // The package `@tensorflow/tfjs` is tfjs-core and more.
    const paths = { '@tensorflow/tfjs': ['./node_modules/@tensorflow/tfjs-core'] };
    const program = c.createProgram(taken, { ...options, paths, baseUrl: project.folder, ignoreDeprecations: '6.0' });
    expect(problemsOf(c, program)).toEqual([]);
  });

  it.runIf(isAll)('run as they were compiled', { timeout: within(120_000) }, () => {
    const c = require('typescript') as Compiler;
    const run = [...files.entries()].filter(([, block]) => block.runs).map(([file]) => file);
    expect(run.length).toBeGreaterThan(50);
    const outDir = join(project.folder, 'out');
    const program = c.createProgram(run, {
      ...projects['a bundler project']!(c),
      ...strictly(c),
      skipLibCheck: true,
      outDir,
    });
    expect(program.emit().emitSkipped).toBe(false);
    const made = run.map((f) => `./out/${basename(f).replace(/\.ts$/, '.js')}`);
    const { status, stderr } = spawnSync(process.execPath, [project.write('run.mjs', runner(made))], {
      cwd: project.folder,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stderr.slice(stderr.lastIndexOf('[')))).toEqual([]);
  });
});
