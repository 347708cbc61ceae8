// Scopes as lines of JSON in a file, written as they end: a day can be profiled in constant memory.

import { idle, importNode } from '../../base/platform.ts';
import { checkMethods } from '../../base/signatures.ts';
import type { ProfileSpan } from '../record/span.ts';
import { unwritable } from './save.ts';

type Fs = typeof import('node:fs/promises');
type Handle = Awaited<ReturnType<Fs['open']>>;

/** Lines that wait to be written; more than this are dropped and counted. */
const mostWaiting = 100_000;
const everyMs = 100;

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

export class EntryStream {
  /** Scopes that came faster than they could be written. */
  dropped = 0;
  readonly #file: string;
  readonly #handle: Handle;
  readonly #closed: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #waiting: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failed: unknown = null;
  #open = true;

  /** @internal */
  static async open(file: string, closed: () => void): Promise<EntryStream> {
    const fs = (await importNode('fs/promises')) as Fs;
    try {
      return new EntryStream(file, await fs.open(file, 'w'), closed);
    } catch (error) {
      throw unwritable(file, 'stream', error);
    }
  }

  private constructor(file: string, handle: Handle, closed: () => void) {
    this.#file = file;
    this.#handle = handle;
    this.#closed = closed;
    this.#timer = idle(setInterval(() => void this.#write(), everyMs));
  }

  /** @internal */
  add(span: ProfileSpan): void {
    if (this.#waiting.length >= mostWaiting) {
      this.dropped++;
      return;
    }
    const { id, parent, operation, start, endTime, failed, meta } = span;
    const line = {
      id,
      parentId: parent?.id ?? null,
      operation,
      startMs: round(start),
      durationMs: round(endTime - start),
      failed,
      metadata: meta,
    };
    this.#waiting.push(JSON.stringify(line));
  }

  /** Writes what is left and closes the file. A write that failed is told here. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    clearInterval(this.#timer);
    this.#closed();
    await this.#write();
    await this.#handle.close();
    if (this.#failed !== null) throw unwritable(this.#file, 'stream', this.#failed);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    if (lines.length === 0) return this.#writing;
    const go = async (): Promise<void> => {
      try {
        await this.#handle.writeFile(`${lines.join('\n')}\n`);
      } catch (error) {
        this.#failed ??= error;
      }
    };
    this.#writing = this.#writing.then(go);
    return this.#writing;
  }
}

checkMethods(EntryStream.prototype, { close: 'async' });
