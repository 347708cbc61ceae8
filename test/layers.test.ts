// The order of layers in docs/architecture.md holds for every import in src/:
// an import points downwards, what stands above `index` uses public entries only, no two files need each other at run time, and what is
// exported is used. The page names the folders that there are.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Layer names from the page, bottom first. */
function layersOf(page: string): string[] {
  const block = /```layers\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  return [...block.matchAll(/^([a-z]+) /gm)].map((m) => m[1]!).reverse();
}

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const isTypeOnly = (n: ts.ImportDeclaration | ts.ExportDeclaration): boolean => {
  if (ts.isExportDeclaration(n)) {
    const names = n.exportClause && ts.isNamedExports(n.exportClause) ? n.exportClause.elements : null;
    return n.isTypeOnly || (names?.every((e) => e.isTypeOnly) ?? false);
  }
  const clause = n.importClause;
  if (!clause) return false;
  const names = clause.namedBindings && ts.isNamedImports(clause.namedBindings) ? clause.namedBindings.elements : null;
  return (
    clause.phaseModifier === ts.SyntaxKind.TypeKeyword || (!clause.name && (names?.every((e) => e.isTypeOnly) ?? false))
  );
};

function importsOf(file: string): Import[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest);
  const found: Import[] = [];
  source.forEachChild((n) => {
    if (!ts.isImportDeclaration(n) && !ts.isExportDeclaration(n)) return;
    const spec = n.moduleSpecifier && ts.isStringLiteral(n.moduleSpecifier) ? n.moduleSpecifier.text : '';
    if (!spec.startsWith('.')) return;
    const to = posix.normalize(posix.join(dirname(file), spec));
    found.push({ from: file, to, typeOnly: isTypeOnly(n) });
  });
  return found;
}

const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((e) => e.isFile() && e.name.endsWith('.ts') && !e.name.endsWith('.test.ts'))
  .map((e) => relative(root, join(e.parentPath, e.name)).replaceAll('\\', '/'))
  .sort();
const imports = files.flatMap(importsOf);

/** Public entries that lie beside or below the surface. */
const entries = new Set(['src/index.ts', 'src/devices.ts', 'src/governor/routing/index.ts']);

/** Words without behaviour, which everybody may use: to name an error or a dtype nobody has to load the runtime. */
const words = new Set(['base', 'errors']);

const layerOf = (file: string): string => {
  if (file === 'src/devices.ts') return 'index';
  const [first, ...rest] = file.slice('src/'.length).split('/');
  return rest.length === 0 ? first!.replace(/\.ts$/, '') : first!;
};

const layers = layersOf(readFileSync(join(root, 'docs/architecture.md'), 'utf8'));
const heightOf = (file: string): number => layers.indexOf(layerOf(file));

it('the page names every folder of src', () => {
  expect(files.length).toBeGreaterThan(300);
  expect([...new Set(files.map(layerOf))].sort()).toEqual([...layers].sort());
});

it('the page names every folder within a layer, and no other', () => {
  const block = /```folders\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))?.[1] ?? '';
  const named = [...block.matchAll(/(?:^|, )([a-z][\w-]*(?:\/[\w-]+)+)/gm)].map((m) => m[1]!);
  const folders = new Set(files.map((f) => dirname(f).slice('src/'.length)).filter((f) => f.includes('/')));
  expect([...new Set(named)].sort()).toEqual([...folders].sort());
});

it('imports point downwards', () => {
  const upwards = imports.filter((i) => heightOf(i.to) > heightOf(i.from));
  expect(upwards.map((i) => `${i.from} → ${i.to}`)).toEqual([]);
});

it('what stands above the public surface uses public entries alone', () => {
  const surface = layers.indexOf('index');
  const inside = imports
    .filter((i) => heightOf(i.from) > surface && heightOf(i.to) < surface)
    .filter((i) => !entries.has(i.to) && !words.has(layerOf(i.to)))
    .map((i) => `${i.from} → ${i.to}`);
  expect(inside).toEqual([]);
});

it('no two files need each other at run time', () => {
  const needs = new Map<string, string[]>();
  for (const i of imports) if (!i.typeOnly) needs.set(i.from, [...(needs.get(i.from) ?? []), i.to]);
  const state = new Map<string, 'open' | 'done'>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    state.set(file, 'open');
    for (const to of needs.get(file) ?? []) visit(to, [...path, file]);
    state.set(file, 'done');
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

it('what a file exports is used by another', () => {
  const skipped = /node_modules|(^|\/)(dist|golden|results)\//;
  const code = ['src', 'test', 'bench', 'scripts', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((f) => posix.join(folder, f.replaceAll('\\', '/')))
      .filter((f) => /\.(ts|mjs)$/.test(f) && !skipped.test(f)),
  );
  const text = new Map([...code, 'tsdown.config.ts', 'vitest.config.ts'].map((f) => [f, read(f)]));
  const users = new Map<string, number>();
  for (const words of text.values())
    for (const word of new Set(words.match(/\w+/g))) users.set(word, (users.get(word) ?? 0) + 1);
  const exported = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm;
  const unused = files.flatMap((f) =>
    [...text.get(f)!.matchAll(exported)].filter((m) => users.get(m[1]!) === 1).map((m) => `${f}: ${m[1]}`),
  );
  expect(unused).toEqual([]);
});

it('files that pages of the documentation name are there', () => {
  const skipped = new Set(['node_modules', 'dist', '.git', '.cache']);
  const under = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((e) => {
      const path = posix.join(folder, e.name);
      if (e.isDirectory()) return skipped.has(e.name) ? [] : under(path);
      return [path];
    });
  const all = ['src', 'test', 'bench', 'scripts', 'examples', 'docs'].flatMap(under);
  const pages = all.filter((f) => f.endsWith('.md')).concat('README.md', 'CONTRIBUTING.md');
  const missing = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs|py|svg|txt|json))`/g)].map((m) => m[1]!);
    // What a build makes, and what other tools have, is not here.
    const ours = named.filter((name) => !name.startsWith('dist/') && !/^\.|devcontainer/.test(name));
    return ours.filter((name) => !all.some((f) => f === name || f.endsWith(`/${name}`))).map((n) => `${page}: ${n}`);
  });
  expect(missing).toEqual([]);
});
