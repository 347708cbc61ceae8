// The page of a profile. It works from disk and without a network: the profile is in the page, or is chosen or dropped on it.

import { readProfile } from '../file/read.ts';
import type { ProfileFile } from '../file/types.ts';
import { comparePanel } from './compare-panel.ts';
import { demoProfile } from './demo.ts';
import { h } from './dom.ts';
import { panels } from './panels.ts';
import { whole } from './words.ts';

const page = document.getElementById('page')!;

function themeButton(): HTMLElement {
  const root = document.documentElement;
  const isDark = (): boolean =>
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  return h(
    'button',
    {
      id: 'theme',
      click: () => {
        root.dataset.theme = isDark() ? 'light' : 'dark';
        document.dispatchEvent(new Event('theme'));
      },
    },
    'Light / dark',
  );
}

function fileButton(): HTMLElement {
  const input = h('input', {
    type: 'file',
    accept: '.json,application/json',
    id: 'file',
    change: () => {
      const file = input.files?.[0];
      if (file) void load(file);
      // The same file may be chosen again when it has changed.
      input.value = '';
    },
  });
  return h('label', { class: 'file' }, 'Open a profile', input);
}

const header = (about: string): HTMLElement =>
  h('header', {}, h('h1', {}, 'GPUForge profile'), h('p', {}, about), fileButton(), themeButton());

function aboutOf(p: ProfileFile): string {
  const when = new Date(p.createdAt);
  const parts = [
    Number.isNaN(when.getTime()) ? p.createdAt : when.toLocaleString('en-GB'),
    p.machine.devices.map((d) => d.name).join(', '),
    p.machine.cpu,
    p.node === null ? 'browser' : `Node ${p.node}`,
    `gpuforge ${p.gpuforge}`,
    p.options.detailed && 'measured in detail',
  ];
  return parts.filter(Boolean).join(' · ');
}

/** What a reader should know about how far to trust it. */
function remarks(p: ProfileFile): string[] {
  const { entries, kernels, transfers } = p.dropped;
  const lost = entries + kernels + transfers;
  return [
    ...(lost > 0 ? [`${whole(lost)} records did not fit and were dropped.`] : []),
    ...(p.orphans > 0 ? [`${p.orphans} scopes have no known parent.`] : []),
    ...(p.violations > 0 ? [`${p.violations} kernels seem to start before they were enqueued.`] : []),
    ...(p.options.detailed && p.options.slowdown !== null
      ? [`Kernels were measured one by one: replays took ${p.options.slowdown.toFixed(2)} times as long for it.`]
      : []),
  ];
}

function show(p: ProfileFile, demo = false): void {
  const notes = remarks(p);
  page.replaceChildren(
    header(aboutOf(p)),
    ...(demo ? [h('div', { class: 'demo', role: 'status' }, 'Demo data: nothing here was measured.')] : []),
    ...(notes.length > 0 ? [h('p', { class: 'hint', id: 'remarks' }, notes.join(' '))] : []),
    ...panels(p),
    comparePanel(p),
  );
  document.documentElement.dataset.ready = 'yes';
}

function empty(): void {
  const zone = h(
    'div',
    { class: 'drop', id: 'drop' },
    h('h2', {}, 'Drop a profile here'),
    h(
      'p',
      {},
      'or choose one above. Write one with profiler.exportJSON("p.json") or gpuforge profile run -- node app.mjs',
    ),
    h('button', { id: 'demo', click: () => show(demoProfile(), true) }, 'Show demo data'),
  );
  page.replaceChildren(header('No file is loaded. Nothing leaves this page.'), zone);
  document.documentElement.dataset.ready = 'yes';
}

function refuse(error: unknown): void {
  page.querySelector('.alert')?.remove();
  const message = error instanceof Error ? error.message : String(error);
  page
    .querySelector('header')!
    .after(h('div', { class: 'alert', role: 'alert' }, `This file cannot be shown: ${message}`));
}

async function load(file: File): Promise<void> {
  try {
    show(readProfile(await file.text()));
  } catch (error) {
    refuse(error);
  }
}

document.addEventListener('dragover', (e) => {
  e.preventDefault();
  document.getElementById('drop')?.classList.add('over');
});
document.addEventListener('dragleave', () => document.getElementById('drop')?.classList.remove('over'));
document.addEventListener('drop', (e) => {
  e.preventDefault();
  const file = e.dataTransfer?.files[0];
  if (file) void load(file);
});

empty();
const embedded = document.getElementById('profile')?.textContent?.trim();
if (embedded) {
  try {
    show(readProfile(embedded));
  } catch (error) {
    refuse(error);
  }
}
