// npm run bench -- report [--out FILE]: every published figure of the project on one page that needs no network, with command,
// date, device, spread and what was missed. Ends with status 1 if a page publishes figures without a file of results.
//
// npm run bench -- gate BEFORE.json AFTER.json: whether figures became worse, by the gate of the profiler. Status 0 none, 1
// regression, 2 for files that cannot be read, 3 if they hold no samples to judge by.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { gateCases, gateStatus, gateText } from '../../src/profile/index.ts';
import { reportPage } from './page.ts';
import { publishedTables, settings, unbacked } from './pages.ts';
import { readResults } from './results.ts';

async function report(out: string): Promise<number> {
  const [results, tables] = [readResults('.'), publishedTables('.', settings)];
  const bad = unbacked(tables);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, await reportPage(results, tables, bad));
  const figures = results.flatMap((r) => r.figures);
  const missed = figures.filter((f) => f.verdict === 'missed').length;
  console.log(
    `${figures.length} figures of ${results.length} files, ${missed} missed; ${tables.length} published tables`,
  );
  for (const t of bad) {
    const why =
      t.missing.length > 0 ? `names ${t.missing.join(', ')}, which is not there` : 'names no file of bench/results';
    console.error(`${t.page}:${t.line} '${t.heading}': figures without a result: the section ${why}`);
  }
  console.log(`written to ${out}`);
  return bad.length > 0 ? 1 : 0;
}

/** Rows of a file with their samples, by what they measure. */
function samplesOf(file: string): Map<string, number[]> {
  const { rows } = JSON.parse(readFileSync(file, 'utf8')) as {
    rows?: { id: string; what: string; data?: { samples?: number[] } }[];
  };
  return new Map(
    (rows ?? []).flatMap((r) => (r.data?.samples ? [[`${r.id}: ${r.what}`, r.data.samples] as const] : [])),
  );
}

function gateFiles(before: string | undefined, after: string | undefined): number {
  if (!before || !after || !existsSync(before) || !existsSync(after)) {
    console.error('gate: give two files of results, the older one first');
    return 2;
  }
  const now = samplesOf(after);
  const cases = [...samplesOf(before)].map(([operation, samples]) => ({
    operation,
    before: samples,
    after: now.get(operation) ?? [],
  }));
  const { outcome, rows } = gateCases(cases);
  const reason = rows.some((r) => r.judged) ? null : 'the files hold no samples to judge by';
  console.log(gateText({ outcome, reason, machine: '', rows }));
  return gateStatus[outcome];
}

const args = process.argv.slice(2);
const outAt = args.indexOf('--out');
const gateAt = args.indexOf('--gate');
process.exitCode =
  gateAt >= 0
    ? gateFiles(args[gateAt + 1], args[gateAt + 2])
    : await report(outAt >= 0 ? args[outAt + 1]! : 'dist/bench/report.html');
