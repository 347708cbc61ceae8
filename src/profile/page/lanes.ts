// The rows of the timeline: scopes by nesting, kernels and copies by device, waits. Typed arrays, sorted by start, so that the
// part in view is found at once.

import { onDevice, placeScopes } from '../export/trace.ts';
import type { ProfileFile } from '../file/types.ts';
import { ms } from './words.ts';

export interface Row {
  readonly label: string;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Numbers of names. */
  readonly name: Int32Array;
  readonly text: (i: number) => string;
  /** The longest item: how far to the left of the view one may begin that reaches into it. */
  readonly longest: number;
}

export interface Lanes {
  readonly rows: readonly Row[];
  readonly names: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly hidden: number;
}

interface Item {
  readonly start: number;
  readonly ms: number;
  readonly name: string;
  readonly text: () => string;
}

const mostRows = 120;

export function lanesOf(p: ProfileFile): Lanes {
  const numbers = new Map<string, number>();
  const number = (name: string): number => {
    const known = numbers.get(name) ?? numbers.size;
    numbers.set(name, known);
    return known;
  };
  const rows: Row[] = [];
  let events = 0;
  const add = (label: string, items: Item[]): void => {
    if (items.length === 0) return;
    events += items.length;
    items.sort((a, b) => a.start - b.start);
    rows.push({
      label,
      start: Float64Array.from(items, (i) => i.start),
      end: Float64Array.from(items, (i) => i.start + i.ms),
      name: Int32Array.from(items, (i) => number(i.name)),
      text: (i) => items[i]!.text(),
      longest: items.reduce((most, i) => Math.max(most, i.ms), 0),
    });
  };
  for (const [label, items] of scopeRows(p)) add(label, items);
  const devices = [...new Set([...p.kernels.map((k) => k.device), ...p.transfers.map(deviceOf)])].sort();
  for (const device of devices) {
    add(device, kernelItems(p, device));
    for (const lane of new Set(p.lanes.filter((l) => l.device === device).map((l) => l.lane))) {
      const list = p.lanes.filter((l) => l.device === device && l.lane === lane);
      add(
        `${device} worker ${lane}`,
        list.map((l) => ({ start: l.start, ms: l.ms, name: l.name, text: () => `${l.name}\n${ms(l.ms)}` })),
      );
    }
    add(`${device} copies`, copyItems(p, device));
  }
  add('host waits', waitItems(p));
  const shown = rows.slice(0, mostRows);
  return {
    rows: shown,
    names: [...numbers.keys()],
    from: p.startMs,
    to: p.startMs + Math.max(p.wallMs, 0.001),
    events,
    hidden: rows.length - shown.length,
  };
}

const deviceOf = (t: ProfileFile['transfers'][number]): string => (t.kind === 'download' ? t.from : t.to);

function scopeRows(p: ProfileFile): Map<string, Item[]> {
  const found = new Map<string, Item[]>();
  const depths = new Map<number, number>();
  const rowOf = new Map<number, number>();
  for (const [e, row] of placeScopes(p.entries)) {
    const around = e.parentId !== null && rowOf.get(e.parentId) === row ? depths.get(e.parentId) : undefined;
    const depth = around === undefined ? 0 : around + 1;
    depths.set(e.id, depth);
    rowOf.set(e.id, row);
    const lane = row === 0 ? e.thread : `${e.thread} ${row + 1}`;
    const label = depth === 0 ? lane : `${lane} · ${depth}`;
    const text = (): string =>
      [
        e.operation,
        `${ms(e.durationMs)}, own ${ms(e.selfMs)}`,
        e.device !== null && `on ${e.device}`,
        e.gpuTimeMs !== null && `GPU ${ms(e.gpuTimeMs)}`,
        e.failed && 'failed',
        e.metadata && JSON.stringify(e.metadata).slice(0, 200),
      ]
        .filter(Boolean)
        .join('\n');
    const item = { start: e.startMs, ms: e.durationMs, name: e.operation, text };
    const list = found.get(label);
    if (list) list.push(item);
    else found.set(label, [item]);
  }
  return new Map([...found].sort((a, b) => a[0].localeCompare(b[0], 'en', { numeric: true })));
}

function kernelItems(p: ProfileFile, device: string): Item[] {
  return p.kernels.flatMap((k) => {
    const took = k.ms ?? k.passMs;
    if (k.device !== device || took === null || (k.pass ?? k.id) !== k.id) return [];
    const name = onDevice(k);
    const rate = k.ms !== null && k.ms > 0 && k.bytes !== null ? `\n${(k.bytes / k.ms / 1e6).toFixed(1)} GB/s` : '';
    const text = (): string =>
      `${name}\n${ms(took)}${rate}\nenqueued ${ms(Math.max(0, k.start - k.enqueued))} before${k.line === null ? '' : `\n${k.line}`}`;
    return [{ start: k.start, ms: took, name, text }];
  });
}

function copyItems(p: ProfileFile, device: string): Item[] {
  return p.transfers
    .filter((t) => deviceOf(t) === device)
    .map((t) => ({
      start: t.start,
      ms: t.ms,
      name: t.kind,
      text: () => `${t.kind} ${t.from} → ${t.to}\n${(t.bytes / 2 ** 20).toFixed(2)} MiB in ${ms(t.ms)}`,
    }));
}

const waitItems = (p: ProfileFile): Item[] =>
  p.waits.map((w) => ({
    start: w.start,
    ms: w.ms,
    name: `wait (${w.why})`,
    text: () => `waited for ${w.device}: ${w.why}\n${ms(w.ms)}\n${w.line}`,
  }));
