// Items of a source that may never end, or fall silent: it is left when nobody wants more of it.

/** The items until the source ends, or is left; one that is silent then is not waited for. */
export async function* untilLeft<T>(source: AsyncIterable<T>, left: AbortSignal): AsyncGenerator<T, void> {
  const items = source[Symbol.asyncIterator]();
  let ended = false;
  let leave = (): void => {};
  const stop = (): void => leave();
  left.addEventListener('abort', stop, { once: true });
  try {
    while (!left.aborted) {
      // Not a race: each would be kept for as long as the source is read.
      const step = await new Promise<IteratorResult<T> | null>((resolve, reject) => {
        leave = () => resolve(null);
        Promise.resolve(items.next()).then(resolve, (error) => {
          ended = true;
          reject(error);
        });
      });
      if (!step) return;
      ended = step.done === true;
      if (step.done) return;
      yield step.value;
    }
  } finally {
    left.removeEventListener('abort', stop);
    if (!ended) void Promise.resolve(items.return?.()).catch(() => {});
  }
}
