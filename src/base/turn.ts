// Turns of the event loop: however short the waits of a loop are, timers, input and output, signals and finalizers get one every
// few milliseconds. One owner for every device and every wait.

/** The longest that awaiting things which are done at once goes on without a turn. */
const turnEveryMs = 5;

let last = 0;
let pending: Promise<void> | null = null;

/** Calls back in the next turn, when whoever runs now, and everything that is due, has had its own. */
export function nextTurn(call: () => void): void {
  if (typeof setImmediate === 'function') {
    setImmediate(call);
    return;
  }
  if (typeof MessageChannel === 'undefined') {
    setTimeout(call, 0);
    return;
  }
  // Timers of browsers wait for 4 ms when they follow one another.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    call();
  };
  port2.postMessage(null);
}

/** Lets the event loop turn once. All who ask before it does share the turn. */
export function turn(): Promise<void> {
  return (pending ??= new Promise((resolve) => {
    nextTurn(() => {
      pending = null;
      last = performance.now();
      resolve();
    });
  }));
}

/** A turn if the last one is some time ago, by `performance.now()`; null if it is not. */
export function turnIfDue(now: number): Promise<void> | null {
  return now - last > turnEveryMs ? turn() : null;
}

/** Short waits between two looks at the clock, at most: should they become long, so many go on without a turn once. */
const mostUnseen = 8;
/** The time they may take together. */
const unseenMs = turnEveryMs / 10;

let lookedAt = Number.NEGATIVE_INFINITY;
let unseen = 0;
let stride = 1;

/** As `turnIfDue`, after a wait so short that a look at the clock would be a good part of it: as long as such waits follow one another, only some of them look. */
export function turnIfDueAfterShort(): Promise<void> | null {
  if (++unseen < stride) return null;
  const now = performance.now();
  const pace = (now - lookedAt) / unseen;
  stride = pace * mostUnseen <= unseenMs ? mostUnseen : 1;
  lookedAt = now;
  unseen = 0;
  return turnIfDue(now);
}
