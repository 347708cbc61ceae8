// The timeline: what ran when, on a true axis of time. What is smaller than a pixel is drawn together, so that any number of
// events takes a few milliseconds to draw.

import { type Drawing, drawing } from './canvas.ts';
import { h, token } from './dom.ts';
import type { Lanes, Row } from './lanes.ts';
import { colour, cut, ms, whole } from './words.ts';

const rowHeight = 20;
const axisHeight = 22;
const labelWidth = 110;
const mostHeight = 460;

/** The first item that may reach into what begins at `from`. */
function firstIn(row: Row, from: number): number {
  let [low, high] = [0, row.start.length];
  const least = from - row.longest;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function timeline(lanes: Lanes): HTMLElement {
  const full = { from: lanes.from, to: lanes.to };
  const view = { ...full };
  let scrolled = 0;
  let wanted = '';
  let matches: boolean[] = [];
  const height = (): number => Math.min(mostHeight, axisHeight + lanes.rows.length * rowHeight + 4);
  const scale = (width: number): number => (width - labelWidth) / (view.to - view.from);
  const clampView = (): void => {
    const span = Math.min(view.to - view.from, 1.2 * (full.to - full.from));
    const margin = 0.1 * (full.to - full.from);
    view.from = Math.max(full.from - margin, Math.min(view.from, full.to + margin - span));
    view.to = view.from + span;
    const most = axisHeight + lanes.rows.length * rowHeight + 4 - height();
    scrolled = Math.max(0, Math.min(scrolled, most));
  };

  const find = (x: number, y: number, width: number): { row: Row; i: number } | null => {
    const row = lanes.rows[Math.floor((y - axisHeight + scrolled) / rowHeight)];
    if (!row || x < labelWidth || y < axisHeight) return null;
    const time = view.from + (x - labelWidth) / scale(width);
    const near = 2 / scale(width);
    let best: { row: Row; i: number } | null = null;
    for (let i = firstIn(row, time - near); i < row.start.length && row.start[i]! <= time + near; i++) {
      if (row.end[i]! >= time - near) best = { row, i };
    }
    return best;
  };

  const made: Drawing = drawing({
    label: `Timeline of ${whole(lanes.events)} events. Arrow keys move it, plus and minus zoom. The tables below hold the same figures.`,
    height,
    draw: (g, width, total) => {
      const k = scale(width);
      const colours = Array.from({ length: 8 }, (_, i) => token(colour(i)));
      const [ink, soft, line, dim] = [token('--ink'), token('--soft'), token('--line'), token('--unknown')];
      g.font = '11.5px system-ui, sans-serif';
      g.textBaseline = 'middle';
      axis(g, { from: view.from - full.from, to: view.to - full.from }, labelWidth, width, total, soft, line);
      g.save();
      g.beginPath();
      g.rect(0, axisHeight, width, total - axisHeight);
      g.clip();
      lanes.rows.forEach((row, r) => {
        const y = axisHeight + r * rowHeight - scrolled;
        if (y < axisHeight - rowHeight || y > total) return;
        let last = -1;
        for (let i = firstIn(row, view.from); i < row.start.length; i++) {
          const start = row.start[i]!;
          if (start > view.to) break;
          if (row.end[i]! < view.from) continue;
          const x0 = Math.max(labelWidth, labelWidth + (start - view.from) * k);
          const x1 = Math.min(width, labelWidth + (row.end[i]! - view.from) * k);
          const hit = wanted === '' || matches[row.name[i]!];
          // Something is there already, and this is not what was searched for.
          if (x1 <= last && (wanted === '' || !hit)) continue;
          const w = Math.max(1, x1 - x0);
          g.fillStyle = hit ? colours[row.name[i]! % 8]! : dim;
          g.fillRect(x0, y + 2, w, rowHeight - 4);
          last = Math.ceil(x0 + w);
          if (w > 34) {
            g.fillStyle = '#fff';
            g.fillText(cut(lanes.names[row.name[i]!]!, Math.floor(w / 6.6)), x0 + 4, y + rowHeight / 2, w - 6);
          }
        }
        g.clearRect(0, y, labelWidth - 2, rowHeight);
        g.fillStyle = ink;
        g.fillText(cut(row.label, 17), 6, y + rowHeight / 2, labelWidth - 12);
      });
      g.restore();
    },
    at: (x, y, width) => {
      const found = find(x, y, width);
      return found ? `${found.row.text(found.i)}\nat ${ms(found.row.start[found.i]! - full.from)}` : null;
    },
    click: (x, y, width) => {
      const found = find(x, y, width);
      if (!found) return;
      const [start, end] = [found.row.start[found.i]!, found.row.end[found.i]!];
      const margin = Math.max(0.0005, 0.1 * (end - start));
      [view.from, view.to] = [start - margin, end + margin];
      clampView();
    },
    pan: (dx, dy, width) => {
      const moved = dx / scale(width);
      view.from += moved;
      view.to += moved;
      scrolled += dy;
      clampView();
    },
    zoom: (factor, x, width) => {
      const at = view.from + Math.max(0, x - labelWidth) / scale(width);
      const span = Math.max(0.0005, (view.to - view.from) * factor);
      const share = (at - view.from) / (view.to - view.from);
      view.from = at - share * span;
      view.to = view.from + span;
      clampView();
    },
  });

  const zoom = (factor: number) => () => {
    const middle = (view.from + view.to) / 2;
    const half = ((view.to - view.from) * factor) / 2;
    [view.from, view.to] = [middle - half, middle + half];
    clampView();
    made.redraw();
  };
  const search = h('input', {
    type: 'search',
    placeholder: 'Search (press /)',
    'aria-label': 'Search operations and kernels',
    input: () => {
      wanted = search.value.trim().toLowerCase();
      matches = lanes.names.map((n) => n.toLowerCase().includes(wanted));
      found.textContent = wanted === '' ? '' : `${whole(count(lanes, matches))} found`;
      made.redraw();
    },
  });
  const found = h('span', { class: 'soft', role: 'status' });
  document.addEventListener('keydown', (e) => {
    if (e.key !== '/' || e.target instanceof HTMLInputElement) return;
    e.preventDefault();
    search.focus();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', made.redraw);
  document.addEventListener('theme', made.redraw);
  const all = (): void => {
    Object.assign(view, full);
    scrolled = 0;
    made.redraw();
  };
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'bar' },
      h('button', { click: zoom(1 / 2), 'aria-label': 'Zoom in' }, '+'),
      h('button', { click: zoom(2), 'aria-label': 'Zoom out' }, '−'),
      h('button', { click: all }, 'Everything'),
      search,
      found,
      h('span', { class: 'grow' }),
      h(
        'span',
        { class: 'soft' },
        `${whole(lanes.events)} events${lanes.hidden > 0 ? `, ${lanes.hidden} more rows are not shown` : ''}`,
      ),
    ),
    made.element,
  );
}

function count({ rows }: Lanes, matches: readonly boolean[]): number {
  let sum = 0;
  for (const row of rows) for (const n of row.name) if (matches[n]) sum++;
  return sum;
}

/** Round times along the top. */
function axis(
  g: CanvasRenderingContext2D,
  view: { from: number; to: number },
  left: number,
  width: number,
  height: number,
  soft: string,
  line: string,
): void {
  const raw = (view.to - view.from) / Math.max(2, (width - left) / 110);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((v) => v >= raw)!;
  const k = (width - left) / (view.to - view.from);
  g.strokeStyle = line;
  g.fillStyle = soft;
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = left + (t - view.from) * k;
    g.beginPath();
    g.moveTo(x, 16);
    g.lineTo(x, height);
    g.stroke();
    g.fillText(step < 1 ? `${(1000 * t).toFixed(step < 0.001 ? 1 : 0)} µs` : `${t.toFixed(0)} ms`, x + 3, 10);
  }
}
