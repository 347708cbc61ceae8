// Figures as people read them.

import { checked } from './signatures.ts';

/** Binary units with three digits or so: 512 B, 1.50 MiB, 73.2 GiB. What `map` gives besides is left alone. */
export const formatBytes = checked(
  'formatBytes',
  'bytes:number ...others:any',
  (bytes: number, ..._others: unknown[]): string => {
    if (!Number.isFinite(bytes)) return String(bytes);
    let value = bytes;
    let unit = 0;
    while (Math.abs(value) >= 1000 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
    return `${value.toFixed(digits)} ${units[unit]}`;
  },
);

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/**
 * The end of a line of code as a stack trace has it: enough to find it. `step (file:///home/me/app/src/main.ts:5:22)` is
 * `src/main.ts:5:22`.
 */
export const shortLine = (line: string): string => line.replace(/^.*?([^/\\]+[/\\][^/\\)]+)\)?$/, '$1');
