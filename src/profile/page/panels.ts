// The panels of the page.

import type { KernelSummary, OperationSummary, ProfiledDevice, ProfileFile } from '../file/types.ts';
import { suggest } from '../suggest/rules.ts';
import { bars, legend, memoryCurve, nothing, pie } from './charts.ts';
import { h, panel } from './dom.ts';
import { flames } from './flame.ts';
import { lanesOf } from './lanes.ts';
import { table } from './table.ts';
import { timeline } from './timeline.ts';
import { ms, percent, whole } from './words.ts';

const calls = (n: number): string => `${whole(n)} call${n === 1 ? '' : 's'}`;

type Operation = OperationSummary & { readonly name: string };

const operationsOf = (p: ProfileFile): Operation[] => Object.entries(p.summary).map(([name, o]) => ({ name, ...o }));

const card = (value: string, label: string): HTMLElement =>
  h('div', { class: 'card' }, h('b', {}, value), h('span', {}, label));

function cards(p: ProfileFile): HTMLElement {
  const total = p.entries.reduce((sum, e) => sum + e.durationMs, 0);
  const gpu = p.machine.devices.find((d) => d.kind !== 'cpu' && d.time) ?? p.machine.devices.find((d) => d.time);
  return h(
    'div',
    { class: 'cards', id: 'cards' },
    card(whole(p.entries.length), 'operations'),
    card(whole(Object.keys(p.summary).length), 'unique operations'),
    card(ms(p.wallMs), 'total time'),
    card(p.entries.length > 0 ? ms(total / p.entries.length) : '–', 'average time'),
    card(percent(gpu?.time?.busy ?? null), gpu ? `${gpu.id} busy` : 'device busy'),
    card(whole(p.kernels.length), 'kernels'),
  );
}

function suggestions(p: ProfileFile): HTMLElement {
  const found = suggest(p);
  const items = found.map((f) =>
    h(
      'div',
      { class: 'suggestion' },
      h('p', {}, h('b', {}, f.about), h('span', { class: 'rule' }, f.rule)),
      h('p', {}, f.advice),
      h('p', { class: 'why' }, f.evidence),
    ),
  );
  const none = h(
    'p',
    { class: 'soft' },
    'No rule found anything. Rules that need figures which were not measured stay silent.',
  );
  return panel(
    'suggestions',
    'What to do',
    'Each suggestion shows the figures it rests on.',
    ...(items.length > 0 ? items : [none]),
  );
}

const idleParts = [
  ['busy', 'busy', '--c2'],
  ['idleHost', 'waiting for the host', '--c1'],
  ['idleTransfer', 'waiting for transfers', '--c0'],
  ['idleUnknown', 'unknown', '--unknown'],
] as const;

function devices(p: ProfileFile): HTMLElement {
  const text = (d: ProfiledDevice): string => (d.time ? `${percent(d.time.busy)} busy` : 'times were not measured');
  const list = p.machine.devices.map((d) => ({
    name: `${d.id}: ${d.name}`,
    text: text(d),
    parts: d.time
      ? idleParts.map(([key, , token]) => ({ value: d.time![key], token }))
      : [{ value: 1, token: '--unknown' }],
  }));
  const clocks = p.machine.devices
    .filter((d) => d.clockErrorUs !== null)
    .map((d) => `${d.id} ${d.clockErrorUs} µs${d.quantumUs === null ? '' : `, in steps of ${d.quantumUs} µs`}`);
  return panel(
    'devices',
    'Devices',
    'Where the time of each device went.',
    list.length > 0
      ? bars(list, 'Busy and idle time of devices', 1080)
      : h('p', { class: 'soft' }, 'No runtime was attached.'),
    list.length > 0 && legend(idleParts.map(([, words, token]) => [words, token])),
    clocks.length > 0 && h('p', { class: 'hint' }, `Clocks are known to: ${clocks.join('; ')}.`),
  );
}

const bounds = { memory: 'memory', compute: 'arithmetic', launch: 'launch' } as const;

function kernels(p: ProfileFile): HTMLElement {
  const list = Object.values(p.kernelSummary);
  const total = list.reduce((sum, k) => sum + (k.total ?? 0), 0);
  const first = [...list].sort((a, b) => gain(b) - gain(a))[0];
  const hint =
    first && gain(first) > 0
      ? `Most to gain: ${first.name} on ${first.device}, ${percent((first.total ?? 0) / total)} of the kernel time${
          first.roofline === null ? '' : `, at ${percent(first.roofline)} of what the device reaches`
        }.`
      : 'Times of the devices, by kernel.';
  const columns = [
    { title: 'Kernel', value: (k: KernelSummary) => k.name, left: true },
    { title: 'Device', value: (k: KernelSummary) => k.device, left: true },
    { title: 'Calls', value: (k: KernelSummary) => k.count },
    { title: 'Total', value: (k: KernelSummary) => k.total, show: (k: KernelSummary) => ms(k.total) },
    { title: 'Median', value: (k: KernelSummary) => k.median, show: (k: KernelSummary) => ms(k.median) },
    { title: 'p95', value: (k: KernelSummary) => k.p95, show: (k: KernelSummary) => ms(k.p95) },
    { title: 'GB/s', value: (k: KernelSummary) => k.gbs, show: (k: KernelSummary) => figure(k.gbs) },
    { title: 'GFLOP/s', value: (k: KernelSummary) => k.gflops, show: (k: KernelSummary) => figure(k.gflops) },
    {
      title: 'Of the roof',
      value: (k: KernelSummary) => k.roofline,
      show: (k: KernelSummary) => (k.roofline === null ? '–' : percent(k.roofline)),
    },
    { title: 'Bound by', value: (k: KernelSummary) => (k.bound ? bounds[k.bound] : null) },
  ];
  const none = h('p', { class: 'soft' }, 'No kernels were seen. Attach a runtime: new Profiler({ runtimes: [rt] }).');
  return panel('kernels', 'Kernels', list.length > 0 ? hint : '', list.length > 0 ? table(list, columns, 3) : none);
}

