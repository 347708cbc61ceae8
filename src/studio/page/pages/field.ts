// Fields: a slice to look into, what went in and came out, how late the motors are, how well sensors are predicted.

import type { FieldSlice, FieldView } from '../../types.ts';
import { timeChart } from '../chart.ts';
import { h, keyed, setAttribute, setText, show } from '../dom.ts';
import { drawBars, drawHistogram, drawSlice, type PictureColours } from '../field-pictures.ts';
import { bytes, count, counted, duration, percent, short, unknown } from '../format.ts';
import type { Store, View } from '../store.ts';
import { empty, figure, panel } from '../widgets.ts';
import { fieldSettings } from './field-settings.ts';
import type { Page } from './page.ts';

/** A slice is asked for so long after the last one came; later if that failed. */
const sliceMs = 250;
const failedMs = 2000;

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const colours = (bar: string): PictureColours => ({
  ground: css('--raised'),
  line: css('--border'),
  text: css('--muted'),
  bar: css(bar),
  deadline: css('--watch'),
  late: css('--bad'),
});

/** A canvas as sharp as the screen; `draw` is left out while it has no size. */
function picture(className: string): {
  readonly element: HTMLCanvasElement;
  draw(label: string, paint: (to: CanvasRenderingContext2D, scale: number) => void): void;
} {
  const element = h('canvas', { class: className, role: 'img', 'aria-label': '' });
  return {
    element,
    draw: (label, paint) => {
      const [width, height] = [element.clientWidth, element.clientHeight];
      if (width === 0) return;
      const scale = devicePixelRatio;
      const [w, t] = [Math.round(width * scale), Math.round(height * scale)];
      if (element.width !== w) element.width = w;
      if (element.height !== t) element.height = t;
      paint(element.getContext('2d')!, scale);
      setAttribute(element, 'aria-label', label);
    },
  };
}

/** A labelled slider with its number behind it. */
function slider(label: string): { readonly element: HTMLElement; value(): number; limit(most: number): void } {
  const input = h('input', { type: 'range', min: '0', max: '0', value: '0' });
  const shown = h('output', {}, '0');
  input.addEventListener('input', () => setText(shown, input.value));
  let set = false;
  return {
    element: h('label', { class: 'slider' }, h('span', {}, label), input, shown),
    value: () => Number(input.value),
    limit: (most) => {
      setAttribute(input, 'max', String(most));
      if (set || most <= 0) return;
      set = true;
      // Edges of a grid are its dullest part.
      input.value = label === 'Slice' ? String(most >> 1) : '0';
      setText(shown, input.value);
    },
  };
}

/** Asks for slices as long as the page shows it. */
function sliceViewer(store: Store, name: string): { readonly element: HTMLElement; update(field: FieldView): void } {
  const view = picture('slice');
  const axis = h('select', { 'aria-label': 'Axis' }, ...[0, 1, 2].map((a) => h('option', { value: a }, `axis ${a}`)));
  const index = slider('Slice');
  const channel = slider('Channel');
  const told = h('p', { class: 'hint' });
  let field: FieldView | null = null;
  let waiting = false;
  const ask = async (): Promise<void> => {
    if (!field || waiting) return;
    waiting = true;
    let wait = sliceMs;
    try {
      const query = { field: name, axis: axis.value, index: String(index.value()), channel: String(channel.value()) };
      const slice = await store.get<FieldSlice>('/api/field/slice', query);
      const values = floats(slice.values);
      const { height, width } = slice;
      view.draw(`Channel ${query.channel} on slice ${query.index} across axis ${query.axis}`, (to) => {
        const { low, high } = drawSlice(to, values, height, width);
        setText(
          told,
          `Cycle ${count(slice.cycle)}: from ${low.toPrecision(3)}, dark, to ${high.toPrecision(3)}, bright.`,
        );
      });
    } catch (error) {
      wait = failedMs;
      setText(told, error instanceof Error ? error.message : String(error));
    }
    setTimeout(() => {
      waiting = false;
      // A page that is gone, or that nobody sees, asks no more; the next figures wake it.
      if (view.element.isConnected && !document.hidden && store.connection.state === 'live') void ask();
    }, wait);
  };
  return {
    element: h(
      'div',
      { class: 'slice-box' },
      view.element,
      h(
        'div',
        { class: 'toolbar' },
        h('label', { class: 'slider axis' }, h('span', {}, 'Across'), axis),
        index.element,
        channel.element,
      ),
      told,
    ),
    update: (next) => {
      field = next.disposed ? null : next;
      index.limit(next.cells[Number(axis.value)]! - 1);
      channel.limit(next.channels - 1);
      if (next.disposed) setText(told, 'The field was disposed of.');
      void ask();
    },
  };
}

function floats(base64: string): Float32Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

const most = (values: readonly number[]): number => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0);

interface Drawn {
  readonly field: FieldView;
  readonly view: View;
}

