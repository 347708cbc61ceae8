// Where work goes and how well the router knows: decisions, predictions beside measurements, and the question "why there?".

import { amount } from '../../../base/amount.ts';
import { operationTypes } from '../../../base/operations.ts';
import type { Prediction, RouteExplanation } from '../../../index.ts';
import type { Measured, RuntimeView } from '../../types.ts';
import { h, setText, show } from '../dom.ts';
import { ago, count, duration, percent, unknown } from '../format.ts';
import { scatter } from '../scatter.ts';
import type { Store, View } from '../store.ts';
import { empty, field, figure, panel, table } from '../widgets.ts';
import { noRuntime, type Page } from './page.ts';

type Decision = RuntimeView['snapshot']['routing']['decisions'][number];

const modes: Readonly<Record<string, string>> = {
  measured: 'by measured costs',
  rules: 'by the rule table',
  off: 'off: the first device is used',
};

/** Work without a name of its own goes by what its costliest kernel does. */
const classes: Readonly<Record<string, string>> = {
  map: 'element by element',
  heavy: 'element by element, costly functions',
  reduce: 'reduction',
  matmul: 'matrix product',
  sort: 'sort',
  scan: 'running sum',
  scatter: 'scatter',
  raw: 'raw kernel',
};

const nameOf = (op: string): string => classes[op] ?? op;

/** "Why there?": asked of the program's own router. */
function whyForm(store: Store, runtimeName: () => string): HTMLElement {
  const said = h('p', { class: 'answer', role: 'status' });
  const reason = h('p', { class: 'answer-detail' });
  const costs = table<Prediction>(
    'What it would cost',
    [
      { head: 'Device', text: (p) => p.device, code: true },
      { head: 'Total', text: (p) => duration(p.us / 1000), number: true },
      { head: 'Launch', text: (p) => duration(p.launch / 1000), number: true },
      { head: 'Work', text: (p) => duration(p.work / 1000), number: true },
      { head: 'Transfers', text: (p) => duration(p.transfer / 1000), number: true },
      { head: 'Measured before', text: (p) => count(p.samples), number: true },
    ],
    (p) => p.device,
    empty('No costs were compared: the choice was fixed, or the devices were not measured.'),
  );
  show(costs.element, false);
  const form = h(
    'form',
    { class: 'form' },
    field({ label: 'Operation', name: 'op', options: operationTypes, value: 'matrix_multiply' }),
    field({ label: 'Elements', name: 'size', value: '1M', placeholder: '1000, 64k, 2^20' }),
    field({ label: 'The data is at', name: 'at', value: '', placeholder: 'host' }),
    h('button', { type: 'submit', class: 'button primary' }, 'Ask the router'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const size = amount(String(given.get('size')).trim());
    store
      .get<RouteExplanation>('/api/why', {
        op: String(given.get('op')),
        size: String(size),
        at: String(given.get('at') ?? ''),
        runtime: runtimeName(),
      })
      .then(
        (e) => {
          setText(said, `It would run on ${e.device}.`);
          setText(reason, e.reason);
          costs.update([...e.predictions].sort((a, b) => a.us - b.us));
          show(costs.element, true);
        },
        (error: Error) => {
          setText(said, 'That cannot be answered.');
          setText(reason, error.message);
          show(costs.element, false);
        },
      );
  });
  return h('div', { class: 'stack tight' }, form, said, reason, costs.element);
}