const figure = (v: number | null): string => (v === null ? '–' : v >= 100 ? v.toFixed(0) : v.toFixed(1));

/** Time that could be saved if the kernel reached the roof; all of it where nobody knows. */
const gain = (k: KernelSummary): number => (k.total ?? 0) * (1 - Math.min(1, k.roofline ?? 0));

const top = (p: ProfileFile, count: number): Operation[] =>
  operationsOf(p)
    .sort((a, b) => b.total - a.total)
    .slice(0, count);

function shares(p: ProfileFile): HTMLElement {
  return panel(
    'shares',
    'Share of time',
    'Own time of each operation.',
    pie(operationsOf(p).map((o) => ({ name: o.name, value: o.self }))),
  );
}

function averages(p: ProfileFile): HTMLElement {
  const list = top(p, 8).map((o) => ({
    name: o.name,
    text: `${ms(o.avg)} × ${whole(o.callCount)}`,
    parts: [{ value: o.avg, token: '--c0' }],
  }));
  return panel(
    'averages',
    'Average time and calls',
    'Per call, slowest in all first.',
    bars(list, 'Average time of operations'),
  );
}

const timeParts = [
  ['gpuTotal', 'GPU', '--c2'],
  ['cpuTotal', 'CPU device', '--c4'],
  ['transferTotal', 'transfers', '--c0'],
  ['overheadTotal', 'the rest: own code, launching, waiting', '--c7'],
] as const;

function breakdown(p: ProfileFile): HTMLElement {
  const list = top(p, 8).map((o) => {
    const known = timeParts.every(([key]) => o[key] !== null);
    const parts = timeParts.flatMap(([key, , token]) => (o[key] === null ? [] : [{ value: o[key], token }]));
    const left = known ? 0 : Math.max(0, o.total - parts.reduce((sum, x) => sum + x.value, 0));
    return {
      name: o.name,
      text: ms(o.total),
      parts: [...parts, ...(left > 0 ? [{ value: left, token: '--unknown' }] : [])],
    };
  });
  const words = [...timeParts.map(([, text, token]) => [text, token] as const), ['not measured', '--unknown'] as const];
  return panel(
    'breakdown',
    'What the time is made of',
    'Per operation, scopes inside it included.',
    bars(list, 'Parts of the time of operations'),
    list.length > 0 && legend(words),
  );
}

function memory(p: ProfileFile): HTMLElement {
  const end = p.startMs + p.wallMs;
  const points = p.memory.filter((m) => m.t >= p.startMs && m.t <= end);
  const shown =
    points.length > 0 ? memoryCurve(points, p.startMs, end) : h('p', { class: 'soft' }, 'Memory was not measured.');
  return panel('memory', 'Memory', 'Live tensors and what devices hold from the system, over time.', shown);
}

function bottlenecks(p: ProfileFile): HTMLElement {
  const items = top(p, 5).map((o) =>
    h(
      'li',
      {},
      h('b', {}, o.name),
      ` ${ms(o.total)} in ${calls(o.callCount)}, p95 ${ms(o.p95)}${o.failures > 0 ? `, ${o.failures} failed` : ''}`,
    ),
  );
  return panel(
    'bottlenecks',
    'Top five',
    'By total time.',
    items.length > 0 ? h('ol', { class: 'top' }, ...items) : nothing(),
  );
}

function statistics(p: ProfileFile): HTMLElement {
  const time = (title: string, value: (o: Operation) => number | null) => ({
    title,
    value,
    show: (o: Operation) => ms(value(o)),
  });
  const columns = [
    { title: 'Operation', value: (o: Operation) => o.name, left: true },
    { title: 'Calls', value: (o: Operation) => o.callCount },
    time('Total', (o) => o.total),
    time('Own', (o) => o.self),
    time('Average', (o) => o.avg),
    time('Median', (o) => o.median),
    time('p95', (o) => o.p95),
    time('p99', (o) => o.p99),
    time('Min', (o) => o.min),
    time('Max', (o) => o.max),
    time('Deviation', (o) => o.std),
    time('GPU', (o) => o.gpuTotal),
    { title: 'Peak MiB', value: (o: Operation) => o.peakMemoryMb, show: (o: Operation) => figure(o.peakMemoryMb) },
    { title: 'Failed', value: (o: Operation) => o.failures },
    { title: 'Device', value: (o: Operation) => o.device, left: true },
  ];
  return panel('statistics', 'Statistics', 'Press a heading to sort.', table(operationsOf(p), columns, 2));
}

export function panels(p: ProfileFile): Node[] {
  const drawn = flames(p);
  return [
    cards(p),
    suggestions(p),
    devices(p),
    kernels(p),
    h('div', { class: 'two' }, shares(p), averages(p)),
    h('div', { class: 'two' }, breakdown(p), bottlenecks(p)),
    panel(
      'timeline',
      'Timeline',
      'Drag to move; + and − or Ctrl and the wheel to zoom; press an event to fill the view with it.',
      timeline(lanesOf(p)),
    ),
    panel(
      'flame',
      'Flame graph',
      'As wide as the time; scopes at the same time share it. Press one to fill the view with it.',
      ...(drawn.length > 0 ? drawn : [nothing()]),
    ),
    memory(p),
    statistics(p),
  ];
}
