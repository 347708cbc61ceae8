// Who waits for a job is told when something in it has changed; and told to look every two seconds, as messages may be lost. Workers are
// told of jobs that are cancelled, and of those that are new to them.

import type { Redis } from './connect.ts';

/** How often whoever waits looks all the same. */
export const lookMs = 2000;
const crowdMs = 10;
/** No id begins like this. */
const cancelMark = '!';

/** The message that a job was cancelled. */
export const cancelNews = (id: string): string => `${cancelMark}${id}`;

export class News {
  readonly #redis: Redis;
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Messages by job, of those that somebody looked at. */
  readonly #told = new Map<string, number>();
  readonly #cancelled = new Set<(id: string) => void>();
  readonly #any = new Set<(id: string) => void>();
  readonly #ready: Promise<unknown>;

  constructor(redis: Redis, channel: string) {
    this.#redis = redis;
    this.#ready = redis.subscribe(channel).catch(() => null);
    redis.on('message', (_: string, text: string) => {
      if (!text.startsWith(cancelMark)) {
        this.#tell(text);
        for (const call of this.#any) call(text);
      } else for (const call of this.#cancelled) call(text.slice(cancelMark.length));
    });
  }

  /** How much was told of a job: taken before looking at it, so that nothing is missed between the look and the wait. */
  mark(id: string): number {
    const told = this.#told.get(id) ?? 0;
    this.#told.set(id, told);
    return told;
  }

  /** Until something may have changed since a mark; whether that was told. News come in crowds: a few ms of them count as one. */
  async since(id: string, mark: number, signal?: AbortSignal): Promise<boolean> {
    await this.#ready;
    if (signal?.aborted) return false;
    await new Promise((resolve) => setTimeout(resolve, crowdMs));
    if (this.mark(id) !== mark) return true;
    return new Promise<boolean>((resolve) => {
      let calls = this.#waiting.get(id);
      if (!calls) this.#waiting.set(id, (calls = new Set()));
      const list = calls;
      const end = (told: boolean): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        list.delete(tell);
        if (list.size === 0) this.#waiting.delete(id);
        resolve(told);
      };
      const tell = (): void => end(true);
      const stop = (): void => end(false);
      const timer = setTimeout(stop, lookMs);
      signal?.addEventListener('abort', stop, { once: true });
      list.add(tell);
    });
  }

  /** Calls back for each job that is cancelled; returns what ends it. */
  onCancel(call: (id: string) => void): () => void {
    this.#cancelled.add(call);
    return () => void this.#cancelled.delete(call);
  }

  /** Calls back for each job of which something is told; returns what ends it. */
  onAny(call: (id: string) => void): () => void {
    this.#any.add(call);
    return () => void this.#any.delete(call);
  }

  /** Nobody asks for this job here any more, or not soon. Who still does is told once for nothing. */
  forget(id: string): void {
    if (!this.#waiting.has(id)) this.#told.delete(id);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#tell(id);
    this.#redis.disconnect();
  }

  #tell(id: string): void {
    const told = this.#told.get(id);
    if (told !== undefined) this.#told.set(id, told + 1);
    for (const call of [...(this.#waiting.get(id) ?? [])]) call();
  }
}