function fieldCard(
  store: Store,
  { field: first }: Drawn,
): { readonly element: HTMLElement; update(drawn: Drawn): void } {
  const figures = {
    rate: figure('Cycles per second'),
    time: figure('A cycle takes'),
    latency: figure('From tick to motors'),
    missed: figure('Missed deadlines'),
    confidence: figure('Confidence'),
    skill: figure('Skill'),
    information: figure('Information'),
    mode: figure('Mode'),
  };
  const slices = sliceViewer(store, first.name);
  const settings = fieldSettings(store, first.name);
  const sensors = picture('bars');
  const motors = picture('bars');
  const latencies = picture('histogram');
  const noCycle = empty('No cycle has ended since a page was opened.');
  const noLoop = empty('No loop runs. A loop has a deadline for each tick:', 'field.loop({ hz: 20, source, sink })');
  const bars = h(
    'div',
    { class: 'stack tight' },
    h('h3', {}, 'Sensors'),
    sensors.element,
    h('h3', {}, 'Motors'),
    motors.element,
  );
  const speed = timeChart({
    title: 'Latency',
    series: [{ label: 'median', colour: '--c1', fill: true }],
    format: (v) => duration(v),
  });
  const judged = timeChart({
    title: 'How well sensors are predicted',
    series: [
      { label: 'confidence', colour: '--c2' },
      { label: 'skill', colour: '--c3' },
    ],
    format: (v) => v.toFixed(2),
    top: 1,
  });
  const what = h('p', { class: 'hint' });
  const element = h(
    'div',
    { class: 'stack' },
    panel(
      first.name,
      '',
      what,
      h('section', { class: 'figures four', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
    ),
    h(
      'div',
      { class: 'charts' },
      panel('Slice', 'Values of one channel, read from the device while you look.', slices.element),
      h(
        'div',
        { class: 'stack' },
        panel('Sensors and motors', 'Of the last cycle.', noCycle, bars),
        panel(
          'Latencies',
          'Of the last 1,000 ticks; what is right of the line was too late.',
          noLoop,
          latencies.element,
        ),
      ),
    ),
    panel(
      'Settings',
      'A change holds from the next cycle on; it is noted in Events and saved with the field.',
      settings.element,
    ),
    panel('Over time', '', h('div', { class: 'charts' }, speed.element, judged.element)),
  );
  const draw = ({ field: f, view }: Drawn): void => {
    setText(
      what,
      `Model ${f.model}, ${f.cells.join(' × ')} cells with ${counted(f.channels, 'channel')} on ${f.device}${f.disposed ? '' : `, ${bytes(f.bytes)}`}. ${counted(f.cycle, 'cycle')} since it was made.`,
    );
    const { state, loop } = f;
    figures.rate.set(short(f.cyclesPerSecond), loop ? `asked for: ${loop.hz}` : 'over five seconds');
    figures.time.set(duration(f.cycleMs?.p50), f.cycleMs ? `99 of 100 within ${duration(f.cycleMs.p99)}` : '');
    figures.latency.set(
      duration(loop?.latency.p50),
      loop ? `99 of 100 within ${duration(loop.latency.p99)}` : 'no loop runs',
    );
    figures.missed.set(
      loop ? count(loop.missed) : unknown,
      loop ? `of ${counted(loop.ticks, 'tick')} at ${loop.hz} a second` : 'no loop runs',
    );
    const predicts = state !== null && state.predictionConfidence === null ? 'nothing predicts in this field' : '';
    figures.confidence.set(percent(state?.predictionConfidence), predicts);
    figures.skill.set(
      state?.predictionSkill == null ? unknown : state.predictionSkill.toFixed(2),
      predicts || '1 is perfect, 0 is no better than the last value',
    );
    figures.information.set(state ? state.fieldInformation.toFixed(3) : unknown, state ? state.informationState : '');
    figures.mode.set(state ? state.mode : unknown, state ? `${percent(state.sparsity)} of the content is near 0` : '');
    slices.update(f);
    settings.update(f.settings, view.snapshot.control && !f.disposed);
    show(noCycle, f.motors === null);
    show(bars, f.motors !== null);
    show(noLoop, loop === null);
    show(latencies.element, loop !== null);
    if (f.sensors && f.motors) {
      const [s, m] = [f.sensors, f.motors];
      const scale = Math.max(1, most(s));
      sensors.draw(`${s.length} sensors, the largest ${most(s).toFixed(2)}`, (to) =>
        drawBars(to, s, colours('--c3'), scale),
      );
      motors.draw(`${m.length} motors: ${m.map((v) => v.toFixed(2)).join(', ')}`, (to) =>
        drawBars(to, m, colours('--c1')),
      );
    }
    if (loop)
      latencies.draw(
        `Latencies of ${loop.ticks} ticks: median ${duration(loop.latency.p50)}, deadline ${duration(1000 / loop.hz)}, ${loop.missed} missed`,
        (to, scale) => drawHistogram(to, loop.histogram, 1000 / loop.hz, colours('--c1'), scale),
      );
    const past = view.history.flatMap((s) => {
      const of = s.fields?.find((p) => p.name === f.name);
      return of ? [{ time: s.time, of }] : [];
    });
    const times = past.map((p) => p.time);
    const deadline = loop ? [{ value: 1000 / loop.hz, label: 'deadline', colour: '--watch' }] : [];
    speed.update(times, [past.map((p) => p.of.latencyMs)], deadline);
    judged.update(times, [past.map((p) => p.of.confidence), past.map((p) => p.of.skill)]);
  };
  return { element, update: draw };
}

export const field: Page = {
  id: 'field',
  title: 'Field',
  about: 'Dynamic fields: what is in them, what comes out, and whether it comes in time.',
  icon: 'field',
  mount: (store) => {
    const none = empty('No field is watched. Give the studio one:', 'serveStudio({ fields: [field] })');
    const holder = h('div', { class: 'stack' });
    const cards = keyed<Drawn>(
      holder,
      (d) => d.field.name,
      (d) => fieldCard(store, d),
    );
    return {
      element: h('div', { class: 'stack' }, none, holder),
      update: (view) => {
        show(none, view.snapshot.fields.length === 0);
        cards(view.snapshot.fields.map((f) => ({ field: f, view })));
      },
    };
  },
};
