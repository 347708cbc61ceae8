// The shell of the page: navigation, the choice of a program, the line of health, and the page that the address names.

import { language } from './before.ts';
import { dropCharts } from './chart.ts';
import { h, icon, setAttribute, setClass, setIcon, setText, show } from './dom.ts';
import { clock } from './format.ts';
import { batch } from './pages/batch.ts';
import { devices } from './pages/devices.ts';
import { events } from './pages/events.ts';
import { field } from './pages/field.ts';
import { forge } from './pages/forge.ts';
import { memory } from './pages/memory.ts';
import { overview } from './pages/overview.ts';
import type { Mounted, Page } from './pages/page.ts';
import { profiles } from './pages/profiles.ts';
import { routing } from './pages/routing.ts';
import { work } from './pages/work.ts';
import { Store } from './store.ts';
import { empty } from './widgets.ts';

const pages: readonly Page[] = [overview, devices, memory, routing, work, batch, field, profiles, events, forge];

const app = document.getElementById('app')!;
app.dataset.language = language;
const store = new Store((what) => (what === 'data' ? draw() : drawConnection()));

// The link has done its work: a token does not belong into the history of the browser.
history.replaceState(null, '', `/${location.hash}`);

const links = pages.map((page) =>
  h('a', { href: `#/${page.id}`, class: 'nav-link' }, icon(page.icon), h('span', {}, page.title)),
);
const nav = h('nav', { id: 'nav', 'aria-label': 'Pages' }, ...links);
const menu = h(
  'button',
  { type: 'button', class: 'menu', 'aria-expanded': 'false', 'aria-controls': 'nav' },
  icon('menu'),
  h('span', {}, 'Menu'),
);
const chooser = h('select', { 'aria-label': 'Program', class: 'chooser' });
const only = h('p', { class: 'program' });
const connection = h('p', { class: 'connection', role: 'status' });
const title = h('h1');
const about = h('p', { class: 'about' });
const healthIcon = h('span', { class: 'badge-icon' });
const healthLine = h('span', {});
const health = h('p', { class: 'health unknown', role: 'status' }, healthIcon, healthLine);
const stale = h('p', { class: 'banner', role: 'alert', hidden: true });
const holder = h('main', { id: 'main', tabindex: '-1' });
const sidebar = h(
  'aside',
  { class: 'sidebar' },
  h(
    'div',
    { class: 'sidebar-inner' },
    h(
      'div',
      { class: 'brand' },
      h('span', { class: 'logo', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')),
      h('span', {}, 'GPUForge ', h('b', {}, 'Studio')),
    ),
    menu,
    h('div', { class: 'drawer' }, h('div', { class: 'choice' }, chooser, only), nav, connection),
  ),
);

menu.addEventListener('click', () => openMenu(menu.getAttribute('aria-expanded') !== 'true'));
function openMenu(open: boolean): void {
  menu.setAttribute('aria-expanded', String(open));
  sidebar.classList.toggle('open', open);
}

chooser.addEventListener('change', () => {
  const [program, runtime] = JSON.parse(chooser.value) as [string, string];
  store.choose(program, runtime);
});

let current: { readonly page: Page; readonly mounted: Mounted } | null = null;
const waiting = empty('Waiting for the first figures …');

function route(): void {
  const id = location.hash.replace(/^#\/?/, '') || 'overview';
  const page = pages.find((p) => p.id === id) ?? overview;
  if (current?.page === page) return;
  current = { page, mounted: page.mount(store) };
  setText(title, page.title);
  setText(about, page.about);
  document.title = `${page.title} · GPUForge Studio`;
  pages.forEach((p, i) => {
    if (p === page) links[i]!.setAttribute('aria-current', 'page');
    else links[i]!.removeAttribute('aria-current');
  });
  openMenu(false);
  holder.replaceChildren(store.view ? current.mounted.element : waiting);
  dropCharts();
  draw();
  scrollTo(0, 0);
}

let pending = false;
/** At most once a frame, however many messages come. A tab that nobody sees draws nothing. */
function draw(): void {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    const { view } = store;
    if (!view || !current) return;
    if (current.mounted.element.parentElement !== holder) holder.replaceChildren(current.mounted.element);
    const { standing, line } = view.snapshot.health;
    setClass(health, `health ${standing}`);
    setIcon(healthIcon, standing);
    setText(healthLine, line);
    drawChoice();
    current.mounted.update(view);
  });
}

let choices = '';
function drawChoice(): void {
  const { view } = store;
  const runtimes = view?.snapshot.runtimes ?? [];
  const options = store.programs.flatMap((p) =>
    p.id === store.program
      ? runtimes.map((r) => ({
          value: JSON.stringify([p.id, r.name]),
          label: `${p.name} · ${r.name}${r.closedAt === null ? '' : ' (closed)'}`,
        }))
      : [{ value: JSON.stringify([p.id, '']), label: p.name }],
  );
  const several = options.length > 1;
  show(chooser, several);
  show(only, !several);
  const closed = view?.runtime?.closedAt ?? null;
  setText(only, `${view?.snapshot.process.name ?? ''}${closed === null ? '' : `, closed at ${clock(closed)}`}`);
  const text = JSON.stringify(options);
  if (text !== choices) {
    choices = text;
    chooser.replaceChildren(...options.map((o) => h('option', { value: o.value }, o.label)));
  }
  chooser.value = JSON.stringify([store.program, view?.runtime?.name ?? '']);
}

function drawConnection(): void {
  const c = store.connection;
  document.body.classList.toggle('stale', c.state === 'stale');
  const words = { connecting: 'Connecting …', live: 'Live', stale: 'Not connected', locked: 'Locked' } as const;
  setText(connection, words[c.state]);
  setAttribute(connection, 'class', `connection ${c.state}`);
  show(stale, c.state === 'stale' || c.state === 'locked');
  if (c.state === 'stale')
    setText(stale, `Stale since ${clock(c.since)}: these are old values. ${c.why} Trying again …`);
  if (c.state === 'locked')
    setText(
      stale,
      'This page is locked: its session has ended. Take a new link from the program (studio.link()), or press Enter in the terminal of gpuforge studio.',
    );
}

function skip(event: Event): void {
  event.preventDefault();
  holder.focus();
}

addEventListener('hashchange', route);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) draw();
});
app.replaceChildren(
  h('a', { href: '#main', class: 'skip', onclick: skip }, 'Skip to the content'),
  sidebar,
  h('div', { class: 'content' }, h('header', { class: 'top' }, h('div', {}, title, about), health), stale, holder),
);
route();
drawConnection();
store.start();
