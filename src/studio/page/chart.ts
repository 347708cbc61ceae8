// Curves over time, drawn by uPlot. A chart is made once and given new data; its size follows its box, its colours the theme. What is
// not known is a gap.

import uPlot from 'uplot';
import { h } from './dom.ts';
import { clock } from './format.ts';

export interface Series {
  readonly label: string;
  /** The name of a colour: `--c1` … */
  readonly colour: string;
  readonly fill?: boolean;
  readonly dash?: boolean;
}

/** A line across the chart. */
export interface Mark {
  readonly value: number;
  readonly label: string;
  readonly colour: string;
}

export interface ChartOptions {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly height?: number;
  /** Ticks at powers of two: for bytes. */
  readonly binary?: boolean;
  /** The top of the axis at least. */
  readonly least?: number;
  /** The top of the axis, whatever comes. */
  readonly top?: number;
}

export interface Chart {
  readonly element: HTMLElement;
  /** Times in ms, one list per series. */
  update(times: readonly number[], values: readonly (readonly (number | null)[])[], marks?: readonly Mark[]): void;
}

const charts = new Set<uPlot>();
const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of charts) chart.redraw(false, true);
});

const resizing = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const chart = [...charts].find((c) => c.root.parentElement === target);
    const width = Math.floor(contentRect.width);
    if (chart && width > 0 && chart.width !== width) chart.setSize({ width, height: chart.height });
  }
});

/** Seconds on the axis: enough for the last minutes, never less than one. */
const leastSpan = 60;

export function timeChart(options: ChartOptions): Chart {
  const { title, series, format, height = 180, least = 0, top, binary = false } = options;
  const box = h('div', { class: 'chart-box' });
  const values = series.map(() => h('b', {}, '–'));
  const legend = h(
    'div',
    { class: 'legend' },
    ...series.map((s, i) =>
      h(
        'span',
        { class: `key ${s.dash ? 'dashed' : ''} k${s.colour.slice(2)}` },
        h('i', { 'aria-hidden': 'true' }),
        `${s.label} `,
        values[i]!,
      ),
    ),
  );
  const element = h(
    'figure',
    { class: 'chart' },
    h('figcaption', {}, h('span', { class: 'chart-title' }, title), legend),
    box,
  );
  let plot: uPlot | null = null;
  let marks: readonly Mark[] = [];
  const tell = (index: number | null): void => {
    if (!plot) return;
    const at = index ?? plot.data[0].length - 1;
    series.forEach((_, i) => {
      const v = plot!.data[i + 1]?.[at];
      values[i]!.textContent = v == null ? 'unknown' : format(v);
    });
  };
  const make = (width: number, data: uPlot.AlignedData): uPlot => {
    const axis = {
      stroke: () => css('--muted'),
      grid: { stroke: () => css('--grid'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
    };
    const made = new uPlot(
      {
        width,
        height,
        padding: [8, 4, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: { time: true, range: (_u, min, max) => [Math.min(min ?? 0, (max ?? 0) - leastSpan), max ?? 1] },
          y: {
            range: (_u, _min, max) => [
              0,
              top ?? Math.max(least, (max ?? 0) * 1.1, ...marks.map((m) => m.value * 1.05), 1e-9),
            ],
          },
        },
        axes: [
          { ...axis, values: (u, ticks) => ticks.map((t) => timeLabel(t, u)), space: 74, size: 26 },
          {
            ...axis,
            values: (_u, ticks) => ticks.map((t) => format(t).replace(/\.0+(?= )/, '')),
            size: 64,
            space: 34,
            ...(binary ? { incrs: powersOfTwo } : {}),
          },
        ],
        series: [
          {},
          ...series.map((s) => ({
            label: s.label,
            stroke: () => css(s.colour),
            width: 1.75,
            spanGaps: false,
            points: { show: false },
            ...(s.dash ? { dash: [4, 4] } : {}),
            ...(s.fill ? { fill: () => `${css(s.colour)}22` } : {}),
          })),
        ],
        hooks: {
          setCursor: [(u) => tell(u.cursor.idx ?? null)],
          draw: [(u) => drawMarks(u, marks)],
        },
      },
      data,
      box,
    );
    charts.add(made);
    resizing.observe(box);
    return made;
  };
  return {
    element,
    update: (times, lists, given = []) => {
      marks = given;
      const data = [times.map((t) => t / 1000), ...lists.map((l) => [...l])] as uPlot.AlignedData;
      if (!plot) {
        const width = Math.floor(box.clientWidth);
        if (width === 0) return;
        plot = make(width, data);
      } else plot.setData(data);
      tell(plot.cursor.idx ?? null);
    },
  };
}

const powersOfTwo = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** Seconds where minutes would all read the same. */
const timeLabel = (t: number, u: uPlot): string => {
  const { min, max } = u.scales.x!;
  return (max ?? 0) - (min ?? 0) < 300 ? clock(t * 1000) : clock(t * 1000).slice(0, 5);
};

/** Forgets charts of a page that is gone. */
export function dropCharts(): void {
  for (const chart of charts) {
    if (chart.root.isConnected) continue;
    charts.delete(chart);
    chart.destroy();
  }
}

function drawMarks(u: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  ctx.textAlign = 'right';
  for (const [i, { value, label, colour }] of marks.entries()) {
    const y = u.valToPos(value, 'y', true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.strokeStyle = css(colour);
    ctx.fillStyle = css(colour);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // Side by side: levels may lie close together.
    ctx.fillText(
      label,
      bbox.left + bbox.width - (4 + 60 * (marks.length - 1 - i)) * devicePixelRatio,
      y - 4 * devicePixelRatio,
    );
  }
  ctx.restore();
}

/** A small line without axes, for a card. */
export function sparkline(): { readonly element: HTMLCanvasElement; update(values: readonly (number | null)[]): void } {
  const element = h('canvas', { class: 'spark', 'aria-hidden': 'true' });
  return {
    element,
    update: (values) => {
      const width = element.clientWidth;
      const height = element.clientHeight;
      if (width === 0) return;
      const scale = devicePixelRatio;
      if (element.width !== Math.round(width * scale)) {
        element.width = Math.round(width * scale);
        element.height = Math.round(height * scale);
      }
      const ctx = element.getContext('2d')!;
      ctx.setTransform(scale, 0, 0, scale, 0, 0);
      ctx.clearRect(0, 0, width, height);
      const top = Math.max(...values.map((v) => v ?? 0), 1e-9);
      ctx.strokeStyle = css('--c1');
      ctx.fillStyle = `${css('--c1')}22`;
      ctx.lineWidth = 1.5;
      ctx.lineJoin = 'round';
      const x = (i: number): number => (values.length < 2 ? width : (i / (values.length - 1)) * width);
      const y = (v: number): number => height - 1.5 - (v / top) * (height - 4);
      let from: number | null = null;
      const close = (to: number): void => {
        ctx.stroke();
        ctx.lineTo(x(to), height);
        ctx.lineTo(x(from!), height);
        ctx.fill();
        from = null;
      };
      values.forEach((v, i) => {
        if (v === null) {
          if (from !== null) close(i - 1);
          return;
        }
        if (from === null) {
          ctx.beginPath();
          ctx.moveTo(x(i), y(v));
          from = i;
        } else ctx.lineTo(x(i), y(v));
      });
      if (from !== null) close(values.length - 1);
    },
  };
}
