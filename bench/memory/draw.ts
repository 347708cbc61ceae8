// A memory chart as SVG text: live, reserved and spilled bytes over the operations of a run, the budget's pressure levels behind them.

export interface Point {
  /** Operations done so far. */
  readonly at: number;
  readonly live: number;
  readonly reserved: number;
  readonly spilled: number;
  readonly level: string;
}

export interface Mark {
  readonly at: number;
  readonly text: string;
  readonly kind: 'level' | 'cleanup' | 'spill';
}

export interface Chart {
  readonly points: readonly Point[];
  readonly marks: readonly Mark[];
  readonly budgetMb: number;
}

const width = 860;
const height = 400;
const plot = { left: 56, right: 24, top: 62, bottom: 44 };

const bands = [
  { from: 0, to: 60, name: 'low', fill: '#eef7ee' },
  { from: 60, to: 80, name: 'moderate', fill: '#fdf8e1' },
  { from: 80, to: 90, name: 'high', fill: '#fdebd7' },
  { from: 90, to: 100, name: 'critical', fill: '#fbdcdc' },
] as const;

const series = [
  { name: 'reserved', of: (p: Point) => p.reserved, stroke: '#8aa4c8', dash: '4 3' },
  { name: 'live', of: (p: Point) => p.live, stroke: '#1f4e9c', dash: '' },
  { name: 'in host memory', of: (p: Point) => p.spilled, stroke: '#b0452c', dash: '' },
] as const;

const markStyle: Readonly<
  Record<Mark['kind'], { readonly stroke: string; readonly shown: boolean; readonly label: number }>
> = {
  level: { stroke: '#bbbbbb', shown: false, label: 0 },
  cleanup: { stroke: '#2d8a4e', shown: true, label: -6 },
  spill: { stroke: '#b0452c', shown: true, label: 10 },
};

export function draw({ points, marks, budgetMb }: Chart, title: string): string {
  const end = Math.max(1, ...points.map((p) => p.at));
  const top = Math.max(budgetMb, ...points.flatMap((p) => series.map((s) => s.of(p)))) * 1.04;
  const x = (at: number): number => plot.left + (at / end) * (width - plot.left - plot.right);
  const y = (mb: number): number => height - plot.bottom - (mb / top) * (height - plot.top - plot.bottom);
  const out: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12"><title>Memory of a run beyond its budget</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(plot.left, 20, title, 'start', '#222222', 14),
  ];
  for (const b of bands) {
    const [above, below] = [y((b.to / 100) * budgetMb), y((b.from / 100) * budgetMb)];
    const [x0, w] = [x(0), x(end) - x(0)];
    out.push(`<rect x="${n(x0)}" y="${n(above)}" width="${n(w)}" height="${n(below - above)}" fill="${b.fill}"/>`);
    if (below - above > 11) out.push(text(x(0) + 4, above + 12, b.name, 'start', '#999999', 11));
  }
  for (const tick of ticks(top)) {
    out.push(`<line x1="${plot.left}" x2="${n(x(end))}" y1="${n(y(tick))}" y2="${n(y(tick))}" stroke="#00000014"/>`);
    out.push(text(plot.left - 6, y(tick) + 4, String(tick), 'end', '#666666'));
  }
  for (const tick of ticks(end)) out.push(text(x(tick), height - plot.bottom + 18, String(tick), 'middle', '#666666'));
  out.push(text(x(end), height - 8, 'operations', 'end', '#666666'));
  out.push(text(8, plot.top - 10, 'MB', 'start', '#666666'));
  out.push(budgetLine(x(0), x(end), y(budgetMb)));
  const lastLabel = { level: 0, cleanup: 0, spill: 0 };
  for (const m of marks) {
    const { stroke, shown } = markStyle[m.kind];
    if (!shown) continue;
    const at = x(m.at);
    out.push(
      `<line x1="${n(at)}" x2="${n(at)}" y1="${plot.top}" y2="${height - plot.bottom}" stroke="${stroke}" stroke-dasharray="2 3"/>`,
    );
    // Labels that would lie on each other are left out; the line stays. Near the right edge they end at their line.
    const size = m.text.length * 5.6;
    const late = at + size > width - plot.right;
    const from = late ? at - size - 4 : at + 4;
    if (from < lastLabel[m.kind]) continue;
    lastLabel[m.kind] = from + size;
    out.push(
      text(late ? at - 4 : at + 4, plot.top + markStyle[m.kind].label, m.text, late ? 'end' : 'start', stroke, 11),
    );
  }
  for (const s of series) {
    const path = points.map((p, i) => `${i === 0 ? 'M' : 'L'}${n(x(p.at))} ${n(y(s.of(p)))}`).join('');
    out.push(
      `<path d="${path}" fill="none" stroke="${s.stroke}" stroke-width="2"${s.dash ? ` stroke-dasharray="${s.dash}"` : ''}/>`,
    );
  }
  let legend = plot.left;
  for (const s of series) {
    out.push(
      `<line x1="${legend}" x2="${legend + 22}" y1="36" y2="36" stroke="${s.stroke}" stroke-width="2"${s.dash ? ` stroke-dasharray="${s.dash}"` : ''}/>`,
    );
    out.push(text(legend + 27, 40, s.name, 'start', '#222222'));
    legend += 44 + s.name.length * 7;
  }
  out.push('</svg>', '');
  return out.join('\n');
}

const n = (v: number): string => String(Math.round(v * 10) / 10);

function text(x: number, y: number, s: string, anchor: string, fill: string, size = 12): string {
  const escaped = s.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  return `<text x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" fill="${fill}" font-size="${size}">${escaped}</text>`;
}

function budgetLine(from: number, to: number, y: number): string {
  return `<line x1="${n(from)}" x2="${n(to)}" y1="${n(y)}" y2="${n(y)}" stroke="#444444"/>\n${text(from + 4, y - 4, 'budget', 'start', '#444444', 11)}`;
}

/** Five or so round numbers from 0. */
function ticks(end: number): number[] {
  const rough = end / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough)!;
  const list: number[] = [];
  for (let v = 0; v <= end; v += step) list.push(Math.round(v * 1e6) / 1e6);
  return list;
}
