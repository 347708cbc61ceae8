// Items of a source in lists: as many as are there, so that one that is slow keeps nobody waiting.

import { untilLeft } from '../until-left.ts';

/** How long items wait for others of their list, in ms. */
const gatherMs = 20;

const late = Symbol('late');

/** How items are gathered. */
export interface Gathering<T, R> {
  /** Items of a list at most. */
  readonly most: number;
  /** What is kept of an item: taken before the source is asked for the next one, which may be the same object. */
  readonly take: (item: T) => R;
  /** Nobody wants more: a source that never ends is left. */
  readonly left: AbortSignal;
}

/** Lists of items; a list ends early when the next item is late. */
export async function* gathered<T, R>(
  source: AsyncIterable<T> | Iterable<T>,
  how: Gathering<T, R>,
): AsyncGenerator<R[], void> {
  if (!(Symbol.asyncIterator in source)) {
    yield* inLists(source, how);
    return;
  }
  const { most, take, left } = how;
  const items = untilLeft(source, left);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const asked = (): Promise<IteratorResult<T, void>> => {
    const step = items.next();
    // Heard where it is awaited; whoever takes the list may take a while until then.
    step.catch(() => {});
    return step;
  };
  try {
    let ended = false;
    for (let next = asked(); !ended; ) {
      const list: R[] = [];
      let waited: Promise<typeof late> | null = null;
      while (list.length < most) {
        const step = await (waited ? Promise.race([next, waited]) : next);
        if (step === late) break;
        ended = step.done === true;
        if (step.done) break;
        list.push(take(step.value));
        next = asked();
        waited ??= new Promise((resolve) => {
          timer = setTimeout(resolve, gatherMs, late);
        });
      }
      clearTimeout(timer);
      if (list.length > 0) yield list;
    }
  } finally {
    clearTimeout(timer);
    // Whoever stops early says so to the source; one that never answers is not waited for.
    void items.return().catch(() => {});
  }
}

function* inLists<T, R>(source: Iterable<T>, { most, take }: Gathering<T, R>): Generator<R[], void> {
  let list: R[] = [];
  for (const item of source) {
    list.push(take(item));
    if (list.length < most) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
}