export const routing: Page = {
  id: 'routing',
  title: 'Routing',
  about: 'Which device gets which work, and why.',
  icon: 'routing',
  mount: (store) => {
    let view: View | null = null;
    const none = noRuntime();
    const figures = {
      mode: figure('Decisions are made'),
      calibrated: figure('Measured devices'),
      exploration: figure('Cost of exploring'),
      pinned: figure('Pinned or forbidden'),
    };
    let most = 1;
    const decisions = table<Decision>(
      'Decisions by operation and device',
      [
        { head: 'Operation', text: (d) => nameOf(d.op) },
        { head: 'Device', text: (d) => d.device, code: true },
        { head: 'Chosen', text: (d) => count(d.decisions), number: true, bar: (d) => d.decisions / most },
        { head: 'To learn', text: (d) => count(d.explored), number: true },
        { head: 'Measured', text: (d) => count(d.count), number: true },
        { head: 'Mean', text: (d) => (d.count > 0 ? duration(d.meanMs) : unknown), number: true },
        { head: 'Predicted', text: (d) => (d.count > 0 ? duration(d.predictedMs / d.count) : unknown), number: true },
        { head: 'Off by', text: (d) => (d.count > 0 ? percent(d.error) : unknown), number: true },
      ],
      (d) => `${d.op} ${d.device}`,
      empty(
        'Nothing was routed yet. With one device there is nothing to choose; with several, decisions appear with the first computation.',
      ),
    );
    const cloud = scatter('Predicted against measured time');
    const groups = h('div', { class: 'legend' });
    const noPoints = empty(
      'No measurement yet since a page was opened. The router times the first runs of a program, then one in many.',
    );
    const worst = table<Measured>(
      'Predictions that were furthest off',
      [
        { head: 'When', text: (m) => ago(m.time, view!.now) },
        { head: 'Operation', text: (m) => nameOf(m.op) },
        { head: 'Device', text: (m) => m.device, code: true },
        { head: 'Predicted', text: (m) => duration(m.predictedMs), number: true },
        { head: 'Measured', text: (m) => duration(m.ms), number: true },
        { head: 'Factor', text: (m) => `${(m.ms / m.predictedMs).toFixed(2)} ×`, number: true },
      ],
      (m) => `${m.time} ${m.op} ${m.device} ${m.ms}`,
      empty('No measurement yet.'),
    );
    const element = h(
      'div',
      { class: 'stack' },
      none,
      h('section', { class: 'figures', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
      panel(
        'Why there?',
        'Asks the router of the program; changes nothing.',
        whyForm(store, () => view?.runtime?.name ?? ''),
      ),
      panel('Decisions', 'Per operation type and device.', decisions.element),
      panel(
        'Predicted and measured',
        'Points on the line were predicted exactly; above it the work took longer.',
        groups,
        cloud.element,
        noPoints,
      ),
      panel('Furthest off', 'Among the newest 400 measurements.', worst.element),
    );
    return {
      element,
      update: (next) => {
        view = next;
        const { runtime } = next;
        show(none, runtime === null);
        if (!runtime) return;
        const { routing: r } = runtime.snapshot;
        figures.mode.set(
          r.mode === 'off' ? 'Not at all' : r.mode === 'rules' ? 'By rules' : 'By measuring',
          modes[r.mode] ?? r.mode,
        );
        const open = runtime.snapshot.devices.filter((d) => d.health !== null).length;
        figures.calibrated.set(
          `${runtime.routing.calibrated.length} of ${open}`,
          runtime.routing.calibrated.map((c) => c.device).join(', ') || 'run gpuforge calibrate',
        );
        const { routedUs, lostUs } = r.exploration;
        figures.exploration.set(
          routedUs > 0 ? percent(lostUs / routedUs) : unknown,
          routedUs > 0 ? `${duration(lostUs / 1000)} of ${duration(routedUs / 1000)}` : 'nothing routed yet',
        );
        figures.pinned.set(
          r.device ?? 'No',
          r.forbidden.length > 0
            ? `forbidden: ${r.forbidden.join(', ')}`
            : r.device
              ? 'all work is pinned there'
              : 'every device may be chosen',
        );
        most = Math.max(1, ...r.decisions.map((d) => d.decisions));
        decisions.update([...r.decisions].sort((a, b) => b.decisions - a.decisions || b.count - a.count));
        const { measured } = runtime.routing;
        const names = [...new Set(measured.map((m) => m.device))].sort();
        show(cloud.element, measured.length > 0);
        show(noPoints, measured.length === 0);
        if (groups.childElementCount !== names.length)
          groups.replaceChildren(
            ...names.map((n, i) => h('span', { class: `key kc${(i % 5) + 1}` }, h('i', { 'aria-hidden': 'true' }), n)),
          );
        cloud.update(
          measured
            .filter((m) => m.predictedMs > 0 && m.ms > 0)
            .map((m) => ({ x: m.predictedMs, y: m.ms, group: names.indexOf(m.device) })),
        );
        worst.update(runtime.routing.worst);
      },
    };
  },
};
