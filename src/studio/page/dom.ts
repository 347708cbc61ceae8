// Elements without a framework. Text is always a text node: nothing that comes from a program can become markup.

export type Child = Node | string | null | undefined | false;

type Attributes = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;

const svgNamespace = 'http://www.w3.org/2000/svg';

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: readonly Node[]): SVGElement {
  const element = document.createElementNS(svgNamespace, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Changes text only if it is another: nothing flickers, and a selection survives. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, name: string): void {
  if (element.getAttribute('class') !== name) element.setAttribute('class', name);
}

export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function show(element: HTMLElement, visible: boolean): void {
  if (element.hidden === visible) element.hidden = !visible;
}

export interface Item<T> {
  readonly element: HTMLElement;
  update(value: T): void;
}

/** A list of elements that follows a list of values by their keys: what stays is changed in place. */
export function keyed<T>(
  parent: HTMLElement,
  keyOf: (value: T) => string,
  make: (value: T) => Item<T>,
): (values: readonly T[]) => void {
  const items = new Map<string, Item<T>>();
  return (values) => {
    const wanted = new Set<string>();
    let at: ChildNode | null = parent.firstChild;
    for (const value of values) {
      const key = keyOf(value);
      if (wanted.has(key)) continue;
      wanted.add(key);
      let item = items.get(key);
      if (!item) items.set(key, (item = make(value)));
      item.update(value);
      if (item.element === at) at = at.nextSibling;
      else parent.insertBefore(item.element, at);
    }
    for (const [key, { element }] of items) {
      if (wanted.has(key)) continue;
      element.remove();
      items.delete(key);
    }
  };
}

/** Stroke paths in a box of 24. */
const icons = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 4v3h6V4zM4 17v3h6v-3z',
  devices: 'M7 7h10v10H7zM10 2v3M14 2v3M10 19v3M14 19v3M2 10h3M2 14h3M19 10h3M19 14h3',
  memory: 'M3 8h18v8H3zM7 8v8M12 8v8M17 8v8M6 19v-3M18 19v-3',
  routing: 'M5 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM19 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 17h5a4 4 0 0 0 4-4V7',
  work: 'M3 12h4l3-8 4 16 3-8h4',
  events: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  forge: 'M14 6l4-3 3 3-3 4M14 6l4 4M14 6L4 16l4 4 10-10',
  profiles: 'M4 20V10M10 20V4M16 20v-8M22 20H2',
  batch: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  field: 'M3 8c3-4 6-4 9 0s6 4 9 0M3 16c3-4 6-4 9 0s6 4 9 0',
  good: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8.2 12.4l2.6 2.6 5-5.4',
  watch: 'M12 3.5L22 20.5H2zM12 10v4.5M12 17.4h.01',
  bad: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9l6 6M15 9l-6 6',
  unknown: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.7 9.6a2.4 2.4 0 1 1 3.4 2.3c-.7.3-1.1.8-1.1 1.6M12 16.6h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
} as const;

export type IconName = keyof typeof icons;

export function icon(name: IconName): SVGElement {
  return svg(
    'svg',
    { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: icons[name] }),
  );
}

/** Another picture in the same place. */
export function setIcon(holder: Element, name: IconName): void {
  if (holder.getAttribute('data-icon') === name) return;
  holder.setAttribute('data-icon', name);
  holder.replaceChildren(icon(name));
}
