// The page of the report.

import { cspHash, escapeHtml } from '../../src/base/html.ts';
import type { PublishedTable } from './pages.ts';
import type { Figure, ResultFile } from './results.ts';

const style = `
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5b6675;--line:#dde2e8;--bad:#b3261e;--good:#1a7f37}
@media (prefers-color-scheme:dark){:root{--bg:#11151b;--card:#1a2028;--ink:#e6eaf0;--soft:#9aa6b5;--line:#2d3642;--bad:#ff8a80;--good:#6fd08c}}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1100px;margin:0 auto;padding:20px 16px 60px}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:0 0 14px}
h1{font-size:22px}h2{font-size:16px;margin:0 0 4px;overflow-wrap:anywhere}
p{margin:0 0 8px;color:var(--soft);overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--line)}
td:first-child{min-width:220px}
pre{overflow-x:auto;font-size:12.5px}
.missed{color:var(--bad);font-weight:600}.met{color:var(--good)}
@media print{section{break-inside:avoid}}
`;

const e = escapeHtml;
const cell = (text: string | null): string => `<td>${e(text ?? '–')}</td>`;
const row = (cells: readonly string[]): string => `<tr>${cells.join('')}</tr>`;
const table = (heads: readonly string[], rows: readonly string[]): string =>
  `<div class="scroll"><table><thead><tr>${heads.map((h) => `<th scope="col">${e(h)}</th>`).join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
const section = (title: string, about: string, body: string): string =>
  `<section><h2>${e(title)}</h2><p>${e(about)}</p>${body}</section>`;

const verdict = (v: Figure['verdict']): string =>
  `<td${v === 'met' || v === 'missed' ? ` class="${v}"` : ''}>${e(v === null ? '' : v)}</td>`;

const figureRow = (f: Figure): string =>
  row([cell(f.what), cell(f.figure), cell(f.spread), cell(f.limit), verdict(f.verdict)]);

const heads = ['What', 'Measured', 'Spread', 'Limit', ''];

const resultSection = (r: ResultFile): string =>
  section(
    r.file,
    `${r.device} · ${r.date ?? 'date not noted'} · ${r.command}`,
    r.text === null ? table(heads, r.figures.map(figureRow)) : `<pre>${e(r.text)}</pre>`,
  );

export async function reportPage(
  results: readonly ResultFile[],
  tables: readonly PublishedTable[],
  unbacked: readonly PublishedTable[],
): Promise<string> {
  const missed = results.flatMap((r) =>
    r.figures
      .filter((f) => f.verdict === 'missed')
      .map((f) => row([cell(r.device), cell(f.what), cell(f.figure), cell(f.limit), cell(r.file)])),
  );
  const where = (t: PublishedTable): string =>
    row([
      cell(`${t.page}:${t.line}`),
      cell(t.heading),
      cell(t.results.join(', ') || 'none'),
      cell(t.missing.join(', ') || null),
    ]);
  const pageHeads = ['Page', 'Section', 'Results', 'Named, and not there'];
  const parts = [
    section(
      'Missed',
      'Limits that were not kept.',
      missed.length > 0 ? table(['Device', 'What', 'Measured', 'Limit', 'File'], missed) : '<p>None.</p>',
    ),
    section(
      'Published without a result',
      'Tables of figures whose section names no file of results.',
      unbacked.length > 0 ? table(pageHeads, unbacked.map(where)) : '<p>None.</p>',
    ),
    section(
      'Published tables',
      'Where figures are shown, and the files they are from.',
      table(pageHeads, tables.map(where)),
    ),
    ...results.map(resultSection),
  ];
  const policy = `default-src 'none'; style-src ${await cspHash(style)}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${e(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GPUForge: published figures</title><style>${style}</style></head>
<body><main><h1>GPUForge: published figures</h1>
<p>Made by npm run bench -- report from the files in bench/results.</p>
${parts.join('\n')}
</main></body></html>
`;
}
