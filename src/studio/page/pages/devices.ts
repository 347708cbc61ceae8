// Every device: what it is, how it does, what happened to it, and how busy, warm and hungry it was in the last minutes.

import type { RuntimeView } from '../../types.ts';
import { type Chart, timeChart } from '../chart.ts';
import { h, keyed, setText, show } from '../dom.ts';
import { ago, bytes, count, percent, unknown } from '../format.ts';
import { badge, empty, panel, standingOfState, table } from '../widgets.ts';
import { type DeviceCard, deviceCards } from './device-cards.ts';
import { noRuntime, type Page } from './page.ts';

type Device = RuntimeView['snapshot']['devices'][number];
type HealthEvent = RuntimeView['snapshot']['recovery']['history'][number];

interface Curve {
  readonly key: 'busy' | 'temperature' | 'power' | 'clock' | 'launches';
  readonly title: string;
  readonly colour: string;
  readonly format: (v: number) => string;
  readonly top?: number;
  readonly least?: number;
}

const curves: readonly Curve[] = [
  { key: 'busy', title: 'Busy', colour: '--c1', format: (v) => percent(v), top: 1 },
  { key: 'launches', title: 'Kernels per second', colour: '--c2', format: (v) => count(v), least: 4 },
  { key: 'temperature', title: 'Temperature', colour: '--c4', format: (v) => `${Math.round(v)} °C` },
  { key: 'power', title: 'Power', colour: '--c3', format: (v) => `${Math.round(v)} W` },
  { key: 'clock', title: 'Clock', colour: '--c5', format: (v) => `${Math.round(v)} MHz` },
];

const sources: Readonly<Record<string, string>> = {
  device: 'told by the device',
  spans: 'our kernels, by the device’s clock',
  launches: 'the time the host spends in launches',
};

const kinds: Readonly<Record<string, string>> = {
  failure: 'failed',
  lost: 'was lost',
  reset: 'was built anew',
  reborn: 'came back',
  fallback: 'lost its work to another device',
  return: 'does its own work again',
  closed: 'is trusted',
  open: 'rests after failures',
  'half-open': 'is on probation',
  quarantined: 'was quarantined',
};

function deviceCard(first: Device): DeviceCard<Device> {
  const sign = badge();
  const facts = h('dl', { class: 'facts' });
  const reason = h('p', { class: 'note' });
  const charts = curves.map((c): { readonly curve: Curve; readonly chart: Chart } => ({
    curve: c,
    chart: timeChart({
      title: c.title,
      height: 130,
      series: [{ label: '', colour: c.colour, fill: true }],
      format: c.format,
      ...(c.top === undefined ? {} : { top: c.top }),
      ...(c.least === undefined ? {} : { least: c.least }),
    }),
  }));
  const missing = h('p', { class: 'hint' });
  const grid = h('div', { class: 'charts' }, ...charts.map((c) => c.chart.element));
  const element = h(
    'section',
    { class: 'panel' },
    h(
      'header',
      { class: 'panel-head row' },
      h('div', {}, h('h2', {}, first.id), h('p', { class: 'hint' }, first.name)),
      sign.element,
    ),
    reason,
    facts,
    grid,
    missing,
  );
  const rows = keyed<readonly [string, string]>(
    facts,
    ([name]) => name,
    ([name]) => {
      const value = h('dd');
      return { element: h('div', {}, h('dt', {}, name), value), update: ([, text]) => setText(value, text) };
    },
  );
  return {
    element,
    update: (device, runtime, { history }) => {
      const state = device.health ? standingOfState[device.health.state] : undefined;
      if (!device.health) sign.set('unknown', 'Not open');
      else sign.set(state?.standing ?? 'unknown', state?.word ?? device.health.state);
      const why = device.open
        ? device.health?.lastError
          ? `Last failure: ${device.health.lastError}`
          : ''
        : [device.reason, device.fix].filter(Boolean).join('. ');
      setText(reason, why);
      show(reason, why !== '');
      rows(factsOf(device, runtime));
      const own = history.map(
        (s) => s.runtimes.find((r) => r.name === runtime.name)?.devices.find((d) => d.id === device.id) ?? null,
      );
      const times = history.map((s) => s.time);
      const unknowns: string[] = [];
      for (const { curve, chart } of charts) {
        const values = own.map((d) => d?.[curve.key] ?? null);
        const known = values.some((v) => v !== null);
        show(chart.element, known && device.health !== null);
        if (known) chart.update(times, [values]);
        else unknowns.push(curve.title.toLowerCase());
      }
      show(grid, device.health !== null && unknowns.length < charts.length);
      setText(
        missing,
        device.health !== null && unknowns.length > 0
          ? `Unknown: ${unknowns.join(', ')}. This device does not report ${unknowns.length > 1 ? 'them' : 'it'}.`
          : '',
      );
    },
  };
}

