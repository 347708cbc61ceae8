// Three questions and their answers; below them the figures, and what happened last.

import type { Answer, Standing, StudioSnapshot } from '../../types.ts';
import { sparkline } from '../chart.ts';
import { h, keyed, setClass, setIcon, setText, show } from '../dom.ts';
import { bytes, count, counted, percent, short, unknown } from '../format.ts';
import type { View } from '../store.ts';
import { badge, empty, figure, meter, panel } from '../widgets.ts';
import { eventList } from './event-list.ts';
import type { Page } from './page.ts';

const sparkSamples = 60;

function answerCard(question: string): { readonly element: HTMLElement; set(answer: Answer): void } {
  const sign = badge();
  const said = h('p', { class: 'answer' });
  const detail = h('p', { class: 'answer-detail' });
  const element = h(
    'article',
    { class: 'card' },
    h('header', { class: 'card-head' }, h('h2', {}, question), sign.element),
    said,
    detail,
  );
  return {
    element,
    set: (answer) => {
      setClass(element, `card ${answer.standing}`);
      sign.set(answer.standing);
      setText(said, answer.answer);
      setText(detail, answer.detail);
    },
  };
}

const pressureStanding: Readonly<Record<string, Standing>> = {
  low: 'good',
  moderate: 'good',
  high: 'watch',
  critical: 'bad',
};

export const overview: Page = {
  id: 'overview',
  title: 'Overview',
  about: 'How the program is doing, at a glance.',
  icon: 'overview',
  mount: () => {
    const cards = {
      device: answerCard('Which device runs?'),
      memory: answerCard('Is memory short?'),
      failures: answerCard('Did anything fail?'),
    };
    const alertBox = h('ul', { class: 'alerts', role: 'alert' });
    const alerts = keyed<StudioSnapshot['alerts']['active'][number]>(
      alertBox,
      (a) => `${a.name} ${a.firedAt}`,
      () => {
        const picture = h('span', { class: 'badge-icon' });
        const text = h('span', {});
        const element = h('li', {}, picture, text);
        return {
          element,
          update: (a) => {
            setClass(element, a.level === 'error' ? 'alert bad' : 'alert watch');
            setIcon(picture, a.level === 'error' ? 'bad' : 'watch');
            setText(text, a.text);
          },
        };
      },
    );
    const spark = sparkline();
    const pressure = meter('Memory in use');
    const figures = {
      devices: figure('Devices open'),
      busy: figure('Busiest device'),
      memory: figure('Memory in use', pressure.element),
      work: figure('Kernels per second', spark.element),
      hits: figure('Pool hit rate'),
      queue: figure('Queue'),
      errors: figure('Failures, last hour'),
      recoveries: figure('Recoveries, last hour'),
      anomalies: figure('Anomalies, last hour'),
    };
    const events = eventList(
      empty('Nothing has happened that needs a line. Failures, memory pressure and recoveries appear here.'),
    );
    const element = h(
      'div',
      { class: 'stack' },
      alertBox,
      h('div', { class: 'answers' }, cards.device.element, cards.memory.element, cards.failures.element),
      h(
        'section',
        { class: 'figures three', 'aria-label': 'Figures' },
        ...Object.values(figures).map((f) => f.element),
      ),
      panel('What happened last', '', events.element),
    );
    return {
      element,
      update: (view) => {
        const { snapshot } = view;
        cards.device.set(snapshot.health.device);
        cards.memory.set(snapshot.health.memory);
        cards.failures.set(snapshot.health.failures);
        alerts(snapshot.alerts.active);
        show(alertBox, snapshot.alerts.active.length > 0);
        fill(figures, snapshot);
        spark.update(workRate(view));
        fillMemory(figures.memory, pressure, snapshot);
        events.update(
          view.events
            .filter((e) => e.level !== 'work')
            .slice(-6)
            .reverse(),
          view.now,
        );
      },
    };
  },
};

