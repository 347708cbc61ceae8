// What the bench found: one line per measurement with the figure, the limit and whether it holds.

export type Verdict = 'met' | 'missed' | 'not measured';

export interface Row {
  readonly id: string;
  readonly what: string;
  /** Figures in words, with units. */
  readonly figures: string;
  readonly limit: string;
  readonly verdict: Verdict;
  /** The figures as data. */
  readonly data: Readonly<Record<string, unknown>>;
}

export const verdict = (holds: boolean): Verdict => (holds ? 'met' : 'missed');

/** How far a share of the time may be from its ceiling, to either side. */
const ceilingMargin = 0.05;

/**
 * Whether a ceiling was met: no share above it, and none far below, as the device was not to idle either. Without a ceiling the
 * load must reach it, or there is nothing to be seen.
 */
export function ceilingVerdict(shares: readonly number[], ceiling: number, without: number | null): Verdict {
  if (shares.length === 0 || without === null || without < ceiling + ceilingMargin) return 'not measured';
  return verdict(Math.max(...shares) <= ceiling + ceilingMargin && Math.min(...shares) >= ceiling - ceilingMargin);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

export function show(rows: readonly Row[]): string {
  const cells = rows.map((r) => [r.id, r.what, r.figures, r.limit, r.verdict]);
  const heads = ['id', 'what', 'measured', 'limit', ''];
  const widths = heads.map((h, i) => Math.max(h.length, ...cells.map((c) => c[i]!.length)));
  const line = (c: readonly string[]): string =>
    c
      .map((text, i) => text.padEnd(widths[i]!))
      .join('  ')
      .trimEnd();
  return [line(heads), line(widths.map((w) => '-'.repeat(w))), ...cells.map(line)].join('\n');
}
