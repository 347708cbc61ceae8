// Small charts as drawings: shares, bars, parts of a whole, a curve.

import type { MemoryPoint } from '../record/memory-curve.ts';
import { h, s } from './dom.ts';
import { colour, cut, percent, whole } from './words.ts';

export interface Slice {
  readonly name: string;
  readonly value: number;
}

const fill = (token: string): string => `var(${token})`;

export function legend(items: readonly (readonly [text: string, token: string])[]): HTMLElement {
  return h(
    'ul',
    { class: 'legend' },
    ...items.map(([text, token]) => {
      const dot = h('span', { class: 'dot' });
      dot.style.background = fill(token);
      return h('li', {}, dot, h('span', {}, text));
    }),
  );
}

/** The largest, and all others as one. */
function largest(slices: readonly Slice[], count: number): Slice[] {
  const sorted = [...slices].sort((a, b) => b.value - a.value);
  const rest = sorted.slice(count);
  const others =
    rest.length > 0 ? [{ name: `${rest.length} others`, value: rest.reduce((x, r) => x + r.value, 0) }] : [];
  return [...sorted.slice(0, count), ...others];
}

/** In place of a chart without values. */
export const nothing = (): HTMLElement => h('p', { class: 'soft' }, 'Nothing was measured.');

/** Shares of a whole as a ring. */
export function pie(slices: readonly Slice[]): HTMLElement {
  const shown = largest(slices, 7).filter((p) => p.value > 0);
  if (shown.length === 0) return nothing();
  const total = shown.reduce((sum, p) => sum + p.value, 0);
  let angle = 0;
  const arcs = shown.map((p, i) => {
    const from = angle;
    angle += (2 * Math.PI * p.value) / total;
    const stroke = { fill: 'none', stroke: fill(colour(i)), 'stroke-width': 22 };
    const title = s('title', {}, `${p.name}: ${percent(p.value / total)}`);
    if (shown.length === 1) return s('circle', { cx: 60, cy: 60, r: 46, ...stroke }, title);
    const at = (a: number): string => `${(60 + 46 * Math.sin(a)).toFixed(2)} ${(60 - 46 * Math.cos(a)).toFixed(2)}`;
    const large = angle - from > Math.PI ? 1 : 0;
    return s('path', { d: `M ${at(from)} A 46 46 0 ${large} 1 ${at(angle)}`, ...stroke }, title);
  });
  return h(
    'div',
    { class: 'pie' },
    s(
      'svg',
      { viewBox: '0 0 120 120', role: 'img', 'aria-label': 'Share of time per operation' },
      ...arcs,
    ) as unknown as Node,
    legend(shown.map((p, i) => [`${p.name}: ${percent(p.value / total)}`, colour(i)])),
  );
}

export interface Bar {
  readonly name: string;
  readonly parts: readonly { readonly value: number; readonly token: string }[];
  readonly text: string;
}

/** Horizontal bars with their names above them; parts stand one after the other. */
export function bars(list: readonly Bar[], label: string, width = 520): Node {
  if (list.length === 0) return nothing();
  const most = Math.max(1e-9, ...list.map((b) => b.parts.reduce((sum, p) => sum + p.value, 0)));
  const row = 36;
  const drawn = list.flatMap((b, i) => {
    let x = 0;
    const y = i * row;
    const parts = b.parts.map((p) => {
      const w = (width * p.value) / most;
      const rect = s('rect', {
        x,
        y: y + 16,
        width: Math.max(p.value > 0 ? 1 : 0, w),
        height: 13,
        rx: 2,
        fill: fill(p.token),
      });
      x += w;
      return rect;
    });
    return [
      s('text', { x: 0, y: y + 11 }, cut(b.name, 44)),
      s('text', { x: width, y: y + 11, 'text-anchor': 'end', class: 'soft' }, b.text),
      ...parts,
    ];
  });
  return s('svg', { viewBox: `0 0 ${width} ${list.length * row}`, role: 'img', 'aria-label': label }, ...drawn);
}

/** Live and held memory over time, a curve for each device. */
export function memoryCurve(points: readonly MemoryPoint[], from: number, to: number): HTMLElement {
  const [width, height] = [1080, 180];
  const devices = [...new Set(points.map((p) => p.device))];
  const most = Math.max(1, ...points.map((p) => Math.max(p.live, p.reserved)));
  const x = (t: number): string => (60 + ((width - 70) * (t - from)) / Math.max(1e-9, to - from)).toFixed(1);
  const y = (bytes: number): string => (height - 20 - ((height - 34) * bytes) / most).toFixed(1);
  const path = (list: readonly MemoryPoint[], key: 'live' | 'reserved'): string =>
    list.map((p, i) => (i === 0 ? `M${x(p.t)} ${y(p[key])}` : `H${x(p.t)}V${y(p[key])}`)).join('');
  const lines = devices.flatMap((d, i) => {
    const list = points.filter((p) => p.device === d);
    const peak = list.reduce((top, p) => (p.live > top.live ? p : top), list[0]!);
    const stroke = { fill: 'none', stroke: fill(colour(i)) };
    return [
      s('path', { d: path(list, 'reserved'), ...stroke, 'stroke-dasharray': '3 4', opacity: 0.7 }),
      s('path', { d: path(list, 'live'), ...stroke, 'stroke-width': 2 }),
      s('circle', { cx: x(peak.t), cy: y(peak.live), r: 4, fill: fill(colour(i)) }, s('title', {}, `peak of ${d}`)),
    ];
  });
  const grid = [0, 0.5, 1].flatMap((share) => [
    s('line', { x1: 60, x2: width - 10, y1: y(share * most), y2: y(share * most), class: 'axis' }),
    s('text', { x: 54, y: Number(y(share * most)) + 4, 'text-anchor': 'end', class: 'soft' }, bytes(share * most)),
  ]);
  const peaks = devices.map((d, i) => {
    const peak = Math.max(...points.filter((p) => p.device === d).map((p) => p.live));
    return [`${d}: live (peak ${bytes(peak)}); held from the system, dashed`, colour(i)] as const;
  });
  const svg = s(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Memory over time' },
    ...grid,
    ...lines,
  );
  return h('div', {}, svg as unknown as Node, legend(peaks));
}

export function bytes(value: number): string {
  if (value >= 2 ** 30) return `${(value / 2 ** 30).toFixed(1)} GiB`;
  if (value >= 2 ** 20) return `${(value / 2 ** 20).toFixed(1)} MiB`;
  return value >= 1024 ? `${(value / 1024).toFixed(0)} KiB` : `${whole(Math.round(value))} B`;
}
