// Profiles: what was recorded, what to improve first and why, and two of them side by side. The whole of one opens on a page of its own.

import type { ComparedRow, Comparison, Suggestion } from '../../../profile/index.ts';
import type { FirstKernel, ProfileRow } from '../../types.ts';
import { h, icon, keyed, setText, show } from '../dom.ts';
import { count, counted, duration, percent, unknown } from '../format.ts';
import type { Store } from '../store.ts';
import { badge, empty, panel, table } from '../widgets.ts';
import type { Page } from './page.ts';

const sources: Readonly<Record<ProfileRow['from'], string>> = {
  file: 'a file',
  upload: 'uploaded, kept in memory',
  profiler: 'a profiler of this program',
};

const bounds: Readonly<Record<string, string>> = {
  memory: 'it is limited by memory bandwidth',
  compute: 'it is limited by arithmetic',
  launch: 'it is limited by the cost of launching it',
};

/** Which kernel to improve first, and why. */
function firstWords(k: FirstKernel): string {
  const roof =
    k.roofline === null
      ? 'how near it comes to the device’s best is unknown'
      : `it reaches ${percent(k.roofline)} of what the device can do`;
  const why = k.bound ? `, and ${bounds[k.bound]}` : '';
  return `${percent(k.share)} of all kernel time (${duration(k.totalMs)} in ${counted(k.count, 'call')} on ${k.device}); ${roof}${why}.`;
}

function suggestion(s: Suggestion): HTMLElement {
  return h('li', {}, h('b', {}, `${s.about}: `), s.advice, h('p', { class: 'hint' }, s.evidence));
}

function profileCard(p: ProfileRow): HTMLElement {
  const sign = badge();
  sign.set(p.problem === null ? 'good' : 'bad', p.problem === null ? 'Readable' : 'Not readable');
  const when = p.createdAt === null ? '' : new Date(p.createdAt).toLocaleString('en-GB');
  const about = [sources[p.from], when, p.wallMs === null ? '' : duration(p.wallMs), p.devices.join(', ')];
  const open = h(
    'a',
    { class: 'button primary', href: `/profile/${p.id}`, target: '_blank', rel: 'noopener' },
    icon('profiles'),
    h('span', {}, 'Open'),
  );
  return h(
    'section',
    { class: 'panel' },
    h(
      'header',
      { class: 'panel-head row' },
      h('div', {}, h('h2', {}, p.name), h('p', { class: 'hint' }, about.filter(Boolean).join(' · '))),
      sign.element,
    ),
    p.problem === null ? null : h('p', { class: 'note' }, p.problem),
    p.problem !== null
      ? null
      : h(
          'div',
          { class: 'stack tight' },
          h(
            'p',
            { class: 'hint' },
            `${counted(p.operations, 'operation')}, ${counted(p.calls, 'call')}, ${counted(p.kernels, 'kernel')}.`,
          ),
          p.first
            ? h('div', {}, h('h3', {}, 'Improve first: ', h('code', {}, p.first.name)), h('p', {}, firstWords(p.first)))
            : empty(
                'No kernel has a device time, so nothing can be said about which to improve first. Times come from CUDA, from WebGPU with timestamps, and from the CPU.',
              ),
          p.suggestions.length > 0 ? h('ul', { class: 'suggestions' }, ...p.suggestions.map(suggestion)) : null,
          h('div', {}, open),
        ),
  );
}

const classes: Readonly<Record<ComparedRow['class'], string>> = {
  improvement: 'faster',
  regression: 'slower',
  no_change: 'the same',
  new: 'new',
  removed: 'gone',
  unsure: 'too few calls to say',
};

