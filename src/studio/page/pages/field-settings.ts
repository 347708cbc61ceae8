// Settings of a field: sliders, switches and choices where the studio may change them, else a list to read.

import type { SettingView } from '../../../field/index.ts';
import { h, keyed, setAttribute, setText, show } from '../dom.ts';
import type { Store } from '../store.ts';
import { empty } from '../widgets.ts';

/** So long after a change, figures that come may be older than it. */
const settleMs = 1500;
/** Positions of a slider. */
const steps = 1000;

type Range = Extract<SettingView['kind'], { kind: 'number' }>;

/** Small differences matter at one end of most ranges: there a slider moves slowly. */
const curves: Readonly<
  Record<'low' | 'high' | 'even', readonly [to: (t: number) => number, from: (v: number) => number]>
> = {
  low: [(t) => t ** 3, Math.cbrt],
  high: [(t) => 1 - (1 - t) ** 3, (v) => 1 - Math.cbrt(1 - v)],
  even: [(t) => t, (v) => v],
};

/** The value at a position of a slider, to two digits of its distance from the end that matters. */
export function valueAt({ low, high, fine }: Range, position: number): number {
  const value = low + (high - low) * curves[fine ?? 'even'][0](position / steps);
  const near = fine === 'high' ? high : fine === 'low' ? low : 0;
  const rounded = near + Number((value - near).toPrecision(2));
  return Math.min(high, Math.max(low, Number(rounded.toPrecision(12))));
}

export const positionOf = ({ low, high, fine }: Range, value: number): number =>
  Math.round(steps * curves[fine ?? 'even'][1]((value - low) / (high - low)));

/** Sends the newest value of a setting; while one is under way, only the newest of the others waits. */
function sender(store: Store, field: string, name: string, failed: (why: string) => void): (value: unknown) => void {
  let busy = false;
  let next: { readonly value: unknown } | null = null;
  const send = async (value: unknown): Promise<void> => {
    busy = true;
    try {
      await store.post('/api/field/settings', { field, settings: { [name]: value } });
      failed('');
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
    busy = false;
    const waiting = next;
    next = null;
    if (waiting) void send(waiting.value);
  };
  return (value) => {
    if (busy) next = { value };
    else void send(value);
  };
}

interface Control {
  /** What the row is made of, behind its name. */
  readonly elements: readonly HTMLElement[];
  set(value: SettingView['value']): void;
}

type Change = (value: SettingView['value']) => void;

const controls = {
  number: (range: Range, label: string, change: Change): Control => {
    const slider = h('input', { type: 'range', min: '0', max: steps, 'aria-label': label });
    const { low, high } = range;
    const exact = h('input', { type: 'number', min: low, max: high, step: 'any', 'aria-label': `${label}, exactly` });
    slider.addEventListener('input', () => {
      const value = valueAt(range, Number(slider.value));
      exact.value = String(value);
      setAttribute(slider, 'aria-valuetext', String(value));
      change(value);
    });
    exact.addEventListener('change', () => {
      if (exact.value !== '') change(Number(exact.value));
    });
    return {
      elements: [slider, exact],
      set: (value) => {
        const position = String(positionOf(range, Number(value)));
        if (slider.value !== position) slider.value = position;
        setAttribute(slider, 'aria-valuetext', String(value));
        // What is being typed is not finished.
        if (exact.value !== String(value) && document.activeElement !== exact) exact.value = String(value);
      },
    };
  },
  choice: ({ choices }: { readonly choices: readonly string[] }, label: string, change: Change): Control => {
    const select = h('select', { 'aria-label': label }, ...choices.map((c) => h('option', { value: c }, c)));
    select.addEventListener('change', () => change(select.value));
    return {
      elements: [select],
      set: (value) => {
        select.value = String(value);
      },
    };
  },
  flag: (_: unknown, label: string, change: Change): Control => {
    const box = h('input', { type: 'checkbox', role: 'switch', 'aria-label': label });
    box.addEventListener('change', () => change(box.checked));
    return {
      elements: [h('span', { class: 'switch' }, box)],
      set: (value) => {
        box.checked = value === true;
      },
    };
  },
};

function controlOf({ kind, about }: SettingView, change: Change): Control {
  switch (kind.kind) {
    case 'number':
      return controls.number(kind, about, change);
    case 'choice':
      return controls.choice(kind, about, change);
    case 'flag':
      return controls.flag(kind, about, change);
    default:
      return kind satisfies never;
  }
}

/** One row: the name with what it is, the control, and what went wrong. */
function liveRow(store: Store, field: string, first: SettingView) {
  const trouble = h('p', { class: 'setting-trouble', role: 'alert' });
  const send = sender(store, field, first.name, (why) => setText(trouble, why));
  let changed = 0;
  const control = controlOf(first, (value) => {
    changed = performance.now();
    send(value);
  });
  const element = h(
    'div',
    { class: `setting ${first.kind.kind}` },
    h('span', { class: 'setting-name' }, h('code', {}, first.name), h('span', { class: 'hint' }, first.about)),
    ...control.elements,
    trouble,
  );
  return {
    element,
    update: ({ value }: SettingView): void => {
      // What is being moved is not moved back by figures of a second ago.
      if (performance.now() - changed > settleMs) control.set(value);
    },
  };
}

function fixedRow(first: SettingView) {
  const value = h('span', { class: 'setting-value' });
  return {
    element: h(
      'div',
      { class: 'setting' },
      h('span', { class: 'setting-name' }, h('code', {}, first.name), h('span', { class: 'hint' }, first.about)),
      value,
    ),
    update: (s: SettingView): void => setText(value, `${String(s.value)}${s.live ? '' : ' (fixed when it was made)'}`),
  };
}

export function fieldSettings(
  store: Store,
  field: string,
): { readonly element: HTMLElement; update(settings: readonly SettingView[], control: boolean): void } {
  const list = h('div', { class: 'settings' });
  const looks = empty('This studio only looks. To change settings from here:', 'serveStudio({ allowControl: true })');
  const rows = keyed<SettingView & { readonly control: boolean }>(
    list,
    (s) => `${s.name} ${s.control && s.live}`,
    (s) => (s.control && s.live ? liveRow(store, field, s) : fixedRow(s)),
  );
  return {
    element: h('div', {}, list, looks),
    update: (settings, control) => {
      const fixedLast = [...settings].sort((a, b) => Number(b.live) - Number(a.live));
      rows(fixedLast.map((s) => ({ ...s, control })));
      show(looks, !control);
    },
  };
}
