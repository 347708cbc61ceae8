// What the publishers of the tables' facts say today: PyTorch's RELEASE.md and NVIDIA's list of driver releases.
//
// Both are read as they are published for people and scripts. A page whose form has changed gives nothing, which is told
// apart from "nothing new"; a row that makes no sense is left out.

import { isObject } from './schema.ts';

export const RELEASE_MD = 'https://raw.githubusercontent.com/pytorch/pytorch/main/RELEASE.md';
export const DRIVER_RELEASES = 'https://docs.nvidia.com/datacenter/tesla/drivers/releases.json';

export interface UpstreamRelease {
  /** "2.15": the page names no patch releases. */
  readonly minor: string;
  readonly pythonMin: string;
  /** The newest Python that is supported, and the newest one that is built for as an experiment. */
  readonly pythonMax: string;
  readonly pythonTried: string;
  readonly stable: readonly string[];
  readonly experimental: readonly string[];
  /** "2026-10"; null where the page gives no day. */
  readonly released: string | null;
  /** The first day on which it is out: "2026-10-28". */
  readonly day: string | null;
}

export interface UpstreamKernels {
  readonly cubins: readonly string[];
  readonly ptx: string | null;
  readonly ptxOnlyLinux: boolean;
}

export interface UpstreamPytorch {
  readonly releases: readonly UpstreamRelease[];
  /** The releases for which the kernels below are told. */
  readonly kernelsOf: readonly string[];
  /** By CUDA version: "13.0". */
  readonly x64: ReadonlyMap<string, UpstreamKernels>;
  readonly arm64: ReadonlyMap<string, UpstreamKernels>;
}

export interface UpstreamBranch {
  readonly branch: number;
  readonly kind: 'long-term' | 'production' | 'feature';
}

/** The tables of RELEASE.md; undefined when the page no longer has them. */
export function parseReleaseMd(text: string): UpstreamPytorch | undefined {
  const days = new Map(
    rowsOf(text, /^\| *Minor Version *\|/).flatMap(([minor = '', , day = '']) => {
      const read = dayOf(day);
      return read ? [[minor, read] as const] : [];
    }),
  );
  const releases = rowsOf(text, /^\| *PyTorch version *\| *Python *\|/).flatMap((cells) => {
    const [minor = '', python = '', , stable = '', experimental = ''] = cells;
    const low = /[>≥]=? ?(3\.\d+)/.exec(python)?.[1];
    const named = [...python.matchAll(/(3\.\d+)(?!\d|t)/g)].map((found) => found[1]!).slice(1);
    if (!/^\d+\.\d+$/.test(minor) || low === undefined || named.length === 0) return [];
    const day = days.get(minor) ?? null;
    return [
      {
        minor,
        pythonMin: low,
        pythonMax: named[0]!,
        pythonTried: named.at(-1)!,
        stable: cudasIn(stable),
        experimental: cudasIn(experimental),
        released: day?.slice(0, 7) ?? null,
        day,
      },
    ];
  });
  if (releases.length === 0) return undefined;
  return {
    releases,
    kernelsOf: /^For Release ([\d., and]+) PyTorch/m.exec(text)?.[1]?.match(/\d+\.\d+/g) ?? [],
    x64: kernelsIn(rowsOf(text, /^\| *CUDA *\|[^|]*Linux x86/)),
    arm64: kernelsIn(rowsOf(text, /^\| *CUDA *\|[^|]*aarch64/)),
  };
}

/** The cells of the rows below a heading row of a table. */
function rowsOf(text: string, heading: RegExp): readonly (readonly string[])[] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => heading.test(line));
  if (start < 0) return [];
  const after = lines.slice(start + 2);
  const end = after.findIndex((line) => !line.startsWith('|'));
  return after.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const cudasIn = (cell: string): readonly string[] => [...cell.matchAll(/CUDA (\d+\.\d+)/g)].map((found) => found[1]!);

function kernelsIn(rows: readonly (readonly string[])[]): ReadonlyMap<string, UpstreamKernels> {
  return new Map(
    rows.flatMap(([cuda = '', kernels = '', notes = '']) => {
      const version = /^\d+\.\d+/.exec(cuda)?.[0];
      const cubins = [...kernels.matchAll(/\b(\d{1,2}\.\d)\b/g)].map((found) => found[1]!);
      if (version === undefined || cubins.length === 0) return [];
      const ptx = /(\d{1,2}\.\d)\+PTX/.exec(kernels)?.[1] ?? null;
      return [[version, { cubins, ptx, ptxOnlyLinux: /linux builds only/i.test(notes) }] as const];
    }),
  );
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** "28 Oct 2026" and "Oct 2026" (its last day, so that nothing counts as out too early); nothing else. */
function dayOf(cell: string): string | undefined {
  const found = /^(?:(\d{1,2}) )?([A-Za-z]{3})[a-z]* (\d{4})$/.exec(cell);
  const month = MONTHS.indexOf(found?.[2]?.toLowerCase() ?? '') + 1;
  if (!found || month === 0) return undefined;
  const year = Number(found[3]);
  const day = found[1] === undefined ? new Date(Date.UTC(year, month, 0)).getUTCDate() : Number(found[1]);
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

const KINDS: readonly (readonly [RegExp, UpstreamBranch['kind']])[] = [
  [/lts|long.?term/i, 'long-term'],
  [/production/i, 'production'],
  [/feature/i, 'feature'],
];

/** The driver branches of NVIDIA's list; undefined when it is no such list. */
export function parseDriverReleases(text: string): readonly UpstreamBranch[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const branches = Object.entries(value).flatMap(([name, row]) => {
    const type = isObject(row) && typeof row.type === 'string' ? row.type : '';
    const kind = KINDS.find(([words]) => words.test(type))?.[1];
    return /^\d{3}$/.test(name) && kind ? [{ branch: Number(name), kind }] : [];
  });
  return branches.length > 0 ? branches : undefined;
}
