// `src/` is the product: every file there is reached from what the package is built from. What only tests use lies in `test/`.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const text = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The files that a file names in its imports, dynamic ones, workers' URLs and the code of pages (`?script`) included. */
const named = (file: string): string[] =>
  [...text(file).matchAll(/(?:\bfrom|\bimport|new URL)\s*\(?\s*(?:\/\*.*?\*\/\s*)*'(\.[^']+\.ts)(?:\?script)?'/g)].map(
    (m) => normalize(join(dirname(file), m[1]!)).replaceAll('\\', '/'),
  );

function reached(entries: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    open.push(...named(file));
  }
  return seen;
}

it('holds nothing that only tests use', () => {
  const entries = [...text('tsdown.config.ts').matchAll(/'(src\/[^']+\.ts)'/g)].map((m) => m[1]!);
  expect(entries.length).toBeGreaterThan(5);
  const product = reached(entries);
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((f) => `src/${f.replaceAll('\\', '/')}`)
    .filter((f) => f.endsWith('.ts') && !/\.(test|d)\.ts$/.test(f) && !f.startsWith('src/forge/'));
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((f) => !product.has(f))).toEqual([]);
});
