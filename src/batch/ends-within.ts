// Waits for work that may never end.

import { after as byTimer, type Timers } from '../base/timer.ts';

/** Whether work ends within a time; fails as the work does. Nobody hears of what becomes of it later. */
export function endsWithin(ms: number, work: Promise<unknown>, after: Timers['after'] = byTimer): Promise<boolean> {
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

/** A promise is in a set until it has ended. */
export function track(set: Set<Promise<void>>, running: Promise<void>): void {
  const tracked = running.finally(() => set.delete(tracked));
  set.add(tracked);
}
