// Every ```ts block of README.md and docs/ in a fresh project beside the packed package: it must compile under `strict` with
// `skipLibCheck: false`, in a Node project without `dom` and in one for a bundler, with the oldest and the newest compilers.
//
// `npm test` takes one combination, the hardest; `npm run test:all` takes all.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as gpuforge from '../../src/index.ts';
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

const compilers = ['typescript-5.4', 'typescript-5.9', 'typescript'];
const all = compilers.flatMap((compiler) => Object.keys(projects).map((kind) => ({ compiler, kind })));
const combinations = process.env.GPUFORGE_TEST_ALL ? all : all.slice(0, 1);

/** What a page has no use for, and no types. */
const onlyNode = /'gpuforge\/studio'|\bprocess\.|'node:/;

interface Block {
  readonly at: string;
  readonly code: string;
}

function blocks(): Block[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.md'));
  return ['README.md', ...pages.map((f) => `docs/${f.replaceAll('\\', '/')}`)].flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return [...text.matchAll(/^```ts(?: no-run)?\n([\s\S]*?)^```/gm)].map((m) => ({
      at: `${page}:${text.slice(0, m.index).split('\n').length}`,
      code: m[1]!,
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

describe('the blocks of the documentation', () => {
  let project: Project;
  const files = new Map<string, string>();

  beforeAll(() => {
    project = packedProject();
    for (const name of ['@types/node', 'undici-types']) project.link(name);
    for (const { at, code } of blocks()) {
      // TF.js is the user's own, and its declarations do not compile without the DOM.
      if (code.includes('@tensorflow/')) continue;
      files.set(project.write(`${at.replace(/\W/g, '_')}.ts`, asModule(code)), at);
    }
  });
  afterAll(() => project?.remove());

  it.each(combinations)('compile in $kind with $compiler', { timeout: within(60_000) }, ({ compiler, kind }) => {
    const c = require(compiler) as Compiler;
    const options = projects[kind]!(c);
    const inNode = options.types!.includes('node');
    const taken = [...files.keys()].filter((f) => inNode || !onlyNode.test(readFileSync(f, 'utf8')));
    expect(taken.length).toBeGreaterThan(50);
    const program = c.createProgram(taken, {
      ...options,
      target: c.ScriptTarget.ES2022,
      strict: true,
      skipLibCheck: false,
      noEmit: true,
    });
    const found = c.getPreEmitDiagnostics(program).map((d) => {
      const name = d.file?.fileName ?? '';
      const line = d.file ? d.file.getLineAndCharacterOfPosition(d.start ?? 0).line + 1 : 0;
      return `${files.get(name) ?? name}, line ${line}: ${c.flattenDiagnosticMessageText(d.messageText, ' ')}`;
    });
    expect(found).toEqual([]);
  });
});
