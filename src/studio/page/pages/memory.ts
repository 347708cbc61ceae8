// Room in memory: what is live, held, spilled and taken by others, with the levels drawn in; who holds most; what leaked and was cleaned up.

import { shortLine } from '../../../base/format.ts';
import type { RuntimeView } from '../../types.ts';
import { type Chart, timeChart } from '../chart.ts';
import { h, setText, show } from '../dom.ts';
import { ago, bytes, count, counted, percent, unknown } from '../format.ts';
import type { View } from '../store.ts';
import { badge, empty, figure, panel, table } from '../widgets.ts';
import { type DeviceCard, deviceCards } from './device-cards.ts';
import { noRuntime, type Page } from './page.ts';

type Place = RuntimeView['snapshot']['memory']['places'][number];
const MiB = 2 ** 20;

const pressureSigns = {
  low: ['good', 'Pressure low'],
  moderate: ['good', 'Pressure moderate'],
  high: ['watch', 'Pressure high'],
  critical: ['bad', 'Pressure critical'],
} as const;

/** Tensors of one kind that one line made. */
interface Held {
  readonly device: string;
  readonly what: string;
  readonly site: string;
  bytes: number;
  count: number;
  ageMs: number;
}

function together(holders: RuntimeView['memory']['holders']): Held[] {
  const found = new Map<string, Held>();
  for (const o of holders) {
    const what = `${o.dtype} [${o.shape.join(', ')}]`;
    const key = `${o.device} ${what} ${o.site}`;
    const held = found.get(key) ?? { device: o.device, what, site: o.site, bytes: 0, count: 0, ageMs: 0 };
    held.bytes += o.bytes;
    held.count++;
    held.ageMs = Math.max(held.ageMs, o.ageMs);
    found.set(key, held);
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 10);
}

/** Steps that gave something back. */
function stepsOf({ steps }: RuntimeView['memory']['cleanups'][number]): string {
  const useful = steps.filter((s) => s.freedMb > 0).map((s) => `${s.name}: ${bytes(s.freedMb * MiB)}`);
  return useful.join(', ') || 'there was nothing to give back';
}

function placeCard(first: Place): DeviceCard<Place> {
  const sign = badge();
  const total = h('p', { class: 'hint' });
  const chart: Chart = timeChart({
    title: 'Memory over time',
    height: 220,
    series: [
      { label: 'live', colour: '--c1', fill: true },
      { label: 'reserved', colour: '--c2' },
      { label: 'others', colour: '--c5', dash: true },
      { label: 'spilled by all devices', colour: '--c4', dash: true },
    ],
    format: (v) => bytes(v),
    binary: true,
  });
  const element = h(
    'section',
    { class: 'panel' },
    h('header', { class: 'panel-head row' }, h('div', {}, h('h2', {}, first.device), total), sign.element),
    chart.element,
  );
  return {
    element,
    update: (place, runtime, { history }) => {
      const [standing, word] = pressureSigns[place.pressure];
      const open = runtime.snapshot.devices.find((d) => d.id === place.device)?.open ?? false;
      if (!open) sign.set('unknown', 'Not open');
      else if (place.utilization === null) sign.set('unknown', 'Size unknown');
      else sign.set(standing, word);
      const budget = place.budget === null ? '' : ` The program may use ${bytes(place.budget)}.`;
      setText(
        total,
        `${bytes(place.live)} live, at most ${bytes(place.peak)}; ${place.total === null ? 'how much there is in all is unknown.' : `${percent(place.utilization)} of ${bytes(place.total)} in use.`}${budget}`,
      );
      const own = history.map((s) => {
        const of = s.runtimes.find((r) => r.name === runtime.name);
        return { spilled: of?.spilled ?? null, device: of?.devices.find((d) => d.id === place.device) ?? null };
      });
      const { moderate, high, critical } = runtime.memory.levels;
      // The levels are worth drawing once the memory is on the scale of the chart.
      const near = place.total !== null && Math.max(...own.map((o) => o.device?.reserved ?? 0)) > 0.2 * place.total;
      const marks = near
        ? [
            { value: (place.total! * moderate) / 100, label: 'moderate', colour: '--muted' },
            { value: (place.total! * high) / 100, label: 'high', colour: '--watch' },
            { value: (place.total! * critical) / 100, label: 'critical', colour: '--bad' },
          ]
        : [];
      chart.update(
        history.map((s) => s.time),
        [
          own.map((o) => o.device?.live ?? null),
          own.map((o) => o.device?.reserved ?? null),
          own.map((o) => o.device?.others ?? null),
          own.map((o) => o.spilled),
        ],
        marks,
      );
    },
  };
}

