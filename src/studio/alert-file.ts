// Alerts as lines of JSON in a file: `alerts.jsonl`, and when that has 10 MB, `alerts.jsonl.1` to `.3`, the oldest of which goes.
// A file that cannot be written costs the line, never the program; the first failure is reported.

import { appendFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { lineOf } from './json-lines.ts';
import type { Alert } from './types.ts';

const rotateBytes = 10 * 2 ** 20;
const kept = 3;

export class AlertFile {
  readonly #path: string;
  readonly #most: number;
  readonly #failed: (error: unknown) => void;
  #bytes: number;
  #reported = false;

  constructor(path: string, failed: (error: unknown) => void, most = rotateBytes) {
    this.#path = path;
    this.#most = most;
    this.#failed = failed;
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  write(alert: Alert): void {
    const { level, ...rest } = alert;
    const state = alert.clearedAt === null ? 'fired' : 'cleared';
    const line = `${lineOf(state === 'cleared' ? 'info' : level, 'alert', { state, ...rest })}\n`;
    try {
      if (this.#bytes + line.length > this.#most && this.#bytes > 0) this.#rotate();
      // Alerts are rare, and a line that is written when it happens survives a crash.
      appendFileSync(this.#path, line);
      this.#bytes += Buffer.byteLength(line);
    } catch (error) {
      if (!this.#reported) this.#failed(error);
      this.#reported = true;
    }
  }

  #rotate(): void {
    rmSync(`${this.#path}.${kept}`, { force: true });
    for (let i = kept - 1; i >= 1; i--)
      if (statSync(`${this.#path}.${i}`, { throwIfNoEntry: false }))
        renameSync(`${this.#path}.${i}`, `${this.#path}.${i + 1}`);
    renameSync(this.#path, `${this.#path}.1`);
    this.#bytes = 0;
  }
}