function factsOf(d: Device, runtime: RuntimeView): readonly (readonly [string, string])[] {
  const place = runtime.snapshot.memory.places.find((p) => p.device === d.id);
  const busy = runtime.busy.find((b) => b.device === d.id);
  const told: [string, string][] = [];
  if (d.health) {
    told.push(['Busy', busy?.share == null ? unknown : `${percent(busy.share)} (${sources[busy.source ?? ''] ?? ''})`]);
    told.push(['Memory in use by us', place ? bytes(place.live) : unknown]);
    told.push(['Used by other processes', place ? bytes(place.others) : unknown]);
    told.push(['Kernels started', count(d.launches)]);
    told.push([
      'Failures',
      `${count(d.health.failures)}${d.health.recentFailures > 0 ? `, ${d.health.recentFailures} lately` : ''}`,
    ]);
    const others = d.telemetry?.processes;
    if (others && others.length > 0)
      told.push(['Processes on it', others.map((p) => `${p.pid} (${bytes(p.memory)})`).join(', ')]);
  }
  for (const [name, value] of Object.entries(d.details))
    told.push([words(name), typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)]);
  return told;
}

/** Names that are no words. */
const detailNames: Readonly<Record<string, string>> = {
  simd: 'SIMD',
  blas: 'BLAS',
  cublas: 'cuBLAS',
  cuda: 'CUDA',
  ptx: 'PTX',
  pci: 'PCI',
  ffi: 'Calls through',
  l2Bytes: 'L2 cache, bytes',
  shared: 'Memory shared with workers',
};

/** computeCapability → Compute capability */
const words = (name: string): string => {
  if (name in detailNames) return detailNames[name]!;
  const spaced = name.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
};

export const devices: Page = {
  id: 'devices',
  title: 'Devices',
  about: 'The devices of the program, and how each is doing.',
  icon: 'devices',
  mount: () => {
    const none = noRuntime();
    const cards = deviceCards<Device>((d) => d.id, deviceCard);
    let clock = { time: 0, at: 0 };
    const history = table<HealthEvent>(
      'What happened to the devices',
      [
        { head: 'When', text: (e) => ago(clock.time - (clock.at - e.at), clock.time) },
        { head: 'Device', text: (e) => e.device, code: true },
        { head: 'What', text: (e) => kinds[e.kind] ?? e.kind },
        { head: 'Why', text: (e) => (e.detail.startsWith('from ') ? '' : e.detail) },
      ],
      (e) => `${e.at} ${e.device} ${e.kind}`,
      empty('No device failed, was lost or came back.'),
    );
    const element = h(
      'div',
      { class: 'stack' },
      none,
      cards.element,
      panel('History', 'Failures, losses and recoveries, newest first.', history.element),
    );
    return {
      element,
      update: (view) => {
        const { runtime } = view;
        show(none, runtime === null);
        cards.update(view, ({ snapshot }) =>
          [...snapshot.devices].sort((a, b) => Number(b.health !== null) - Number(a.health !== null)),
        );
        if (!runtime) return;
        clock = { time: runtime.snapshot.time, at: runtime.snapshot.clock };
        history.update([...runtime.snapshot.recovery.history].reverse().slice(0, 50));
      },
    };
  },
};
