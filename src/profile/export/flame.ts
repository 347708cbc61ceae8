// Flame graphs for other tools: folded stacks, and speedscope's own format.

import { type FlameNode, finish, shareOut } from '../analyse/tree.ts';
import type { Entry, ProfileFile } from '../file/types.ts';
import { onDevice, placeScopes } from './trace.ts';

/** The paths of operations with their times. */
export const flameOf = (entries: readonly Entry[]): FlameNode => finish(shareOut(entries)).root;

/** In folded stacks ';' separates and a line ends a stack. */
const folded = (name: string): string => name.replace(/[;\r\n]/g, '_');

/**
 * One line per path: `a;b;c 1234`, µs of its own time. A path's lines add up to its total to 1 µs each: what rounding leaves is
 * carried on to the next line.
 */
export function* foldedText(entries: readonly Entry[]): Generator<string> {
  const lines: string[] = [];
  let carried = 0;
  const visit = (node: FlameNode, path: string): void => {
    const exact = 1000 * node.self + carried;
    const us = Math.round(exact);
    carried = exact - us;
    if (us > 0) lines.push(`${path} ${us}\n`);
    for (const child of node.children.values()) visit(child, `${path};${folded(child.name)}`);
  };
  for (const child of flameOf(entries).children.values()) visit(child, folded(child.name));
  yield lines.join('');
}

interface SpeedscopeEvent {
  readonly type: 'O' | 'C';
  readonly frame: number;
  readonly at: number;
}

/** speedscope's `evented` profiles: one for each lane of the host, one for each device. */
export function* speedscopeText(profile: ProfileFile): Generator<string> {
  const frames = new Map<string, number>();
  const frameOf = (name: string): number => {
    const known = frames.get(name) ?? frames.size;
    frames.set(name, known);
    return known;
  };
  const lanes = new Map<string, { start: number; end: number; frame: number }[]>();
  const add = (lane: string, name: string, start: number, ms: number): void => {
    const list = lanes.get(lane);
    const item = { start, end: start + ms, frame: frameOf(name) };
    if (list) list.push(item);
    else lanes.set(lane, [item]);
  };
  for (const [e, row] of placeScopes(profile.entries)) {
    add(row === 0 ? e.thread : `${e.thread} (concurrent ${row})`, e.operation, e.startMs, e.durationMs);
  }
  for (const k of profile.kernels) {
    const ms = k.ms ?? k.passMs;
    if (ms !== null && ms > 0 && (k.pass ?? k.id) === k.id) add(k.device, onDevice(k), k.start, ms);
  }
  const profiles = [...lanes].map(([name, list]) => {
    const events = nested(list);
    const [start, end] = [events[0]!.at, events.at(-1)!.at];
    return { type: 'evented', name, unit: 'milliseconds', startValue: start, endValue: end, events };
  });
  yield `${JSON.stringify({
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    name: `gpuforge profile ${profile.createdAt}`,
    exporter: `gpuforge ${profile.gpuforge}`,
    activeProfileIndex: 0,
    shared: { frames: [...frames.keys()].map((name) => ({ name })) },
    profiles,
  })}\n`;
}

/** Opening and closing in order, each inside the one around: what would end after that one ends with it. */
function nested(list: readonly { start: number; end: number; frame: number }[]): SpeedscopeEvent[] {
  const events: SpeedscopeEvent[] = [];
  const open: { end: number; frame: number }[] = [];
  const close = (until: number): void => {
    while (open.length > 0 && open.at(-1)!.end <= until) {
      const { end, frame } = open.pop()!;
      events.push({ type: 'C', frame, at: end });
    }
  };
  for (const { start, end, frame } of [...list].sort((a, b) => a.start - b.start || b.end - a.end)) {
    close(start);
    const around = open.at(-1);
    events.push({ type: 'O', frame, at: start });
    open.push({ frame, end: around ? Math.min(end, around.end) : end });
  }
  close(Number.POSITIVE_INFINITY);
  return events;
}
