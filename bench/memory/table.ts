/** Columns as wide as their widest cell; the first `left` are flush left, the others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], left: number): string {
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((c, i) => (i < left ? c.padEnd(widths[i]!) : c.padStart(widths[i]!)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((w) => '-'.repeat(w)).join('  '), ...rows.map(line)].join('\n');
}

/** A column of a table whose rows are printed as they come. */
export interface Column {
  readonly head: string;
  readonly width: number;
  readonly left?: boolean;
}

export const rowOf = (columns: readonly Column[], cells: readonly string[]): string =>
  columns
    .map(({ width, left }, i) => (left ? cells[i]!.padEnd(width) : cells[i]!.padStart(width)))
    .join('  ')
    .trimEnd();
