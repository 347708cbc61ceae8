// What a page is: made once, told of every change.

import type { IconName } from '../dom.ts';
import type { Store, View } from '../store.ts';

export interface Mounted {
  readonly element: HTMLElement;
  update(view: View): void;
}

export interface Page {
  readonly id: string;
  readonly title: string;
  /** What the page is about, in a sentence. */
  readonly about: string;
  readonly icon: IconName;
  mount(store: Store): Mounted;
}

export const noRuntime = 'serveStudio({ runtimes: [rt] })';
