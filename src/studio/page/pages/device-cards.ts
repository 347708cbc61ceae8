// One card for each device of the runtime that is watched, below each other.

import type { RuntimeView } from '../../types.ts';
import { h, keyed } from '../dom.ts';
import type { View } from '../store.ts';

export interface DeviceCard<T> {
  readonly element: HTMLElement;
  update(value: T, runtime: RuntimeView, view: View): void;
}

export interface DeviceCards<T> {
  readonly element: HTMLElement;
  /** None of them where no runtime is watched. */
  update(view: View, valuesOf: (runtime: RuntimeView) => readonly T[]): void;
}

/** `make` gets what is first known of a device; a card lives as long as its device is told of. */
export function deviceCards<T>(deviceOf: (value: T) => string, make: (first: T) => DeviceCard<T>): DeviceCards<T> {
  const element = h('div', { class: 'stack' });
  let now: { readonly view: View; readonly runtime: RuntimeView };
  const cards = keyed<T>(
    element,
    (value) => `${now.runtime.name} ${deviceOf(value)}`,
    (first) => {
      const card = make(first);
      return { element: card.element, update: (value) => card.update(value, now.runtime, now.view) };
    },
  );
  return {
    element,
    update: (view, valuesOf) => {
      const { runtime } = view;
      if (!runtime) return cards([]);
      now = { view, runtime };
      cards(valuesOf(runtime));
    },
  };
}
