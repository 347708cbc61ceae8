// What runs: kernels by time, what was compiled, moved and waited for; with profiling on, the devices' own times and a timeline.

import { shortLine } from '../../../base/format.ts';
import type { KernelRow, TransferRow } from '../../types.ts';
import { h, setAttribute, setText, show } from '../dom.ts';
import { bytes, clock, count, counted, duration, percent, short, unknown } from '../format.ts';
import type { View } from '../store.ts';
import { timeline } from '../timeline.ts';
import { empty, figure, panel, table } from '../widgets.ts';
import { noRuntime, type Page } from './page.ts';

const directions: Readonly<Record<TransferRow['direction'], string>> = {
  upload: 'host to device',
  download: 'device to host',
  move: 'between devices',
};

export const work: Page = {
  id: 'work',
  title: 'Work',
  about: 'Kernels, transfers and waits of the program.',
  icon: 'work',
  mount: (store) => {
    let view: View | null = null;
    let total = 1;
    let hostTotal = 1;
    const none = noRuntime();
    const figures = {
      launches: figure('Kernels started'),
      programs: figure('Programs'),
      compile: figure('Compiling'),
      waits: figure('Waits of the host'),
    };
    const kernels = table<KernelRow>(
      'Kernels by time',
      [
        { head: 'Kernel', text: (k) => k.name, code: true, title: (k) => k.name },
        { head: 'Device', text: (k) => k.device, code: true },
        { head: 'Started', text: (k) => count(k.count), number: true },
        { head: 'Device time', text: (k) => duration(k.deviceMs), number: true, bar: (k) => (k.deviceMs ?? 0) / total },
        { head: 'Host time', text: (k) => duration(k.hostMs), number: true, bar: (k) => k.hostMs / hostTotal },
        { head: 'GB/s', text: (k) => short(k.gbPerSecond), number: true },
        { head: 'GFLOP/s', text: (k) => short(k.gflopPerSecond), number: true },
        {
          head: 'Of the best',
          text: (k) => percent(k.roofline),
          number: true,
          title: () => 'Share of the rate that calibration measured on this device',
        },
      ],
      (k) => `${k.device} ${k.name}`,
      empty('No kernel was started since a page was opened.'),
    );
    const transfers = table<TransferRow>(
      'Transfers',
      [
        { head: 'Direction', text: (t) => directions[t.direction] },
        { head: 'Device', text: (t) => t.device, code: true },
        { head: 'Transfers', text: (t) => count(t.count), number: true },
        { head: 'Bytes', text: (t) => bytes(t.bytes), number: true },
        { head: 'Time', text: (t) => duration(t.ms), number: true },
        { head: 'Rate', text: (t) => (t.ms > 0 ? `${bytes((1000 * t.bytes) / t.ms)}/s` : unknown), number: true },
        { head: 'Page-locked', text: (t) => (t.bytes > 0 ? percent(t.pinnedBytes / t.bytes) : unknown), number: true },
      ],
      (t) => `${t.direction} ${t.device}`,
      empty('Nothing was moved since a page was opened.'),
    );
    type Wait = NonNullable<View['runtime']>['snapshot']['waits'][number];
    const waits = table<Wait>(
      'Waits by line',
      [
        { head: 'Line', text: (w) => shortLine(w.line), code: true, title: (w) => w.line },
        { head: 'Waits', text: (w) => count(w.count), number: true },
        { head: 'Time', text: (w) => duration(w.ms), number: true },
        { head: 'Each', text: (w) => duration(w.ms / w.count), number: true },
      ],
      (w) => w.line,
      empty('Lines of waits are known in development mode:', 'createRuntime({ development: true })'),
    );
    const lanes = timeline();
    const profiling = h('input', { type: 'checkbox', role: 'switch', id: 'profiling' });
    const told = h('p', { class: 'hint' });
    profiling.addEventListener('change', () => {
      store.post('/api/profiling', { on: profiling.checked }).catch((error: Error) => {
        profiling.checked = !profiling.checked;
        setText(told, error.message);
      });
    });
    const since = h('p', { class: 'hint' });
    const element = h(
      'div',
      { class: 'stack' },
      none,
      h('section', { class: 'figures', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
      h(
        'section',
        { class: 'panel' },
        h(
          'header',
          { class: 'panel-head row' },
          h('div', {}, h('h2', {}, 'Timeline'), told),
          h('label', { class: 'switch', for: 'profiling' }, profiling, h('span', {}, 'Profiling')),
        ),
        lanes.element,
      ),
      panel('Kernels', '', since, kernels.element),
      panel('Transfers', '', transfers.element),
      panel('Waits', 'Lines at which the host had to wait for data.', waits.element),
    );
    return {
      element,
      update: (next) => {
        view = next;
        const { runtime, snapshot } = view;
        show(none, runtime === null);
        if (!runtime) return;
        const { work: w, snapshot: s } = runtime;
        figures.launches.set(count(s.counters.launches), 'since the start');
        figures.programs.set(count(s.programs.made), `${counted(s.programs.hits, 'run')} used one that was ready`);
        figures.compile.set(
          w.compiles.count > 0 ? duration(w.compiles.ms) : unknown,
          w.compiles.count > 0
            ? `${counted(w.compiles.count, 'kernel')}, ${count(w.compiles.cached)} from a cache`
            : 'nothing compiled since a page was opened',
        );
        figures.waits.set(count(s.counters.waits), `${duration(s.counters.waitMs)} in all`);
        profiling.checked = w.profiling;
        profiling.disabled = !snapshot.control;
        setAttribute(profiling, 'aria-checked', String(w.profiling));
        setText(
          told,
          w.profiling
            ? 'The last two seconds, by the devices’ own clocks.'
            : snapshot.control
              ? 'Switch profiling on to see when each device is busy. It costs the program a little.'
              : 'Device times are unknown: profiling is off. Start the studio with allowControl: true to switch it on from here.',
        );
        show(lanes.element, w.profiling);
        if (w.profiling)
          lanes.update(
            w.spans,
            s.devices.filter((d) => d.health !== null).map((d) => d.id),
          );
        setText(
          since,
          w.since === null
            ? ''
            : `Since ${clock(w.since)}, when a page was first opened. Device times are the device’s own, and known while profiling is on.`,
        );
        total = Math.max(1e-9, ...w.kernels.map((k) => k.deviceMs ?? 0));
        hostTotal = Math.max(1e-9, ...w.kernels.map((k) => k.hostMs));
        kernels.update(w.kernels);
        transfers.update(w.transfers);
        waits.update(s.waits.slice(0, 20));
      },
    };
  },
};
