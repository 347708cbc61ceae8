// What happened after a fault, as SVG: moments on a line of time, labels one below the other.

export interface Moment {
  /** Milliseconds from the fault. */
  readonly at: number;
  readonly what: string;
}

const width = 720;
const left = 40;
const row = 30;

export function timeline(moments: readonly Moment[], caption: string): string {
  const last = Math.max(...moments.map((m) => m.at));
  const step = niceStep(last);
  const end = Math.ceil(last / step) * step;
  const x = (ms: number): number => left + (ms / end) * (width - 2 * left);
  const base = 70;
  const height = base + 40 + moments.length * row;
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, i) => i * step);
  const colours = ['#dc2626', '#d97706', '#2563eb', '#059669'];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13"><title>A killed device process, and the runtime going on</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${left}" y="28" fill="#111827" font-size="15">${caption}</text>
${ticks.map((t) => `<line x1="${x(t)}" y1="${base - 6}" x2="${x(t)}" y2="${height - 20}" stroke="#e5e7eb"/><text x="${x(t)}" y="${base - 12}" text-anchor="middle" fill="#6b7280">${t} ms</text>`).join('\n')}
<line x1="${left}" y1="${base}" x2="${width - left}" y2="${base}" stroke="#111827"/>
${moments.map((m, i) => dot(m, x(m.at), base, base + 28 + i * row, colours[Math.min(i, colours.length - 1)]!)).join('\n')}
</svg>
`;
}

function dot({ at, what }: Moment, x: number, base: number, y: number, colour: string): string {
  const right = x > width * 0.55;
  return (
    `<line x1="${x.toFixed(1)}" y1="${base}" x2="${x.toFixed(1)}" y2="${y}" stroke="${colour}"/>` +
    `<circle cx="${x.toFixed(1)}" cy="${base}" r="5" fill="${colour}"/>` +
    `<text x="${(right ? x - 8 : x + 8).toFixed(1)}" y="${y + 4}" text-anchor="${right ? 'end' : 'start'}" fill="${colour}">${at.toFixed(0)} ms: ${what}</text>`
  );
}

function niceStep(last: number): number {
  const raw = Math.max(1, last / 8);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw)!;
}
