// Batches: how many items a second, at which sizes, what failed, and what an item takes in batches of each size. Queues: which jobs
// run, how far they are, what was tried again and what was given up.

import type { BatchView, QueueView } from '../../types.ts';
import { h, keyed, setText, show } from '../dom.ts';
import { clock, count, counted, duration, short, unknown } from '../format.ts';
import { empty, figure, panel, table } from '../widgets.ts';
import type { Page } from './page.ts';

type Operation = BatchView['operations'][number];
type Ended = BatchView['recent'][number];
type Size = BatchView['sizes'][number];
type Job = QueueView['jobs'][number];
type Failure = QueueView['failures'][number];

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
    empty('No batch has ended since a page was opened.'),
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
    empty('No batch has ended since a page was opened.'),
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
        b.itemsPerSecond === null ? 'no batch since a page was opened' : 'over ten seconds',
      );
      figures.items.set(count(b.items), `in ${counted(b.batches, 'batch', 'batches')}`);
      figures.size.set(b.meanSize === null ? unknown : b.meanSize.toFixed(1), 'items');
      figures.limit.set(count(b.limit), 'by memory and by what was measured');
      operations.update(b.operations);
      slowest = Math.max(1e-9, ...b.sizes.map((s) => s.msPerItem));
      sizes.update(b.sizes);
      recent.update(b.recent);
    },
  };
}

function queueCard(first: QueueView): { readonly element: HTMLElement; update(view: QueueView): void } {
  const figures = {
    running: figure('Running jobs'),
    waiting: figure('Chunks to do'),
    retries: figure('Attempts repeated'),
    dead: figure('Chunks given up'),
  };
  const problem = h('p', { class: 'banner', role: 'alert', hidden: true });
  const jobs = table<Job>(
    'Jobs',
    [
      { head: 'Job', text: (j) => j.id, code: true, title: (j) => j.id },
      { head: 'Operation', text: (j) => j.op, code: true },
      { head: 'State', text: (j) => j.state },
      {
        head: 'Done',
        text: (j) => `${count(j.done)} of ${j.total === null ? `${count(j.submitted)} so far` : count(j.total)}`,
        number: true,
        bar: (j) => (j.submitted > 0 ? j.done / (j.total ?? j.submitted) : null),
      },
      { head: 'Repeated', text: (j) => count(j.retries), number: true },
      { head: 'Given up', text: (j) => count(j.dead), number: true },
      { head: 'Since', text: (j) => clock(j.createdAt) },
    ],
    (j) => j.id,
    empty('There is no job.'),
  );
  const failures = table<Failure>(
    'Chunks that were given up',
    [
      { head: 'Job', text: (f) => f.job, code: true, title: (f) => f.job },
      { head: 'Index', text: (f) => count(f.index), number: true },
      { head: 'Attempts', text: (f) => count(f.attempts), number: true },
      { head: 'Error', text: (f) => f.error },
    ],
    (f) => `${f.job} ${f.index}`,
    empty('None.'),
  );
  const element = h(
    'div',
    { class: 'stack' },
    panel(
      first.name,
      'A queue of jobs, asked once a second.',
      problem,
      h('section', { class: 'figures', 'aria-label': 'Figures' }, ...Object.values(figures).map((f) => f.element)),
    ),
    panel('Jobs', 'Those that run, then the newest.', jobs.element),
    panel('Given up', 'Chunks that failed at every attempt. gpuforge jobs retry ID puts them back.', failures.element),
  );
  return {
    element,
    update: (q) => {
      const known = q.asked !== null;
      const sum = (of: (j: Job) => number): string => (known ? count(q.jobs.reduce((n, j) => n + of(j), 0)) : unknown);
      const runs = (j: Job): boolean => j.state === 'running';
      figures.running.set(sum((j) => Number(runs(j))));
      figures.waiting.set(sum((j) => (runs(j) ? j.submitted - j.done - j.dead : 0)));
      figures.retries.set(sum((j) => j.retries));
      figures.dead.set(sum((j) => j.dead));
      show(problem, q.problem !== null);
      setText(problem, q.problem === null ? '' : `The queue does not answer: ${q.problem}`);
      jobs.update(q.jobs);
      failures.update(q.failures);
    },
  };
}

export const batch: Page = {
  id: 'batch',
  title: 'Batch',
  about: 'Items in batches and jobs of queues: how fast, at which sizes, what failed.',
  icon: 'batch',
  mount: () => {
    const none = empty(
      'No batch processor and no queue is watched. Give the studio one:',
      'serveStudio({ batches: { images: processor }, queues: { jobs: transport } })',
    );
    const holder = h('div', { class: 'stack' });
    const cards = keyed<BatchView>(
      holder,
      (b) => b.name,
      (b) => batchCard(b),
    );
    const queueHolder = h('div', { class: 'stack' });
    const queues = keyed<QueueView>(
      queueHolder,
      (q) => q.name,
      (q) => queueCard(q),
    );
    return {
      element: h('div', { class: 'stack' }, none, queueHolder, holder),
      update: ({ snapshot }) => {
        show(none, snapshot.batches.length + snapshot.queues.length === 0);
        show(holder, snapshot.batches.length > 0);
        show(queueHolder, snapshot.queues.length > 0);
        queues(snapshot.queues);
        cards(snapshot.batches);
      },
    };
  },
};
