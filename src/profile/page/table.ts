// A table that sorts by any column.

import { h } from './dom.ts';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => number | string | null;
  readonly show?: (row: T) => string;
  readonly left?: boolean;
}

export function table<T>(rows: readonly T[], columns: readonly Column<T>[], sortedBy: number): HTMLElement {
  let by = sortedBy;
  let down = true;
  const body = h('tbody');
  const heads = columns.map((c, i) =>
    h(
      'th',
      { class: c.left ? 'left' : undefined, scope: 'col' },
      h(
        'button',
        {
          click: () => {
            down = by === i ? !down : true;
            by = i;
            fill();
          },
        },
        c.title,
      ),
    ),
  );
  const rank = (v: number | string | null): number | string => v ?? Number.NEGATIVE_INFINITY;
  const fill = (): void => {
    const { value } = columns[by]!;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [rank(value(a)), rank(value(b))];
      const order = typeof x === 'string' || typeof y === 'string' ? -String(x).localeCompare(String(y)) : y - x;
      return down ? order : -order;
    });
    heads.forEach((th, i) => {
      if (i === by) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    });
    body.replaceChildren(
      ...sorted.map((row) =>
        h(
          'tr',
          {},
          ...columns.map((c) => {
            const value = c.value(row);
            const text = c.show ? c.show(row) : value === null ? '–' : String(value);
            return h('td', { class: c.left ? 'left' : undefined }, text);
          }),
        ),
      ),
    );
  };
  fill();
  return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, ...heads)), body));
}
