// Fields on a terminal: a slice, sensors, motors, latencies with their deadline, and what the state says. Text in, text out: who draws it, and
// how often, is in field-live.ts.

import type { FieldState } from '../field/index.ts';
import { plainLine } from '../forge/text/plain.ts';
import { formatBytes } from '../index.ts';

/** A number with so many digits; what rounds to nothing has no sign. */
export const fixed = (value: number, digits: number): string => value.toFixed(digits).replace(/^-(0\.?0*)$/, '$1');

/** What is drawn of one field. */
export interface FieldPicture {
  readonly title: string;
  /** What makes the sensor values up, where they come from no sensor. */
  readonly madeBy?: string | undefined;
  readonly state: FieldState | null;
  readonly sensors: ArrayLike<number> | null;
  readonly motors: ArrayLike<number> | null;
  /** One channel on a slice: row by row. */
  readonly slice: { readonly values: ArrayLike<number>; readonly height: number; readonly width: number } | null;
  /** Latencies in bins from 0 to two periods, and what a loop counted. */
  readonly loop: {
    readonly hz: number;
    readonly histogram: readonly number[];
    readonly p50: number;
    readonly p99: number;
    readonly missed: number;
    readonly ticks: number;
  } | null;
  readonly bytes: number | null;
}

export interface Canvas {
  readonly columns: number;
  readonly colour: boolean;
}

const levels = ' ▁▂▃▄▅▆▇█';
const shades = ' .:-=+*#%@';

/** A row of bars from 0 up; the largest fills a character. */
export function sparkline(values: readonly number[], most = Math.max(1, ...values)): string {
  return values.map((v) => levels[v <= 0 ? 0 : Math.max(1, Math.round((8 * Math.min(v, most)) / most))]!).join('');
}

/** A bar around a middle line, for values from −1 to 1. */
export function signedBar(value: number, width = 21): string {
  const half = (width - 1) >> 1;
  const size = Math.round(Math.min(1, Math.abs(value)) * half);
  const [left, right] = value < 0 ? [size, 0] : [0, size];
  return `${' '.repeat(half - left)}${'█'.repeat(left)}│${'█'.repeat(right)}${' '.repeat(half - right)}`;
}

/** Values as characters, two to a cell: dark is low. With colours, two rows of cells to a line. */
export function sliceLines(slice: NonNullable<FieldPicture['slice']>, { columns, colour }: Canvas): string[] {
  const { values, height, width } = slice;
  const step = Math.max(1, Math.ceil((2 * width) / Math.max(16, columns)), Math.ceil(height / 32));
  const [rows, across] = [Math.ceil(height / step), Math.ceil(width / step)];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < values.length; i++) {
    low = Math.min(low, values[i]!);
    high = Math.max(high, values[i]!);
  }
  /** From 0 to 1; null beyond the edge. */
  const at = (row: number, column: number): number | null =>
    row < rows ? (values[row * step * width + column * step]! - low) / Math.max(1e-9, high - low) : null;
  const lines: string[] = [];
  for (let row = 0; row < rows; row += colour ? 2 : 1) {
    const cells = Array.from({ length: across }, (_, column) => {
      const upper = at(row, column)!;
      if (!colour) return shades[Math.min(9, Math.floor(10 * upper))]!.repeat(2);
      const lower = at(row + 1, column);
      return `\u001b[38;5;${grey(upper)}${lower === null ? '' : `;48;5;${grey(lower)}`}m▀▀`;
    });
    lines.push(`${cells.join('')}${colour ? '\u001b[0m' : ''}`);
  }
  lines.push(`${low.toPrecision(3)} (dark) to ${high.toPrecision(3)} (bright)`);
  return lines;
}

/** One of the 24 greys of a terminal. */
const grey = (t: number): number => 232 + Math.min(23, Math.floor(24 * t));

const ms = (v: number): string => (v < 1 ? `${(1000 * v).toFixed(0)} µs` : `${v.toFixed(2)} ms`);
const figure = (v: number | null, digits: number): string => (v === null ? 'unknown' : v.toFixed(digits));

/** All of a field as lines no wider than the canvas, where their characters are. */
export function pictureLines(p: FieldPicture, canvas: Canvas): string[] {
  const lines = [plainLine(p.title)];
  if (p.madeBy) lines.push(`sensor values are made up: ${p.madeBy}`);
  if (p.slice) lines.push('', ...sliceLines(p.slice, canvas));
  if (p.sensors) {
    // Positive and negative values in two rows: heights alone tell no signs.
    const list = Array.from(p.sensors);
    const most = Math.max(1, ...list.map(Math.abs));
    lines.push(
      '',
      `sensors  + ${sparkline(list, most)}`,
      `         − ${sparkline(
        list.map((v) => -v),
        most,
      )}`,
    );
  }
  if (p.motors)
    lines.push('', ...Array.from(p.motors, (m, i) => `motor ${String(i).padStart(2)} ${signedBar(m)} ${fixed(m, 3)}`));
  if (p.loop) {
    const { hz, histogram, p50, p99, missed, ticks } = p.loop;
    const half = histogram.length >> 1;
    lines.push(
      '',
      `latency  ${sparkline(histogram.slice(0, half))}┃${sparkline(histogram.slice(half), Math.max(1, ...histogram))}  deadline ${ms(1000 / hz)}`,
      `         p50 ${ms(p50)}, p99 ${ms(p99)}; ${ticks} ticks at ${hz} Hz, ${missed} missed`,
    );
  }
  if (p.state) {
    const s = p.state;
    lines.push(
      '',
      `cycle ${s.cycle} in ${ms(s.cycleTimeMs)}, ${s.mode}, information ${s.fieldInformation.toFixed(3)}, energy ${s.energy.toFixed(2)}`,
      `confidence ${figure(s.predictionConfidence, 2)}, skill ${figure(s.predictionSkill, 2)}${p.bytes === null ? '' : `, memory ${formatBytes(p.bytes)}`}`,
    );
  } else lines.push('', 'no cycle yet');
  return lines;
}
