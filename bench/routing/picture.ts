// Predicted against measured, as SVG: one dot for each call and device, on logarithmic axes.

export interface Dot {
  readonly predicted: number;
  readonly measured: number;
  readonly device: string;
}

const colours = ['#2563eb', '#d97706', '#059669', '#9333ea'];
const size = 460;
const pad = 56;

const label = (us: number): string => (us < 1000 ? `${us} µs` : us < 1e6 ? `${us / 1000} ms` : `${us / 1e6} s`);

export function picture(dots: readonly Dot[], caption: string): string {
  const all = dots.flatMap((d) => [d.predicted, d.measured]).filter((v) => v > 0);
  const low = Math.floor(Math.log10(Math.min(...all)));
  const high = Math.ceil(Math.log10(Math.max(...all)));
  const at = (us: number): number => ((Math.log10(us) - low) / (high - low)) * size;
  const x = (us: number): string => (pad + at(us)).toFixed(1);
  const y = (us: number): string => (pad + size - at(us)).toFixed(1);
  const [first, last] = [10 ** low, 10 ** high];
  const devices = [...new Set(dots.map((d) => d.device))];
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  const line = (factor: number, style: string): string => {
    const from = factor < 1 ? first / factor : first;
    const to = factor < 1 ? last : last / factor;
    return `<line x1="${x(from)}" y1="${y(from * factor)}" x2="${x(to)}" y2="${y(to * factor)}" ${style}/>`;
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size + 2 * pad + 20} ${size + 2 * pad + 24}" font-family="system-ui, sans-serif" font-size="12"><title>Predicted against measured times of calls</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${pad}" y="24" fill="#111827">${caption}</text>
${ticks
  .map(
    (t) =>
      `<line x1="${x(t)}" y1="${y(first)}" x2="${x(t)}" y2="${y(last)}" stroke="#e5e7eb"/><line x1="${x(first)}" y1="${y(t)}" x2="${x(last)}" y2="${y(t)}" stroke="#e5e7eb"/>` +
      `<text x="${x(t)}" y="${pad + size + 16}" text-anchor="middle" fill="#6b7280">${label(t)}</text><text x="${pad - 6}" y="${y(t)}" text-anchor="end" dominant-baseline="middle" fill="#6b7280">${label(t)}</text>`,
  )
  .join('\n')}
${line(1, 'stroke="#111827"')}
${line(2, 'stroke="#9ca3af" stroke-dasharray="4 4"')}
${line(0.5, 'stroke="#9ca3af" stroke-dasharray="4 4"')}
${dots
  .filter((d) => d.predicted > 0 && d.measured > 0)
  .map(
    (d) =>
      `<circle cx="${x(d.predicted)}" cy="${y(d.measured)}" r="3" fill="${colours[devices.indexOf(d.device) % colours.length]}" fill-opacity="0.6"/>`,
  )
  .join('\n')}
${devices
  .map(
    (d, i) =>
      `<circle cx="${pad + 16}" cy="${pad + 16 + 18 * i}" r="4" fill="${colours[i % colours.length]}"/><text x="${pad + 26}" y="${pad + 20 + 18 * i}" fill="#111827">${d}</text>`,
  )
  .join('\n')}
<text x="${pad + size / 2}" y="${pad + size + 38}" text-anchor="middle" fill="#111827">predicted (dashed: off by a factor of two)</text>
<text transform="rotate(-90 14 ${pad + size / 2})" x="14" y="${pad + size / 2}" text-anchor="middle" fill="#111827">measured</text>
</svg>
`;
}
