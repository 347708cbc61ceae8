// What tells a chunk to stop. A signal costs as much as a short chunk does, and few operations listen: it is made when it is asked for.

export class Stop {
  #controller: AbortController | null = null;
  #why: { readonly reason: unknown } | null = null;

  /** Of this chunk alone: whoever listens need not take the listener away. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#why) this.#controller.abort(this.#why.reason);
    }
    return this.#controller.signal;
  }

  get stopped(): boolean {
    return this.#why !== null;
  }

  /** Why it was stopped first; undefined if it was not. */
  get reason(): unknown {
    return this.#why?.reason;
  }

  abort(reason?: unknown): void {
    if (this.#why) return;
    this.#why = { reason };
    this.#controller?.abort(reason);
  }
}