function comparing(store: Store): { readonly element: HTMLElement; update(list: readonly ProfileRow[]): void } {
  const before = h('select', { name: 'before' });
  const after = h('select', { name: 'after' });
  const said = h('p', { class: 'hint', role: 'status' });
  const rows = table<ComparedRow>(
    'Time of a call, before and after',
    [
      { head: 'Operation', text: (r) => r.operation, code: true },
      { head: 'Before', text: (r) => duration(r.before), number: true },
      { head: 'After', text: (r) => duration(r.after), number: true },
      { head: 'Factor', text: (r) => (r.ratio === null ? unknown : `${r.ratio.toFixed(2)} ×`), number: true },
      { head: 'Calls', text: (r) => `${count(r.calls[0])} / ${count(r.calls[1])}`, number: true },
      { head: 'Verdict', text: (r) => classes[r.class] },
    ],
    (r) => r.operation,
    empty('The two have no operation.'),
  );
  show(rows.element, false);
  const form = h(
    'form',
    { class: 'form' },
    h('label', { class: 'field' }, h('span', {}, 'Before'), before),
    h('label', { class: 'field' }, h('span', {}, 'After'), after),
    h('button', { type: 'submit', class: 'button primary' }, 'Compare'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    store.get<Comparison>('/api/profiles/compare', { before: before.value, after: after.value }).then(
      (c) => {
        setText(
          said,
          c.sameMachine
            ? 'By the median time of a call.'
            : `Not the same machine, so nothing is called slower: ${c.differences.join('; ')}.`,
        );
        rows.update(c.rows);
        show(rows.element, true);
      },
      (error: Error) => setText(said, error.message),
    );
  });
  const element = panel('Compare', 'Two profiles, operation by operation.', form, said, rows.element);
  return {
    element,
    update: (list) => {
      const usable = list.filter((p) => p.problem === null);
      show(element, usable.length >= 2);
      for (const [i, select] of [before, after].entries()) {
        const chosen = select.value || usable[i]?.id || '';
        select.replaceChildren(...usable.map((p) => h('option', { value: p.id }, p.name)));
        select.value = chosen;
      }
    },
  };
}

export const profiles: Page = {
  id: 'profiles',
  title: 'Profiles',
  about: 'Where the time went, and what to improve first.',
  icon: 'profiles',
  mount: (store) => {
    const none = empty(
      'There is no profile yet. Record one and open it here, give the studio a profiler, or start it with files:',
      'gpuforge profile run --out p.json -- node app.mjs\ngpuforge studio --profile p.json\nserveStudio({ runtimes: [rt], profilers: [profiler] })',
    );
    show(none, false);
    const said = h('p', { class: 'hint', role: 'status' });
    const list = h('div', { class: 'stack' });
    const cards = keyed<ProfileRow>(
      list,
      (p) => p.id,
      (p) => ({ element: profileCard(p), update: () => {} }),
    );
    const compare = comparing(store);
    const load = (): void => {
      store.get<{ profiles: readonly ProfileRow[] }>('/api/profiles').then(
        ({ profiles: found }) => {
          show(none, found.length === 0);
          cards(found);
          compare.update(found);
        },
        (error: Error) => setText(said, error.message),
      );
    };
    const send = (file: File): void => {
      setText(said, `Reading ${file.name} …`);
      store.upload('/api/profiles', file).then(
        () => {
          setText(said, '');
          load();
        },
        (error: Error) => setText(said, `${file.name} cannot be shown. ${error.message}`),
      );
    };
    const input = h('input', { type: 'file', class: 'hidden', accept: '.json,application/json', multiple: true });
    input.addEventListener('change', () => {
      for (const file of input.files ?? []) send(file);
      input.value = '';
    });
    const drop = h(
      'label',
      { class: 'drop' },
      icon('download'),
      h('span', {}, 'Open a profile: choose a file, or drop it here. It stays in memory.'),
      h('span', { class: 'button' }, 'Choose files'),
      input,
    );
    drop.addEventListener('dragover', (e) => e.preventDefault());
    drop.addEventListener('drop', (e) => {
      e.preventDefault();
      for (const file of e.dataTransfer?.files ?? []) send(file);
    });
    load();
    return { element: h('div', { class: 'stack' }, drop, said, none, list, compare.element), update: () => {} };
  },
};
