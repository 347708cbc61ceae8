// Waits for work that may never end.

type After = (ms: number, then: () => void) => () => void;

const byTimer: After = (ms, then) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

/** Whether work ends within a time; fails as the work does. Nobody hears of what becomes of it later. */
export function endsWithin(ms: number, work: Promise<unknown>, after: After = byTimer): Promise<boolean> {
  if (ms === Number.POSITIVE_INFINITY) return work.then(() => true);
  // One promise: a race of two takes several times as long as many a wait.
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => resolve(false));
    work.then(
      () => {
        cancel();
        resolve(true);
      },
      (error) => {
        cancel();
        reject(error);
      },
    );
  });
}
