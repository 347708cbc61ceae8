// npm run bench -- report: every published figure has a file of results, and every file is on the page.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { reportPage } from '../../bench/report/page.ts';
import { publishedTables, settings, unbacked } from '../../bench/report/pages.ts';
import { readResults } from '../../bench/report/results.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-report-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the published figures', () => {
  it('have files of results, but for those whose runs were not kept', () => {
    const tables = publishedTables(root, settings);
    expect(tables.length).toBeGreaterThan(10);
    // Whoever publishes a figure keeps the run: this list only becomes shorter.
    const gaps = new Set(['docs/forge/detect.md#What it costs', 'docs/gpu-results.md#What was tried']);
    expect(unbacked(tables).filter((t) => !gaps.has(`${t.page}#${t.heading}`))).toEqual([]);
  });

  it.each(['README.md', 'docs/gpu-results.md'])('of everyday programs in %s are those of the file', (page) => {
    interface Everyday {
      readonly rows: readonly { readonly name: string; readonly us: number }[];
      readonly torch: Readonly<Record<'eager' | 'compiled', Readonly<Record<string, number>>>>;
    }
    const file = 'bench/results/everyday-h200-2026-11-20.json';
    const text = readFileSync(join(root, page), 'utf8');
    expect(text).toContain(file);
    const { rows, torch } = JSON.parse(readFileSync(join(root, file), 'utf8')) as Everyday;
    const shown = (us: number | undefined): string =>
      us === undefined ? '' : us < 1000 ? us.toFixed(1) : Math.round(us).toLocaleString('en');
    const quoted = rows.flatMap(({ name, us }) => {
      const [, row] = text.split(`\n| ${name} |`);
      const cells = row?.split('|').slice(0, 3);
      const figures = [us, torch.eager[name], torch.compiled[name]].map(shown);
      return cells ? [{ name, cells: cells.map((cell) => cell.trim()), figures }] : [];
    });
    expect(quoted.length).toBeGreaterThan(9);
    for (const { name, cells, figures } of quoted) expect(cells, name).toEqual(figures);
  });

  it('are all on the page, with command, device and date', async () => {
    const results = readResults(root);
    expect(results.length).toBeGreaterThan(8);
    for (const r of results) {
      expect(r.figures.length > 0 || r.text !== null, r.file).toBe(true);
      expect(r.command, r.file).not.toBe('');
      expect(r.device, r.file).not.toBe('not noted');
      for (const f of r.figures) expect(f.figure, `${r.file}: ${f.what}`).not.toMatch(/NaN|undefined/);
    }
    const tables = publishedTables(root, settings);
    const page = await reportPage(results, tables, unbacked(tables));
    for (const r of results) expect(page).toContain(`<h2>${r.file}</h2>`);
    expect(page).not.toMatch(/https?:\/\//);
    expect(page).toContain('class="missed"');
  });
});

describe('a page', () => {
  const write = (file: string, text: string): void => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const table = '\n| work | time |\n|---|---|\n| add | 5 µs |\n';

  it('with figures fails without a file of results, or with one that is not there', () => {
    write('README.md', '# Start\n');
    write('bench/results/gpu-a.json', '{"rows":[]}');
    write('bench/README.md', `# Bench\n<!-- last run: begin -->\n${table}`);
    write('docs/good.md', `# Good\nFrom \`bench/results/gpu-a.json\`:\n${table}`);
    write('docs/bare.md', `# Bare\n${table}`);
    write('docs/gone.md', `# Gone\nFrom \`gpu-gone.json\`:\n${table}`);
    write('docs/settings.md', `# Settings\n${table}`);
    write('docs/words.md', '# Words\n\n| a | b |\n|---|---|\n| one | 2 |\n');
    write('docs/code.md', '# Code\n```\n| work | time |\n|---|---|\n| add | fast |\n```\n');
    const tables = publishedTables(folder, new Set(['docs/settings.md#Settings']));
    expect(tables.map((t) => t.page).sort()).toEqual([
      'bench/README.md',
      'docs/bare.md',
      'docs/gone.md',
      'docs/good.md',
    ]);
    expect(unbacked(tables).map((t) => [t.page, t.missing])).toEqual([
      ['docs/bare.md', []],
      ['docs/gone.md', ['gpu-gone.json']],
    ]);
  });

  it('shows text from results as text', async () => {
    const file = { file: '<b>.json', command: '<i>', date: null, device: '<u>', figures: [], text: '</pre><script>' };
    const page = await reportPage([file], [], []);
    expect(page).not.toMatch(/<(b|i|u|script)>/);
    expect(page).toContain('date not noted');
  });
});
