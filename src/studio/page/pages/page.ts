// What a page is: made once, told of every change.

import type { IconName } from '../dom.ts';
import type { Store, View } from '../store.ts';
import { empty } from '../widgets.ts';

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

/** What pages about a runtime show while none is watched. */
export const noRuntime = (): HTMLElement =>
  empty('No runtime is watched. Give the studio one:', 'serveStudio({ runtimes: [rt] })');