type Figures = Readonly<
  Record<
    'devices' | 'busy' | 'work' | 'hits' | 'queue' | 'errors' | 'recoveries' | 'anomalies',
    ReturnType<typeof figure>
  >
>;

function fill(f: Figures, s: StudioSnapshot): void {
  const open = s.runtimes.filter((r) => r.closedAt === null);
  const devices = open.flatMap((r) => r.snapshot.devices);
  const closed = devices.filter((d) => !d.open).map((d) => d.id);
  f.devices.set(
    `${devices.filter((d) => d.open).length} of ${devices.length}`,
    closed.length > 0 ? `not open: ${closed.join(', ')}` : 'all that were found',
  );
  const busy = open.flatMap((r) => r.busy).filter((b) => b.share !== null);
  const busiest = busy.sort((a, b) => b.share! - a.share!)[0];
  f.busy.set(percent(busiest?.share), busiest ? busiest.device : 'no device reports how busy it is');
  const rates = open.flatMap((r) => r.busy.map((b) => b.launchesPerSecond));
  const known = rates.filter((r) => r !== null);
  const launches = open.reduce((sum, r) => sum + r.snapshot.counters.launches, 0);
  f.work.set(
    known.length > 0 ? short(Math.round(known.reduce((a, b) => a + b, 0))) : unknown,
    `${count(launches)} since the start`,
  );
  const pools = [
    ...open.flatMap((r) => r.snapshot.memory.places.flatMap((p) => (p.pool ? [p.pool] : []))),
    ...(s.compute ? [s.compute.pool] : []),
  ];
  const hits = pools.reduce((sum, p) => sum + p.hits, 0);
  const requests = hits + pools.reduce((sum, p) => sum + p.misses, 0);
  f.hits.set(
    requests > 0 ? percent(hits / requests) : unknown,
    requests > 0 ? counted(requests, 'request') : 'no pool is used',
  );
  const queues = open.map((r) => r.queue).filter((q) => q !== null);
  f.queue.set(
    queues.length > 0 ? count(queues.reduce((a, b) => a + b, 0)) : unknown,
    queues.length > 0 ? 'launches not finished yet' : 'known while profiling is on',
  );
  f.errors.set(
    count(s.lastHour.errors),
    s.lastMinute.errors > 0 ? `${s.lastMinute.errors} in the last minute` : 'none in the last minute',
  );
  f.recoveries.set(count(s.lastHour.recoveries), 'devices that came back');
  f.anomalies.set(
    s.compute ? count(s.lastHour.anomalies) : unknown,
    s.compute ? 'found by GPUCompute' : 'found only where GPUCompute is watched',
  );
}

function fillMemory(f: ReturnType<typeof figure>, bar: ReturnType<typeof meter>, s: StudioSnapshot): void {
  const places = s.runtimes
    .filter((r) => r.closedAt === null)
    .flatMap((r) => r.snapshot.memory.places.map((p) => ({ ...p, levels: r.memory.levels })));
  const fullest = places.filter((p) => p.utilization !== null).sort((a, b) => b.utilization! - a.utilization!)[0];
  if (!fullest) {
    f.set(unknown, 'no device tells how much it has');
    bar.set(null, 'unknown', unknown);
    return;
  }
  const { moderate, high, critical } = fullest.levels;
  f.set(
    percent(fullest.utilization),
    `${fullest.device}, pressure ${fullest.pressure}; ${bytes(fullest.live)} by this program`,
  );
  bar.set(
    fullest.utilization,
    pressureStanding[fullest.pressure]!,
    `${percent(fullest.utilization)} of ${fullest.device}`,
    [moderate, high, critical],
  );
}

function workRate({ history }: View): (number | null)[] {
  return history.slice(-sparkSamples).map((s) => {
    const known = s.runtimes.flatMap((r) => r.devices.map((d) => d.launches)).filter((v) => v !== null);
    return known.length > 0 ? known.reduce((a, b) => a + b, 0) : null;
  });
}
