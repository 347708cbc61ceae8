// The parts that pages are made of: panels, badges, meters, figures, tables, and what is shown where there is nothing yet.

import type { Standing } from '../types.ts';
import { type Child, h, type IconName, icon, keyed, setAttribute, setClass, setIcon, setText, show } from './dom.ts';
import { unknown } from './format.ts';

export function panel(title: string, hint: string, ...children: readonly Child[]): HTMLElement {
  return h(
    'section',
    { class: 'panel' },
    h('header', { class: 'panel-head' }, h('h2', {}, title), hint ? h('p', { class: 'hint' }, hint) : null),
    ...children,
  );
}

const words: Readonly<Record<Standing, string>> = { good: 'Good', watch: 'Look', bad: 'Problem', unknown: 'Unknown' };

/** A sign with a shape, a colour and a word: none of them stands alone. */
export function badge(): { readonly element: HTMLElement; set(standing: Standing, word?: string): void } {
  const picture = h('span', { class: 'badge-icon' });
  const word = h('span', {});
  const element = h('span', { class: 'badge' }, picture, word);
  return {
    element,
    set: (standing, text = words[standing]) => {
      setClass(element, `badge ${standing}`);
      setIcon(picture, standing);
      setText(word, text);
    },
  };
}

/** Nothing here yet: what is missing, and the line that would bring it. */
export function empty(what: string, code = ''): HTMLElement {
  return h('div', { class: 'empty' }, h('p', {}, what), code ? h('pre', {}, h('code', {}, code)) : null);
}

export interface Figure {
  readonly element: HTMLElement;
  set(value: string, detail?: string): void;
}

/** One number with its name. */
export function figure(label: string, extra: Child = null): Figure {
  const value = h('dd', { class: 'figure-value' }, unknown);
  const detail = h('p', { class: 'figure-detail' });
  const element = h('div', { class: 'figure' }, h('dl', {}, h('dt', {}, label), value), detail, extra);
  return {
    element,
    set: (text, more = '') => {
      setText(value, text);
      setClass(value, `figure-value${text === unknown ? ' is-unknown' : ''}`);
      setText(detail, more);
    },
  };
}

/** A share of a whole, with its limits marked. */
export function meter(label: string): {
  readonly element: HTMLElement;
  set(share: number | null, standing: Standing, text: string, limits?: readonly number[]): void;
} {
  const bar = h('i', { class: 'meter-bar' });
  const marks = h('span', { class: 'meter-marks', 'aria-hidden': 'true' });
  const element = h(
    'div',
    { class: 'meter', role: 'meter', 'aria-label': label, 'aria-valuemin': '0', 'aria-valuemax': '100' },
    bar,
    marks,
  );
  return {
    element,
    set: (share, standing, text, limits = []) => {
      setClass(bar, `meter-bar ${standing}`);
      bar.style.width = `${100 * Math.min(1, share ?? 0)}%`;
      setAttribute(element, 'aria-valuetext', text);
      setAttribute(element, 'aria-valuenow', String(Math.round(100 * (share ?? 0))));
      if (marks.childElementCount !== limits.length) marks.replaceChildren(...limits.map(() => h('i')));
      limits.forEach((limit, i) => {
        (marks.children[i] as HTMLElement).style.left = `${limit}%`;
      });
    },
  };
}

export interface Column<T> {
  readonly head: string;
  readonly text: (row: T) => string;
  /** Right-aligned figures. */
  readonly number?: boolean;
  readonly code?: boolean;
  /** A bar behind the figure, 0 to 1. */
  readonly bar?: (row: T) => number | null;
  readonly title?: (row: T) => string;
}

export interface Table<T> {
  readonly element: HTMLElement;
  update(rows: readonly T[]): void;
}

/** Rows that stay in place; on a narrow screen each becomes a card with its labels. */
export function table<T>(
  caption: string,
  columns: readonly Column<T>[],
  keyOf: (row: T) => string,
  none: HTMLElement,
): Table<T> {
  const body = h('tbody');
  const element = h(
    'table',
    {},
    h('caption', { class: 'hidden' }, caption),
    h(
      'thead',
      {},
      h('tr', {}, ...columns.map((c) => h('th', { scope: 'col', class: c.number ? 'number' : '' }, c.head))),
    ),
    body,
  );
  const rows = keyed<T>(body, keyOf, () => {
    const cells = columns.map((c) => {
      const text = h(c.code ? 'code' : 'span');
      const bar = c.bar ? h('i', { class: 'cell-bar', 'aria-hidden': 'true' }) : null;
      return { text, bar, cell: h('td', { class: c.number ? 'number' : '', 'data-label': c.head }, bar, text) };
    });
    return {
      element: h('tr', {}, ...cells.map((c) => c.cell)),
      update: (row) =>
        columns.forEach((c, i) => {
          const { text, bar, cell } = cells[i]!;
          const value = c.text(row);
          setText(text, value);
          setClass(text, value === unknown ? 'is-unknown' : '');
          if (c.title) setAttribute(cell, 'title', c.title(row));
          if (bar) bar.style.width = `${100 * Math.min(1, c.bar!(row) ?? 0)}%`;
        }),
    };
  });
  const holder = h('div', { class: 'table-box' }, element, none);
  return {
    element: holder,
    update: (list) => {
      rows(list);
      show(element, list.length > 0);
      show(none, list.length === 0);
    },
  };
}

export function button(label: string, click: () => void, picture?: IconName): HTMLButtonElement {
  return h(
    'button',
    { type: 'button', class: 'button', onclick: click },
    picture ? icon(picture) : null,
    h('span', {}, label),
  );
}

/** Puts text on the clipboard, and says so. */
export function copyButton(text: () => string): HTMLButtonElement {
  const made = button(
    'Copy',
    () => {
      const word = made.querySelector('span')!;
      navigator.clipboard.writeText(text()).then(
        () => (word.textContent = 'Copied'),
        () => (word.textContent = 'Select it by hand'),
      );
      setTimeout(() => (word.textContent = 'Copy'), 2000);
    },
    'copy',
  );
  return made;
}

export interface FieldOptions {
  readonly label: string;
  readonly name: string;
  readonly options?: readonly string[];
  readonly value?: string;
  readonly placeholder?: string;
}

/** A labelled input, or a choice. */
export function field({ label, name, options, value = '', placeholder = '' }: FieldOptions): HTMLElement {
  const input = options
    ? h(
        'select',
        { name },
        ...options.map((o) => h('option', { value: o, selected: o === value }, o === '' ? 'this machine' : o)),
      )
    : h('input', { name, value, placeholder, autocomplete: 'off', spellcheck: 'false' });
  return h('label', { class: 'field' }, h('span', {}, label), input);
}

export const standingOfState: Readonly<Record<string, { readonly standing: Standing; readonly word: string }>> = {
  closed: { standing: 'good', word: 'Healthy' },
  'half-open': { standing: 'watch', word: 'On probation' },
  open: { standing: 'watch', word: 'Resting after failures' },
  quarantined: { standing: 'bad', word: 'Quarantined' },
  lost: { standing: 'bad', word: 'Lost' },
};
