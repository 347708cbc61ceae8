// Figures as people read them. What is not known is "unknown", never 0.

import { formatBytes } from '../../base/format.ts';

export const unknown = 'unknown';

const orUnknown = <T>(value: T | null | undefined, format: (value: T) => string): string =>
  value === null || value === undefined ? unknown : format(value);

export const bytes = (value: number | null | undefined): string => orUnknown(value, formatBytes);

export const percent = (share: number | null | undefined): string =>
  orUnknown(share, (v) => `${(100 * v).toFixed(v > 0 && v < 0.1 ? 1 : 0)} %`);

export const count = (value: number | null | undefined): string =>
  orUnknown(value, (v) => Math.round(v).toLocaleString('en'));

/** So many of something: 1 kernel, 2 kernels. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** 12.4 k, 3.1 M: three digits. */
export const short = (value: number | null | undefined): string =>
  orUnknown(value, (v) => {
    const units = ['', ' k', ' M', ' G', ' T'];
    let at = 0;
    let n = v;
    while (Math.abs(n) >= 1000 && at < units.length - 1) {
      n /= 1000;
      at++;
    }
    const digits = Math.abs(n) >= 100 || (at === 0 && Number.isInteger(n)) ? 0 : Math.abs(n) >= 10 ? 1 : 2;
    return `${n.toFixed(digits)}${units[at]}`;
  });

/** From ms: 12 µs, 3.4 ms, 2.0 s. */
export const duration = (ms: number | null | undefined): string =>
  orUnknown(ms, (v) => {
    if (v < 1) return `${three(v * 1000)} µs`;
    if (v < 1000) return `${three(v)} ms`;
    if (v < 60_000) return `${three(v / 1000)} s`;
    return v < 3_600_000 ? `${Math.round(v / 60_000)} min` : `${(v / 3_600_000).toFixed(1)} h`;
  });

const three = (v: number): string => v.toFixed(v >= 100 ? 0 : v >= 10 ? 1 : 2);

/** Of a time that is past. */
export function ago(time: number, now: number): string {
  const s = Math.max(0, Math.round((now - time) / 1000));
  if (s < 2) return 'just now';
  if (s < 100) return `${s} s ago`;
  if (s < 6000) return `${Math.round(s / 60)} min ago`;
  return s < 48 * 3600 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86_400)} days ago`;
}

const pad = (n: number, digits = 2): string => String(n).padStart(digits, '0');

/** The time of day here. */
export function clock(time: number, withMs = false): string {
  const d = new Date(time);
  const text = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return withMs ? `${text}.${pad(d.getMilliseconds(), 3)}` : text;
}
