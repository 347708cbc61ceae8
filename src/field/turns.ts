// Calls of a field run one after the other: a call that waits for the device has the field's turn until it ends.
//
// Who wants to go on waits `while` somebody has the turn, and then goes on at once: two that waited for the same end would otherwise both
// go on.

export class Turn {
  #running: Promise<unknown> | null = null;

  /** Ends with the call that has the turn, and never fails; null if nobody has it. */
  get running(): Promise<unknown> | null {
    return this.#running;
  }

  /** The end of a call that has one of them; null if all are free. */
  static busy(turns: readonly Turn[]): Promise<unknown> | null {
    for (const t of turns) if (t.#running) return t.#running;
    return null;
  }

  /** Takes all of them until the work has ended. They must be free. */
  static async takeAll<T>(turns: readonly Turn[], work: () => Promise<T>): Promise<T> {
    const running = work();
    const ended = running.then(
      () => {},
      () => {},
    );
    for (const t of turns) t.#running = ended;
    try {
      return await running;
    } finally {
      for (const t of turns) t.#running = null;
    }
  }
}
