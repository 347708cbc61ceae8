// The last run as Markdown, written between two marks of README.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { figure, inUnit } from './show.mjs';

const marks = ['<!-- last run: begin -->', '<!-- last run: end -->'];

const row = (cells) => `| ${cells.join(' | ')} |`;
const table = (head, body) => [row(head), row(head.map(() => '---')), ...body.map(row)].join('\n');
const verdict = (pass) => (pass === null ? 'not measured' : pass ? 'reached' : '**missed**');

function cell(r, unit) {
  if (!r || r.unsupported) return '–';
  if (r.error) return 'error';
  return `${figure(inUnit(r.median, unit))} (${figure(inUnit(r.low, unit))}–${figure(inUnit(r.high, unit))})`;
}

function works(report) {
  const libraries = Object.keys(report.libraries).filter((l) => l !== 'gpuforge-blas' && !report.libraries[l].error);
  const times = report.rows.map((r) => [
    `${r.title}, ${r.unit}`,
    ...libraries.map((l) => cell(r.results[l] ?? (l === 'gpuforge' ? r.results['gpuforge-blas'] : undefined), r.unit)),
  ]);
  const bounds = report.rows.flatMap((r) =>
    r.bounds.map((b) => [
      r.title,
      `${b.times} × ${b.against ?? b.of}`,
      b.ratio === null ? '–' : `${figure(b.ratio)} ×`,
      verdict(b.pass),
    ]),
  );
  return [table(['median (middle 80 %)', ...libraries], times), table(['work', 'at most', 'measured', ''], bounds)];
}

function scaling({ columns, rows }) {
  const size = (n) => (n >= 2 ** 20 ? `${n / 2 ** 20}M` : `${n / 2 ** 10}K`);
  return Object.entries(rows).map(([work, list]) =>
    table(
      [`${work}, µs`, ...columns],
      list.map(({ size: n, medians }) => [size(n), ...columns.map((c) => figure((medians[c] ?? Number.NaN) * 1000))]),
    ),
  );
}

export function markdown(report) {
  const m = report.machine;
  const about = Object.entries(report.libraries)
    .filter(([, a]) => !a.error && a.version)
    .map(([name, a]) => `${name} ${a.version}`)
    .join(', ');
  const parts = [
    `\`npm run bench -- --rounds ${report.settings.rounds} --seconds ${report.settings.seconds}\` on ${m.cpu}, ${m.cores} cores, node ${m.node}, load at the start ${figure(m.load)}; ${about}.`,
  ];
  if (report.rows.length > 0) parts.push(...works(report));
  if (report.scaling) parts.push(...scaling(report.scaling));
  const others = [];
  if (report.import) {
    const i = report.import;
    others.push(['import over bare node, ms', `${i.bound}`, figure(i.cost), verdict(i.pass)]);
  }
  if (report.memory) {
    const x = report.memory;
    const mib = (b) => (b / 2 ** 20).toFixed(0);
    others.push(['peak memory of the fused chain, MiB', mib(x.bound), mib(x.peakBytes), verdict(x.pass)]);
  }
  if (others.length > 0) parts.push(table(['figure', 'at most', 'measured', ''], others));
  return parts.join('\n\n');
}

/** Puts a run into README.md in place of the one before. */
export function writeLastRun(path, report) {
  const text = readFileSync(path, 'utf8');
  const [from, to] = marks.map((m) => text.indexOf(m));
  if (from < 0 || to < from) throw new Error(`${path} has no marks for the last run`);
  const before = text.slice(0, from + marks[0].length);
  writeFileSync(path, `${before}\n\n${markdown(report)}\n\n${text.slice(to)}`);
}
