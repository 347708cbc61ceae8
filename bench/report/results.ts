// The files of bench/results as one list of figures, whatever bench wrote them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Verdict = 'met' | 'missed' | 'not measured' | null;

export interface Figure {
  readonly what: string;
  readonly figure: string;
  /** The range of the samples; null if the bench kept none. */
  readonly spread: string | null;
  readonly limit: string | null;
  readonly verdict: Verdict;
}

export interface ResultFile {
  readonly file: string;
  readonly command: string;
  /** Null if the bench did not note it. */
  readonly date: string | null;
  readonly device: string;
  readonly figures: readonly Figure[];
  /** Results that were kept as text. */
  readonly text: string | null;
}

type Data = Record<string, unknown>;

const number = (v: number): string =>
  Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 1 ? v.toFixed(2) : v.toPrecision(3);
const isNumber = (v: unknown): v is number => typeof v === 'number' && Number.isFinite(v);
const range = (low: unknown, high: unknown, unit: string): string | null =>
  isNumber(low) && isNumber(high) ? `${number(low)} to ${number(high)} ${unit}` : null;
const passed = (v: unknown): Verdict => (v === true ? 'met' : v === false ? 'missed' : null);
const list = (v: unknown): Data[] => (Array.isArray(v) ? (v as Data[]) : []);

/** compute, profile and others that write a verdict with each row. */
const judged = (d: Data): Figure[] =>
  list(d.rows).map((r) => {
    const samples = (r.data as Data | undefined)?.samples;
    const sorted = Array.isArray(samples) ? [...(samples as number[])].sort((a, b) => a - b) : [];
    return {
      what: `${r.id}: ${r.what}`,
      figure: String(r.figures),
      spread: sorted.length > 1 ? `${sorted.length} samples, ${number(sorted[0]!)} to ${number(sorted.at(-1)!)}` : null,
      limit: String(r.limit),
      verdict: r.verdict as Verdict,
    };
  });

/** Medians in µs with the range of the samples. */
const timed = (rows: unknown): Figure[] =>
  list(rows).map((r) => ({
    what: String(r.name ?? r.what),
    figure: `${number(Number(r.us))} µs`,
    spread: range(r.low, r.high, 'µs'),
    limit: r.note ? String(r.note) : null,
    verdict: null,
  }));

const gpu = (d: Data): Figure[] => [
  ...list(d.table).map((r) => ({
    what: String(r.work),
    figure: `${number(Number(r.ours))} µs${isNumber(r.torch) ? ` (PyTorch ${number(r.torch)} µs)` : ''}`,
    spread: null,
    limit: isNumber(r.bound) ? `at most ${number(r.bound)} µs` : null,
    verdict: passed(r.kept),
  })),
  ...timed(d.rows),
];

const webgpu = (d: Data): Figure[] =>
  list(d.rows).map((r) => {
    const results = (r.results ?? {}) as Record<string, Data>;
    // Some rows are done by hand, to be measured against.
    const byHand = !isNumber(results.gpuforge?.median);
    const ours = (byHand ? results.bare : results.gpuforge) ?? {};
    const scale = r.unit === 'µs' ? 1000 : 1;
    const times = (v: unknown): number => scale * Number(v);
    const bounds = list(r.bounds);
    return {
      what: String(r.title),
      figure: `${number(times(ours.median))} ${r.unit}${byHand ? ' (by hand)' : ''}`,
      spread: range(times(ours.low), times(ours.high), String(r.unit)),
      limit: bounds.map((b) => `${b.at}: ${number(Number(b.ratio))} ×`).join('; ') || null,
      verdict: bounds.length === 0 ? null : passed(bounds.every((b) => b.pass === true)),
    };
  });

const isolation = (d: Data): Figure[] => [
  ...list(d.rows).map((r) => ({
    what: String(r.name),
    figure: `in process ${number(Number(r.none))} ${r.unit}, isolated ${number(Number(r.process))} ${r.unit}`,
    spread: null,
    limit: null,
    verdict: null,
  })),
  ...Object.entries((d.recovered ?? {}) as Record<string, Data>).map(([what, r]) => ({
    what: `${what}: first right result after`,
    figure: `${number(Number(r.ms))} ms`,
    spread: null,
    limit: 'at most 2 s',
    verdict: passed(Number(r.ms) <= 2000),
  })),
];

