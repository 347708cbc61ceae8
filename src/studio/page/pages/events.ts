// The newest events: filtered by how serious they are and by words, paused while one reads, downloaded as JSON lines.

import type { EventEntry, EventLevel } from '../../types.ts';
import { h, icon, setText, show } from '../dom.ts';
import { count } from '../format.ts';
import type { View } from '../store.ts';
import { button, empty } from '../widgets.ts';
import { eventList } from './event-list.ts';
import type { Page } from './page.ts';

const levels: readonly { readonly level: EventLevel; readonly word: string; readonly on: boolean }[] = [
  { level: 'error', word: 'Errors', on: true },
  { level: 'warn', word: 'Warnings', on: true },
  { level: 'info', word: 'Notes', on: true },
  { level: 'work', word: 'Work', on: false },
];
const step = 200;

export const events: Page = {
  id: 'events',
  title: 'Events',
  about: 'What the program reported, newest first.',
  icon: 'events',
  mount: (store) => {
    const list = eventList(empty('No event fits. Choose more kinds above, or wait for the program to do something.'));
    const shown = new Set(levels.filter((l) => l.on).map((l) => l.level));
    let latest: View | null = null;
    let frozen: readonly EventEntry[] | null = null;
    let words = '';
    let most = step;
    const total = h('p', { class: 'hint', role: 'status' });
    const more = button('Show more', () => {
      most += step;
      draw();
    });
    const pause = h('button', { type: 'button', class: 'button', 'aria-pressed': 'false' }, 'Pause');
    pause.addEventListener('click', () => {
      frozen = frozen ? null : [...(latest?.events ?? [])];
      pause.setAttribute('aria-pressed', String(frozen !== null));
      setText(pause, frozen ? 'Go on' : 'Pause');
      draw();
    });
    const search = h('input', { type: 'search', placeholder: 'Filter by words', 'aria-label': 'Filter by words' });
    search.addEventListener('input', () => {
      words = search.value.toLowerCase();
      draw();
    });
    const boxes = levels.map(({ level, word }) => {
      const box = h('input', { type: 'checkbox', checked: shown.has(level) });
      box.addEventListener('change', () => {
        if (box.checked) shown.add(level);
        else shown.delete(level);
        draw();
      });
      return h('label', { class: 'chip' }, box, h('span', {}, word));
    });
    const download = h(
      'a',
      { class: 'button', href: '#', download: 'gpuforge-events.jsonl' },
      icon('download'),
      h('span', {}, 'JSON lines'),
    );
    const fits = (e: EventEntry): boolean =>
      shown.has(e.level) &&
      (words === '' || `${e.kind} ${e.device} ${e.runtime} ${e.text}`.toLowerCase().includes(words));
    const draw = (): void => {
      if (!latest) return;
      const all = frozen ?? latest.events;
      const found: EventEntry[] = [];
      let matching = 0;
      for (let i = all.length - 1; i >= 0; i--) if (fits(all[i]!) && ++matching <= most) found.push(all[i]!);
      list.update(found, latest.now);
      show(more, matching > most);
      const waiting = frozen ? latest.events.length - all.length : 0;
      setText(
        total,
        `${count(matching)} of the newest ${count(all.length)} events.${waiting > 0 ? ` ${count(waiting)} more came since you paused.` : ''}`,
      );
    };
    return {
      element: h(
        'section',
        { class: 'panel' },
        h('div', { class: 'toolbar', role: 'group', 'aria-label': 'Filter' }, ...boxes, search, pause, download),
        total,
        list.element,
        more,
      ),
      update: (view) => {
        latest = view;
        download.setAttribute('href', store.address('/api/events.jsonl'));
        draw();
      },
    };
  },
};
