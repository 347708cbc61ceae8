// Figures that the pages publish: tables with measured values. Each must name the file of results that it is from.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PublishedTable {
  readonly page: string;
  readonly line: number;
  readonly heading: string;
  /** Files of results that the section names; empty if it names none. */
  readonly results: readonly string[];
  /** Named, and not there. */
  readonly missing: readonly string[];
}

/** A value that somebody measured: a number with a unit of time or speed, or a factor. */
const figure = /\d\s?(ns|µs|ms|GB\/s|TB\/s|[GT]FLOP\/s|×)(?![A-Za-z])/;
/** A heading of a column that says so for numbers below it. */
const unitHead = /\b(ns|µs|ms|GB\/s|TB\/s|[GT]FLOP\/s|median|measured)\b|×/i;
const named =
  /((?:arrays|compute|gpu|isolation|memory|routing|small|tiny|webgpu|profile|batch|field|lattice|host|copies|spans|everyday|studio|tfjs|forge|cpu)-[\w.-]+\.(?:json|txt))/g;

interface Section {
  readonly heading: string;
  readonly start: number;
  readonly lines: readonly string[];
}

function sections(text: string): Section[] {
  const found: Section[] = [];
  let [heading, start, lines, fenced] = ['', 0, [] as string[], false];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.startsWith('```')) fenced = !fenced;
    const head = fenced ? null : /^#+ (.*)/.exec(line);
    if (head) {
      found.push({ heading, start, lines });
      [heading, start, lines] = [head[1]!, i, []];
    }
    lines.push(line);
  }
  return [...found, { heading, start, lines }];
}

/** Tables of a section as [line, rows of cells]. */
function tables({ lines, start }: Section): { line: number; rows: string[][] }[] {
  const found: { line: number; rows: string[][] }[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (!/^\s*\|.*\|/.test(lines[i]!) || !/^\s*\|[\s:|-]+\|?\s*$/.test(lines[i + 1] ?? '')) continue;
    const from = i;
    const rows: string[][] = [];
    for (; i < lines.length && lines[i]!.trim().startsWith('|'); i++)
      rows.push(
        lines[i]!.split('|')
          .slice(1, -1)
          .map((c) => c.trim()),
      );
    found.push({ line: start + from + 1, rows: [rows[0]!, ...rows.slice(2)] });
  }
  return found;
}

function isPublished([head, ...body]: readonly string[][]): boolean {
  if (body.some((row) => row.slice(1).some((cell) => figure.test(cell)))) return true;
  return head!.some(
    (cell, c) =>
      unitHead.test(cell) && body.some((row) => row.some((v, k) => k > 0 && k >= c && /^\**\d+(\.\d+)?/.test(v))),
  );
}

/** The block that `npm run bench -- --update` writes is a result itself: it holds command, machine, spread and misses. */
const isWrittenByBench = (section: Section): boolean => section.lines.some((l) => l.includes('last run: begin'));

/** `exempt` headings hold limits and promises, not measurements: 'page#heading'. */
export function publishedTables(root: string, exempt: ReadonlySet<string>): PublishedTable[] {
  const pages = ['README.md', ...markdown(root, 'docs'), ...markdown(root, 'bench')];
  return pages.flatMap((page) =>
    sections(readFileSync(join(root, page), 'utf8')).flatMap((section) => {
      if (exempt.has(`${page}#${section.heading}`)) return [];
      const names = [...new Set([...section.lines.join('\n').matchAll(named)].map((m) => m[1]!))];
      const there = (name: string): boolean => existsSync(join(root, 'bench/results', name));
      const own = isWrittenByBench(section) ? [`../${page.replace(/^bench\//, '')}`] : [];
      return tables(section)
        .filter((t) => isPublished(t.rows))
        .map((t) => ({
          page,
          line: t.line,
          heading: section.heading,
          results: [...names.filter(there), ...own],
          missing: names.filter((n) => !there(n)),
        }));
    }),
  );
}

const markdown = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((f) => `${folder}/${f.replaceAll('\\', '/')}`)
    .filter((f) => f.endsWith('.md') && !f.includes('node_modules'))
    .sort();

/** Tables of settings and formats: the numbers in them were chosen, not measured. */
export const settings: ReadonlySet<string> = new Set([
  'docs/batch.md#Processors',
  'docs/compute.md#When something goes wrong',
  'docs/cuda.md#Options',
  'docs/failure.md#What can fail, and what happens then',
  'docs/field-wire.md#Frames',
  'docs/webgpu.md#What stays on the chip',
]);

/** Those whose section names no file of results, or one that is not there. */
export const unbacked = (tables: readonly PublishedTable[]): PublishedTable[] =>
  tables.filter((t) => t.results.length === 0 || t.missing.length > 0);
