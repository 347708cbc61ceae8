// Two profiles side by side: another file is chosen, and each operation's time of a call is compared.

import { readProfile } from '../file/read.ts';
import type { ProfileFile } from '../file/types.ts';
import { type ComparedRow, type Comparison, compareProfiles } from '../gate/compare.ts';
import { h, panel } from './dom.ts';
import { table } from './table.ts';
import { ms } from './words.ts';

const words: Readonly<Record<ComparedRow['class'], string>> = {
  improvement: 'faster',
  regression: 'slower',
  no_change: 'no change',
  new: 'new',
  removed: 'gone',
  unsure: 'not sure',
};

function shown({ rows, differences }: Comparison): Node[] {
  const columns = [
    { title: 'Operation', value: (r: ComparedRow) => r.operation, left: true },
    {
      title: 'Before',
      value: (r: ComparedRow) => r.before,
      show: (r: ComparedRow) => (r.before === null ? '–' : ms(r.before)),
    },
    {
      title: 'After',
      value: (r: ComparedRow) => r.after,
      show: (r: ComparedRow) => (r.after === null ? '–' : ms(r.after)),
    },
    {
      title: 'Ratio',
      value: (r: ComparedRow) => r.ratio,
      show: (r: ComparedRow) => (r.ratio === null ? '–' : r.ratio.toFixed(2)),
    },
    {
      title: 'Calls',
      value: (r: ComparedRow) => r.calls[1],
      show: (r: ComparedRow) => `${r.calls[0]} → ${r.calls[1]}`,
    },
    {
      title: 'Totals',
      value: (r: ComparedRow) => r.totals[1],
      show: (r: ComparedRow) => `${ms(r.totals[0])} → ${ms(r.totals[1])}`,
    },
    { title: 'Verdict', value: (r: ComparedRow) => words[r.class], left: true },
  ];
  const other =
    differences.length > 0 &&
    h('p', { class: 'hint' }, `Different machines, so nothing is called slower: ${differences.join('; ')}.`);
  return [...(other ? [other] : []), table(rows, columns, 3)];
}

export function comparePanel(current: ProfileFile): HTMLElement {
  const result = h('div', { id: 'compared' });
  const input = h('input', {
    type: 'file',
    accept: '.json,application/json',
    id: 'compare-file',
    change: async () => {
      const file = input.files?.[0];
      if (!file) return;
      input.value = '';
      try {
        result.replaceChildren(...shown(compareProfiles(readProfile(await file.text()), current)));
      } catch (error) {
        result.replaceChildren(h('p', { class: 'alert', role: 'alert' }, (error as Error).message));
      }
    },
  });
  const choose = h('label', { class: 'file' }, 'Choose an older profile', input);
  return panel(
    'compare',
    'Compare',
    'The time of a call, by medians, before and after. More calls are no regression.',
    h('div', { class: 'bar' }, choose),
    result,
  );
}
