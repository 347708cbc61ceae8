// Who waits for a job is told when something in it has changed; and told to look every two seconds, as messages may be lost.

import type { Redis } from './connect.ts';

const lookMs = 2000;

export class News {
  readonly #redis: Redis;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #ready: Promise<unknown>;

  constructor(redis: Redis, channel: string) {
    this.#redis = redis;
    this.#ready = redis.subscribe(channel).catch(() => null);
    redis.on('message', (_: string, id: string) => this.#tell(id));
  }

  /** Until something may have changed. */
  async of(id: string, signal?: AbortSignal): Promise<void> {
    await this.#ready;
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      let calls = this.#waiting.get(id);
      if (!calls) this.#waiting.set(id, (calls = new Set()));
      const list = calls;
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        list.delete(end);
        if (list.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(end, lookMs);
      signal?.addEventListener('abort', end, { once: true });
      list.add(end);
    });
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#tell(id);
    this.#redis.disconnect();
  }

  #tell(id: string): void {
    for (const call of [...(this.#waiting.get(id) ?? [])]) call();
  }
}
