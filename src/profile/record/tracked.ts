// The work of one scope as it happens, the scopes inside it included: for monitors, which want the figures of one operation and
// no analysis of everything.

import { lengthOf, union } from '../analyse/intervals.ts';
import { kernel as col, type DeviceLog } from './log.ts';

export interface ScopeFigures {
  /** Time in which devices worked for it, by their own clocks; null if one of them does not tell. */
  readonly deviceMs: number | null;
  readonly transferMs: number;
  /** Bytes that were copied. */
  readonly bytes: number;
}

export class Tracked {
  readonly #outer: Tracked | null;
  readonly #kernels: number[] = [];
  #transferMs = 0;
  #bytes = 0;

  constructor(outer: Tracked | null) {
    this.#outer = outer;
  }

  kernel(row: number): void {
    this.#kernels.push(row);
    this.#outer?.kernel(row);
  }

  transfer(ms: number, bytes: number): void {
    this.#transferMs += ms;
    this.#bytes += bytes;
    this.#outer?.transfer(ms, bytes);
  }

  figures({ kernels }: DeviceLog): ScopeFigures {
    const busy: number[] = [];
    let known = true;
    for (const row of this.#kernels) {
      const start = kernels.has(row) ? kernels.get(col.start, row) : Number.NaN;
      const own = kernels.get(col.ms, row);
      const ms = Number.isNaN(own) ? kernels.get(col.passMs, row) : own;
      known &&= !Number.isNaN(start) && !Number.isNaN(ms);
      busy.push(start, start + ms);
    }
    const deviceMs = known && this.#kernels.length > 0 ? lengthOf(union(busy)) : null;
    return { deviceMs, transferMs: this.#transferMs, bytes: this.#bytes };
  }
}
