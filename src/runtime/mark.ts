// rt.mark(): a point in the work of a runtime, to be waited for later while more is enqueued behind it.

import { notMade } from '../base/arguments.ts';
import type { Mark } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { WaitOptions } from '../tensor/core.ts';
import type { RuntimeHost } from './host.ts';

export class RuntimeMark implements PromiseLike<undefined> {
  readonly #host: RuntimeHost;
  readonly #marks: readonly { readonly place: Place; readonly mark: Mark }[];

  /** @internal Made by `rt.mark()`. */
  constructor(host: RuntimeHost, places: readonly Place[] = notMade('RuntimeMark', 'rt.mark()')) {
    this.#host = host;
    this.#marks = places.flatMap((place) => (place.alive ? [{ place, mark: place.device.mark(false) }] : []));
  }

  /** Whether all devices have finished what was enqueued before. Does not wait. */
  done(): boolean {
    return this.#marks.every(({ mark }) => mark.done());
  }

  /** Waits until all devices have finished what was enqueued before. */
  async whenDone(options: WaitOptions = {}): Promise<void> {
    await Promise.all(this.#marks.map(({ place, mark }) => this.#host.reached(place, mark, options.signal)));
  }

  // biome-ignore lint/suspicious/noThenProperty: `await rt.mark()` is what it is for.
  then<A = undefined, B = never>(
    onDone?: ((value: undefined) => A | PromiseLike<A>) | null,
    onFailed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.whenDone()
      .then(() => undefined)
      .then(onDone, onFailed);
  }
}
