// Waits for work that may never end.

type After = (ms: number, then: () => void) => () => void;

const byTimer: After = (ms, then) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

/** Whether work ends within a time; fails as the work does. Nobody hears of what becomes of it later. */
export async function endsWithin(ms: number, work: Promise<unknown>, after: After = byTimer): Promise<boolean> {
  const ended = work.then(() => true);
  if (ms === Number.POSITIVE_INFINITY) return ended;
  let cancel = (): void => {};
  const late = new Promise<boolean>((resolve) => {
    cancel = after(ms, () => resolve(false));
  });
  return Promise.race([ended, late]).finally(cancel);
}
