// Elements for the page. Text is always text: nothing from a file is ever read as markup.

type Child = Node | string | null | false | undefined;
type Attributes = Readonly<Record<string, string | number | boolean | ((event: never) => void) | undefined>>;

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child) element.append(child);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An element of a drawing. */
export function s(tag: string, attributes: Attributes = {}, ...children: readonly Child[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  fill(element, attributes, children);
  return element;
}

/** A panel with a heading. */
export const panel = (id: string, title: string, hint: string, ...children: readonly Child[]): HTMLElement =>
  h('section', { class: 'panel', id }, h('h2', {}, title), hint !== '' && h('p', { class: 'hint' }, hint), ...children);

/** The value of a colour or length of the style sheet. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