export const memory: Page = {
  id: 'memory',
  title: 'Memory',
  about: 'How much room there is, and who takes it.',
  icon: 'memory',
  mount: () => {
    const none = noRuntime();
    let view: View | null = null;
    const cards = deviceCards<Place>((p) => p.device, placeCard);
    const figures = {
      tensors: figure('Live tensors'),
      spills: figure('Moved to the host'),
      cleanups: figure('Clean-ups'),
      hits: figure('Pool hit rate'),
      rounding: figure('Pool: asked / handed out'),
    };
    const holders = table<Held>(
      'Who holds most',
      [
        { head: 'In all', text: (o) => bytes(o.bytes), number: true, bar: (o) => o.bytes / largest },
        { head: 'Tensors', text: (o) => count(o.count), number: true },
        { head: 'What', text: (o) => o.what, code: true },
        { head: 'Where', text: (o) => o.device },
        { head: 'Made at', text: (o) => (o.site ? shortLine(o.site) : unknown), code: true, title: (o) => o.site },
        { head: 'Oldest', text: (o) => ago(view!.now - o.ageMs, view!.now) },
      ],
      (o) => `${o.device} ${o.what} ${o.site}`,
      empty('No tensors are alive.'),
    );
    let largest = 1;
    type Leak = RuntimeView['memory']['leaks'][number];
    const leaks = table<Leak>(
      'Memory that keeps growing',
      [
        { head: 'When', text: (l) => ago(l.timestamp, view!.now) },
        { head: 'Device', text: (l) => l.device, code: true },
        { head: 'From', text: (l) => bytes(l.fromMb * MiB), number: true },
        { head: 'To', text: (l) => bytes(l.toMb * MiB), number: true },
        { head: 'A minute', text: (l) => bytes(l.mbPerMinute * MiB), number: true },
        {
          head: 'Full in',
          text: (l) =>
            l.minutesToFull === null
              ? unknown
              : l.minutesToFull < 1
                ? 'under a minute'
                : `${l.minutesToFull.toFixed(0)} min`,
          number: true,
        },
        {
          head: 'Most made at',
          text: (l) => (l.sites[0]?.site ? shortLine(l.sites[0].site) : unknown),
          code: true,
          title: (l) => l.sites[0]?.site ?? '',
        },
      ],
      (l) => `${l.timestamp} ${l.device}`,
      empty('No leak was found: live memory does not grow without end.'),
    );
    const forgotten = table<{ readonly line: string; readonly count: number }>(
      'Tensors that nobody disposed',
      [
        { head: 'Made at', text: (l) => (l.line ? shortLine(l.line) : unknown), code: true, title: (l) => l.line },
        { head: 'Tensors', text: (l) => count(l.count), number: true },
      ],
      (l) => l.line,
      empty(
        'The garbage collector found no tensor that somebody forgot to dispose. Lines are known in development mode:',
        'createRuntime({ development: true })',
      ),
    );
    type Cleanup = RuntimeView['memory']['cleanups'][number];
    const cleanups = table<Cleanup>(
      'Clean-ups',
      [
        { head: 'When', text: (c) => ago(c.timestamp, view!.now) },
        { head: 'Device', text: (c) => c.device, code: true },
        { head: 'Why', text: (c) => (c.trigger === 'pressure' ? 'memory was short' : 'asked for') },
        { head: 'Freed', text: (c) => bytes(c.freedMb * MiB), number: true },
        { head: 'Steps', text: stepsOf },
      ],
      (c) => `${c.timestamp} ${c.device}`,
      empty('Memory was never so short that it had to be cleaned up.'),
    );
    const element = h(
      'div',
      { class: 'stack' },
      none,
      h('section', { class: 'figures', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
      cards.element,
      panel(
        'Who holds most',
        'The largest tensors, those of one line together. Looked up every five seconds.',
        holders.element,
      ),
      panel('Growth', 'Live memory that rises and does not come down.', leaks.element),
      panel(
        'Forgotten tensors',
        'Collected by the garbage collector because nobody disposed of them.',
        forgotten.element,
      ),
      panel('Clean-ups', 'What each step gave back.', cleanups.element),
    );
    return {
      element,
      update: (next) => {
        view = next;
        const { runtime } = next;
        show(none, runtime === null);
        cards.update(next, ({ snapshot }) => snapshot.memory.places);
        if (!runtime) return;
        const { snapshot, memory: m } = runtime;
        figures.tensors.set(
          count(snapshot.counters.tensors),
          `${bytes(snapshot.counters.bytes)}; at most ${bytes(snapshot.counters.peakBytes)}`,
        );
        figures.spills.set(
          count(m.spills),
          m.spills > 0
            ? `${bytes(m.spilledBytes)} in all; ${bytes(snapshot.memory.spilled)} in host memory now`
            : `tensors moved for lack of room; ${bytes(snapshot.memory.spilled)} kept in host memory`,
        );
        figures.cleanups.set(
          count(snapshot.memory.cleanups),
          runtime.memory.cleanupAt === null ? 'switched off' : `automatic from ${runtime.memory.cleanupAt} % on`,
        );
        const pools = snapshot.memory.places.flatMap((p) => (p.pool ? [p.pool] : []));
        const sum = (of: (p: NonNullable<Place['pool']>) => number): number => pools.reduce((a, p) => a + of(p), 0);
        const requests = sum((p) => p.hits + p.misses);
        figures.hits.set(
          requests > 0 ? percent(sum((p) => p.hits) / requests) : unknown,
          requests > 0 ? counted(requests, 'request') : 'no pool is used: rt.memory.pool(device)',
        );
        figures.rounding.set(
          requests > 0 ? percent(sum((p) => p.requestedBytes) / sum((p) => p.roundedBytes)) : unknown,
          requests > 0 ? `${bytes(sum((p) => p.heldBytes))} held` : 'how much rounding costs',
        );
        const held = together(m.holders);
        largest = held[0]?.bytes ?? 1;
        holders.update(held);
        leaks.update(m.leaks);
        forgotten.update(snapshot.leaks.slice(0, 20));
        cleanups.update(m.cleanups);
      },
    };
  },
};