const routing = (d: Data): Figure[] => [
  ...list(d.scores).map((s) => ({
    what: `${s.name}: regret over the best choice`,
    figure: `${(100 * Number(s.regret)).toFixed(1)} %, worst call ${number(Number(s.worst))} ×`,
    spread: isNumber(s.p99) ? `p99 ${number(s.p99)} ×` : null,
    limit: null,
    verdict: null,
  })),
  ...list(d.checks).map((c) => ({
    what: String(c.name ?? c.what ?? c.text ?? 'check'),
    figure: String(c.measured ?? c.value ?? ''),
    spread: null,
    limit: c.limit === undefined ? null : String(c.limit),
    verdict: passed(c.pass ?? c.holds ?? c.ok ?? c.met),
  })),
];

/** What nobody wrote a reader for: every number, by its path. */
const anything = (d: Data): Figure[] => {
  const found: Figure[] = [];
  const visit = (value: unknown, path: string): void => {
    if (found.length >= 200) return;
    if (isNumber(value)) found.push({ what: path, figure: number(value), spread: null, limit: null, verdict: null });
    else if (typeof value === 'object' && value !== null) {
      for (const [k, v] of Object.entries(value)) visit(v, path === '' ? k : `${path}.${k}`);
    }
  };
  visit(d, '');
  return found;
};

interface Reader {
  readonly command: (d: Data) => string;
  readonly figures: (d: Data) => Figure[];
}

const readers: Readonly<Record<string, Reader>> = {
  compute: { command: () => 'npm run bench -- compute', figures: judged },
  profile: { command: () => 'npm run bench -- profile', figures: judged },
  gpu: { command: () => 'npm run bench -- --gpu', figures: gpu },
  webgpu: { command: () => 'npm run bench -- webgpu', figures: webgpu },
  isolation: { command: (d) => `npm run bench -- isolation --devices ${d.kind ?? 'cpu'}`, figures: isolation },
  routing: { command: () => 'npm run bench -- routing', figures: routing },
};

const textCommands: Readonly<Record<string, string>> = {
  memory: 'npm run bench -- memory oversubscribe --devices cuda --budget 1GiB',
  gpu: 'node --expose-gc dist/gpu/tensors.mjs, two commits in turns',
};

const deviceOf = (d: Data): string => {
  if (typeof d.device === 'string') return d.device;
  if (d.device) return String((d.device as Data).name);
  if (Array.isArray(d.devices)) return d.devices.join(', ');
  const libraries = d.libraries as Record<string, Data> | undefined;
  if (libraries?.gpuforge?.adapter) return String(libraries.gpuforge.adapter);
  return typeof d.machine === 'string' ? d.machine : String((d.machine as Data | undefined)?.cpu ?? 'not noted');
};

const looksJudged = (d: Data): boolean => list(d.rows).some((r) => 'verdict' in r && 'figures' in r);

function readResult(root: string, file: string): ResultFile {
  const content = readFileSync(join(root, 'bench/results', file), 'utf8');
  const kind = file.split('-')[0]!.split('.')[0]!;
  const inName = /\d{4}-\d{2}-\d{2}/.exec(file)?.[0] ?? null;
  if (!file.endsWith('.json')) {
    const device =
      /(NVIDIA [A-Z]?\w+|H200|AMD EPYC|Intel(\(R\))? Xeon)/.exec(content)?.[0] ??
      (file.includes('h200') ? 'NVIDIA H200' : 'not noted');
    return { file, command: textCommands[kind] ?? 'in the file', date: inName, device, figures: [], text: content };
  }
  const d = JSON.parse(content) as Data;
  const reader = readers[kind];
  const figures = looksJudged(d)
    ? judged(d)
    : (reader?.figures(d) ?? (list(d.rows).some((r) => isNumber(r.us)) ? timed(d.rows) : anything(d)));
  return {
    file,
    command: typeof d.command === 'string' ? d.command : (reader?.command(d) ?? `npm run bench -- ${kind}`),
    date: String(d.at ?? d.date ?? d.createdAt ?? inName ?? '').slice(0, 10) || null,
    device: deviceOf(d),
    figures,
    text: null,
  };
}

export const readResults = (root: string): ResultFile[] =>
  readdirSync(join(root, 'bench/results'))
    .filter((f) => /\.(json|txt)$/.test(f))
    .sort()
    .map((f) => readResult(root, f));
