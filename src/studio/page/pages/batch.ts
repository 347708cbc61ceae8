// Batches: how many items a second, at which sizes, what failed, and what an item takes in batches of each size.

import type { BatchView } from '../../types.ts';
import { h, keyed, show } from '../dom.ts';
import { clock, count, duration, short, unknown } from '../format.ts';
import { empty, figure, panel, table } from '../widgets.ts';
import type { Page } from './page.ts';

type Operation = BatchView['operations'][number];
type Ended = BatchView['recent'][number];
type Size = BatchView['sizes'][number];

function batchCard(first: BatchView): { readonly element: HTMLElement; update(view: BatchView): void } {
  const figures = {
    rate: figure('Items per second'),
    items: figure('Items'),
    size: figure('Mean size of a batch'),
    limit: figure('Largest allowed'),
  };
  const operations = table<Operation>(
    'Operations',
    [
      { head: 'Operation', text: (o) => o.operation, code: true },
      { head: 'Device', text: (o) => o.device ?? 'host' },
      { head: 'Batches', text: (o) => count(o.calls), number: true },
      { head: 'Items', text: (o) => count(o.items), number: true },
      { head: 'Time', text: (o) => duration(o.totalMs), number: true },
      { head: 'Per item', text: (o) => (o.items > 0 ? duration(o.totalMs / o.items) : unknown), number: true },
      { head: 'Failures', text: (o) => count(o.failures), number: true },
    ],
    (o) => o.operation,
    empty('No batch has run yet.'),
  );
  let slowest = 1;
  const sizes = table<Size>(
    'Time of an item by size of the batch',
    [
      { head: 'Operation', text: (s) => s.operation, code: true },
      { head: 'Items in a batch', text: (s) => count(s.items), number: true },
      { head: 'Batches', text: (s) => count(s.batches), number: true },
      { head: 'Per item', text: (s) => duration(s.msPerItem), number: true, bar: (s) => s.msPerItem / slowest },
    ],
    (s) => `${s.operation} ${s.items}`,
    empty('No batch has ended since somebody looks.'),
  );
  const recent = table<Ended>(
    'The newest batches',
    [
      { head: 'When', text: (b) => clock(b.time) },
      { head: 'Operation', text: (b) => b.operation, code: true },
      { head: 'Outcome', text: (b) => (b.kind === 'done' ? 'done' : 'failed') },
      { head: 'Items', text: (b) => (b.kind === 'done' ? count(b.items) : unknown), number: true },
      { head: 'Time', text: (b) => (b.kind === 'done' ? duration(b.ms) : unknown), number: true },
    ],
    (b) => `${b.time} ${b.operation} ${b.items} ${b.ms}`,
    empty('No batch has ended since somebody looks.'),
  );
  const element = h(
    'div',
    { class: 'stack' },
    panel(
      first.name,
      'Totals since it was made.',
      h('section', { class: 'figures', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
    ),
    panel('Operations', '', operations.element),
    panel('Size and time', 'What one item took, in batches of each size.', sizes.element),
    panel('Newest batches', '', recent.element),
  );
  return {
    element,
    update: (b) => {
      figures.rate.set(
        short(b.itemsPerSecond),
        b.itemsPerSecond === null ? 'no batch since somebody looks' : 'over ten seconds',
      );
      figures.items.set(count(b.items), `in ${count(b.batches)} batches`);
      figures.size.set(b.meanSize === null ? unknown : b.meanSize.toFixed(1), 'items');
      figures.limit.set(count(b.limit), 'by memory and by what was measured');
      operations.update(b.operations);
      slowest = Math.max(1e-9, ...b.sizes.map((s) => s.msPerItem));
      sizes.update(b.sizes);
      recent.update(b.recent);
    },
  };
}

export const batch: Page = {
  id: 'batch',
  title: 'Batch',
  about: 'Items in batches: how fast, at which sizes, what failed.',
  icon: 'batch',
  mount: () => {
    const none = empty(
      'No batch processor is watched. Give the studio one:',
      'serveStudio({ runtimes: [rt], batches: { images: processor } })',
    );
    const holder = h('div', { class: 'stack' });
    const cards = keyed<BatchView>(
      holder,
      (b) => b.name,
      (b) => batchCard(b),
    );
    return {
      element: h('div', { class: 'stack' }, none, holder),
      update: ({ snapshot }) => {
        show(none, snapshot.batches.length === 0);
        cards(snapshot.batches);
      },
    };
  },
};
