// The API reference: every public member has its entry, and the pages are those that the source gives.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pages, problems, reference } from '../../scripts/api-docs.mjs';
import { createRuntime } from '../../src/index.ts';

/** The names that an object answers to, those of its classes included; what is private or a symbol is not among them. */
function names(value: object): string[] {
  const found = new Set<string>();
  for (let o = value; o && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    for (const name of Object.getOwnPropertyNames(o)) found.add(name);
  }
  return [...found].filter((n) => n !== 'constructor').sort();
}

describe('the API reference', () => {
  it('has a line and an example for every public member, on pages that are not old', () => {
    expect(problems()).toEqual([]);
  });

  it('has an entry for every op that there is at run time', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], routing: { mode: 'off' } });
    const live: Readonly<Record<string, object>> = { Tensor: rt.ones([1]), Runtime: rt, 'rt.random': rt.random };
    for (const { title, entries, helpers, page } of reference()) {
      const text = readFileSync(new URL(`../../docs/api/${page}`, import.meta.url), 'utf8');
      expect(entries.length).toBeGreaterThan(5);
      for (const { name } of entries) expect(text, title).toContain(`\n### ${name}\n`);
      const known = new Set([...entries.map((e) => e.name), ...helpers]);
      expect(
        names(live[title]!).filter((n) => !known.has(n)),
        title,
      ).toEqual([]);
    }
  });

  it('links to itself only where there is something', () => {
    const all = pages();
    for (const [path, text] of all) {
      for (const [, page, name] of text.matchAll(/\]\(([\w-]*(?:\.md)?)#([\w-]+)\)/g)) {
        const target = page === '' ? text : all.get(path.replace(/[^/]+$/, page!));
        expect(target?.toLowerCase(), `${path} → ${page}#${name}`).toContain(`\n### ${name}\n`);
      }
    }
  });
});
