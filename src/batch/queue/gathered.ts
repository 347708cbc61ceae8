// Items of a source in lists: as many as are there, so that one that is slow keeps nobody waiting.

/** How long items wait for others of their list, in ms. */
const gatherMs = 20;

const late = Symbol('late');

/** Lists of at most so many items; a list ends early when the next item is late. */
export async function* gathered<T>(source: AsyncIterable<T> | Iterable<T>, most: number): AsyncGenerator<T[], void> {
  if (!(Symbol.asyncIterator in source)) {
    yield* inLists(source, most);
    return;
  }
  const items = source[Symbol.asyncIterator]();
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const asked = (): Promise<IteratorResult<T>> => {
    const step = Promise.resolve(items.next());
    // Heard where it is awaited; whoever takes the list may take a while until then.
    step.catch(() => {});
    return step;
  };
  try {
    for (let next = asked(); !ended; ) {
      const list: T[] = [];
      let waited: Promise<typeof late> | null = null;
      while (list.length < most) {
        const step = await (waited ? Promise.race([next, waited]) : next);
        if (step === late) break;
        ended = step.done === true;
        if (step.done) break;
        list.push(step.value);
        next = asked();
        waited ??= new Promise((resolve) => {
          timer = setTimeout(resolve, gatherMs, late);
        });
      }
      clearTimeout(timer);
      if (list.length > 0) yield list;
    }
  } catch (error) {
    ended = true;
    throw error;
  } finally {
    clearTimeout(timer);
    // Whoever stops early says so to the source; one that never answers is not waited for.
    if (!ended) void Promise.resolve(items.return?.()).catch(() => {});
  }
}

function* inLists<T>(source: Iterable<T>, most: number): Generator<T[], void> {
  let list: T[] = [];
  for (const item of source) {
    list.push(item);
    if (list.length < most) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
}
