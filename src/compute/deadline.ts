// Waiting with an end. These limits are a safety net against devices that never answer, not a part of any policy, so they go
// by the real clock even where everything else runs on a test's clock.

/** The promise's value, or `late()` if it is not settled after `ms`. Leaves no timer behind. */
export function within<T, L>(work: Promise<T>, ms: number, late: () => L): Promise<T | L> {
  return new Promise<T | L>((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (e) {
        reject(e);
      }
    }, ms);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
