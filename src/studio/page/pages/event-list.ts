// Events as lines: when, how serious, where, what. Used by several pages.

import type { EventEntry, EventLevel, Standing } from '../../types.ts';
import { h, keyed, setAttribute, setIcon, setText, show } from '../dom.ts';
import { ago, clock, count } from '../format.ts';

const signs: Readonly<Record<EventLevel, { readonly standing: Standing; readonly word: string }>> = {
  error: { standing: 'bad', word: 'Error' },
  warn: { standing: 'watch', word: 'Warning' },
  info: { standing: 'good', word: 'Note' },
  work: { standing: 'unknown', word: 'Work' },
};

export function eventList(none: HTMLElement): {
  readonly element: HTMLElement;
  update(entries: readonly EventEntry[], now: number): void;
} {
  const list = h('ul', { class: 'events' });
  let time = 0;
  const fill = keyed<EventEntry>(
    list,
    (e) => String(e.seq),
    (e) => {
      const { standing, word } = signs[e.level];
      const sign = h('span', {
        class: `event-sign ${e.level === 'error' || e.level === 'warn' ? standing : 'info'}`,
        title: word,
      });
      if (e.level === 'work') sign.append(h('i', { class: 'dot' }));
      else setIcon(sign, standing);
      sign.append(h('span', { class: 'hidden' }, word));
      const when = h('time', { datetime: new Date(e.time).toISOString(), title: new Date(e.time).toLocaleString() });
      const times = h('span', { class: 'event-count' });
      return {
        element: h(
          'li',
          { class: 'event' },
          sign,
          when,
          h('code', { class: 'event-kind' }, e.kind),
          h('span', { class: 'event-text' }, e.text, times),
          h('span', { class: 'event-device' }, e.device ?? ''),
        ),
        update: (entry) => {
          setText(when, `${clock(entry.time)}`);
          setAttribute(when, 'data-ago', ago(entry.time, time));
          setText(times, entry.count > 1 ? ` × ${count(entry.count)}` : '');
        },
      };
    },
  );
  return {
    element: h('div', {}, list, none),
    update: (entries, now) => {
      time = now;
      fill(entries);
      show(list, entries.length > 0);
      show(none, entries.length === 0);
    },
  };
}
