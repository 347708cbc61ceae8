import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareVersions } from '../machine.ts';
import { lineOfKey, parseJson } from './json.ts';
import { nearest } from './schema.ts';
import { schemas } from './schemas.ts';
import { ageInMonths, checkTables, loadTables, shipped, staleness } from './tables.ts';

const { tables } = loadTables();

describe('the shipped tables', () => {
  it.each(Object.keys(schemas))('%s fits its schema', (name) => {
    expect(schemas[name as keyof typeof schemas].check(shipped[name as keyof typeof schemas], name)).toEqual([]);
  });

  it('give every row a source and a review date', () => {
    let rows = 0;
    for (const table of Object.values(shipped)) {
      for (const value of Object.values(table as Record<string, unknown>)) {
        if (!Array.isArray(value)) continue;
        for (const row of value as { source?: string; reviewed?: string }[]) {
          rows++;
          expect(row.source).toMatch(/^https:\/\//);
          expect(row.reviewed).toMatch(/^20\d\d-\d\d-\d\d$/);
        }
      }
    }
    expect(rows).toBeGreaterThan(200);
  });

  it('name only releases that exist', () => {
    const releases = new Set(tables.pytorch.releases.map((row) => row.version));
    for (const row of [...tables.pytorch.cuda, ...tables.pytorch.rocm, ...tables.pytorch.plain])
      expect(releases).toContain(row.release);
  });

  it('name only packages that have a row', () => {
    const names = new Set(tables.packages.packages.map((row) => row.name));
    for (const profile of tables.profiles.profiles) {
      const used = [...profile.base, ...profile.added, ...profile.optional, ...profile.jax, ...profile.tensorflow];
      for (const name of [...used, ...(profile.lowMemory?.add ?? [])]) expect(names, profile.name).toContain(name);
      expect(new Set(used).size, `${profile.name} lists a package twice`).toBe(used.length);
    }
  });

  it('hold the eight profiles', () => {
    expect(tables.profiles.profiles.map((row) => row.name)).toEqual([
      'learning',
      'research',
      'computer_vision',
      'nlp',
      'deep_learning',
      'production',
      'lightweight',
      'reinforcement_learning',
    ]);
  });

  it('give every compute capability and gfx target one meaning', () => {
    const unique = (values: readonly string[]): void => expect(new Set(values).size).toBe(values.length);
    unique(tables.compute.capabilities.map((row) => row.cc));
    unique(tables.rocm.targets.map((row) => row.gfx));
    const targets = new Set(tables.rocm.targets.map((row) => row.gfx));
    for (const row of [...tables.pytorch.rocm, ...tables.rocm.wheels])
      for (const gfx of row.gfx) expect(targets).toContain(gfx);
  });

  it('order driver branches and the CUDA versions they report alike', () => {
    const rows = tables.cuda.branches;
    for (let i = 1; i < rows.length; i++) {
      expect(rows[i]!.branch).toBeGreaterThan(rows[i - 1]!.branch);
      expect(compareVersions(rows[i]!.cuda, rows[i - 1]!.cuda)).toBeGreaterThan(0);
    }
  });

  it('pin only within the Python range that the pinned version declares', () => {
    for (const row of tables.packages.packages)
      for (const pin of row.pins) {
        expect(compareVersions(pin.pythonMin, pin.pythonMax)).toBeLessThanOrEqual(0);
        expect(compareVersions(pin.version, row.min), `${row.name} ${pin.version}`).toBeGreaterThanOrEqual(
          // The oldest pins serve Pythons that the current line no longer supports.
          compareVersions(pin.pythonMax, '3.13') < 0 ? -1 : 0,
        );
      }
  });
});

describe('a data file of the user', () => {
  const withFile = (content: string, run: (path: string) => void): void => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-data-'));
    try {
      const path = join(folder, 'tables.json');
      writeFileSync(path, content);
      run(path);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it('replaces the tables it names and leaves the others', () => {
    const python = {
      schema: 1,
      title: 'mine',
      reviewed: '2026-01-02',
      versions: [{ version: '3.13', source: 'https://example.org/', reviewed: '2026-01-02' }],
    };
    withFile(JSON.stringify({ python }), (path) => {
      const loaded = loadTables(path);
      expect(loaded.replaced).toEqual(['python']);
      expect(loaded.tables.python.versions.map((row) => row.version)).toEqual(['3.13']);
      expect(loaded.tables.pytorch).toBe(tables.pytorch);
      expect(loaded.reviewed).toBe('2026-01-02');
    });
  });

  it('is refused whole, with the path of each problem', () => {
    const pytorch = structuredClone(tables.pytorch) as unknown as { cuda: { cuda: string; typo?: number }[] };
    pytorch.cuda[2]!.cuda = 'thirteen';
    pytorch.cuda[3]!.typo = 1;
    withFile(JSON.stringify({ pytorch }), (path) => {
      expect(() => loadTables(path)).toThrow(
        /pytorch\.cuda\[2\]\.cuda: expected a version.*thirteen[\s\S]*pytorch\.cuda\[3\]\.typo: unknown key/,
      );
    });
  });

  it('names an unknown table and the one that was meant', () => {
    expect(checkTables({ pytroch: {} })[0]).toMatch(/no such table \(did you mean pytorch\?\)/);
  });

  it.each([
    ['{"a": 1,}', '1:9: a comma before the closing bracket'],
    ['{"a": 1\n "b": 2}', '2:2: expected a comma or }'],
    ['{\n  a: 1\n}', '2:3: expected a key in double quotes'],
    ['{"a": [1, 2', '1:12: the file ends too early'],
    ['{"a": tru}', '1:7: expected a value'],
    ['{} {}', '1:4: text after the end'],
    ['', '1:1: the file ends too early'],
    ['{"a" 1}', '1:6: expected a colon'],
  ])('with broken syntax %j names the place', (source, message) => {
    expect(() => parseJson(source, 'f.json')).toThrow(`f.json:${message}`);
  });

  it('that does not exist is an argument error', () => {
    expect(() => loadTables('/nonexistent/tables.json')).toThrow(/cannot read/);
  });
});

describe('helpers', () => {
  it('find the line of a nested key', () => {
    expect(lineOfKey('{\n "a": {\n  "b": 1\n }\n}', 'a.b')).toBe(3);
    expect(lineOfKey('{}', 'a')).toBeUndefined();
  });

  it('suggest only near names', () => {
    expect(nearest('pytoch', ['pytorch', 'jax'])).toBe('pytorch');
    expect(nearest('mxnet', ['pytorch', 'jax', 'tensorflow'])).toBeUndefined();
  });

  it('warn about tables past their age, not before', () => {
    expect(ageInMonths('2026-11-15', new Date('2027-05-14T00:00:00Z'))).toBe(5);
    expect(ageInMonths('2026-11-15', new Date('2027-05-15T00:00:00Z'))).toBe(6);
    expect(staleness('2026-11-15', new Date('2027-05-15T00:00:00Z'), 6)).toBeUndefined();
    expect(staleness('2026-11-15', new Date('2027-06-15T00:00:00Z'), 6)).toMatch(/2026-11-15, 7 months ago/);
  });
});
