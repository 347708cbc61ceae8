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
