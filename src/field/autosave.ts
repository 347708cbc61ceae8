// Saves a field by itself every so many cycles, and when it ends; the last few files stay.
//
// Cycles go on meanwhile: a snapshot holds tensors that never change. If one save is not done when the next is due, that one is left out.

import { Callbacks, type Report } from '../base/callbacks.ts';
import { FieldConfigError } from './errors.ts';
import { filesByAge, removeFile } from './file.ts';

export interface AutosaveOptions {
  /** Where the files go; it must be there. */
  readonly folder: string;
  /** Cycles from one save to the next. Default 1000. */
  readonly every?: number | undefined;
  /** Files that stay. Default 10. */
  readonly keep?: number | undefined;
  /** Told of a save that failed; the field goes on. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** cycle-000001000.gfield: in the order of their names, the files of one run are in the order of their cycles. */
const nameOf = (cycle: number): string => `cycle-${String(cycle).padStart(9, '0')}.gfield`;
const ownName = /^cycle-\d{9,}\.gfield$/;

export class Autosave {
  readonly #options: { readonly folder: string; readonly every: number; readonly keep: number };
  readonly #save: (file: string) => Promise<void>;
  /** Who is told of a save that failed. */
  readonly #failed: Callbacks<Error>;
  #running: Promise<void> | null = null;
  #saved = -1;

  /** `report` is told what `onError` throws. */
  constructor(options: AutosaveOptions, save: (file: string) => Promise<void>, report: Report) {
    const { folder, every = 1000, keep = 10, onError = () => {} } = options;
    const bad = Object.entries({ every, keep }).find(([, v]) => !(Number.isSafeInteger(v) && v >= 1));
    if (bad || typeof folder !== 'string' || folder === '')
      throw new FieldConfigError({
        where: 'autosave',
        problem: bad ? `${bad[0]} is ${String(bad[1])}` : 'there is no folder',
        fix: 'Give a folder, and whole numbers from 1 on.',
      });
    this.#options = { folder, every, keep };
    this.#save = save;
    this.#failed = new Callbacks('autosave.onError', report);
    this.#failed.add(onError);
  }

  /** A cycle was done. */
  noted(cycle: number): void {
    if (cycle % this.#options.every === 0 && !this.#running) void this.#begin(cycle);
  }

  /** The field ends: what is not saved yet is. */
  async end(cycle: number): Promise<void> {
    await this.#running;
    if (this.#saved !== cycle) await this.#begin(cycle);
  }

  #begin(cycle: number): Promise<void> {
    this.#running = this.#run(cycle)
      .catch((e: Error) => this.#failed.run(e))
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  async #run(cycle: number): Promise<void> {
    const { folder, keep } = this.#options;
    await this.#save(`${folder}/${nameOf(cycle)}`);
    this.#saved = cycle;
    // By age, not by cycle: an earlier run may have left files of later cycles in the folder.
    const older = (await filesByAge(folder)).filter((name) => ownName.test(name) && name !== nameOf(cycle));
    for (const name of older.slice(0, Math.max(0, older.length - (keep - 1)))) await removeFile(`${folder}/${name}`);
  }
}
