// How far the compute stream has come, as numbers: everything enqueued there has one, in order.
//
// Bytes remember the number of the last work that used them. A copy on another stream may touch them as soon as that number is known to
// be done, however much is enqueued behind it; only if it is not known does the copy stream have to wait for everything so far.

export class Progress {
  /** Of the newest work. */
  enqueued = 0;
  /** All work up to this number is done. */
  done = 0;

  /** The number of work that is about to be enqueued. */
  next(): number {
    return ++this.enqueued;
  }

  /** Somebody saw the end of all work up to a number. */
  seen(number: number): void {
    if (number > this.done) this.done = number;
  }
}
