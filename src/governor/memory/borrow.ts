// Borrowed memory: a reversible program works in memory that holds live data, and gives it back bit for bit.
//
// The guard takes exclusive use of the buffers, hashes them, runs the program step by step, and hashes them again. Bytes of a tensor never
// change, so what was hashed at the end of one loan need not be hashed at the beginning of the next. If the
// program throws or is aborted, the steps done so far are undone in reverse order. There is no backup copy: what makes
// this safe is that each step can be undone, so a step that throws must have changed nothing. If the device is lost or
// the process ends in the middle, the contents are lost too: lend only what could be made again, or accept the risk.

import { shown } from '../../base/arguments.ts';
import { promiseOf } from '../../base/callbacks.ts';
import { checked } from '../../base/signatures.ts';
import { turn, turnIfDue } from '../../base/turn.ts';
import type { Device, DeviceBuffer, DeviceId } from '../../devices/device.ts';
import { ArgumentError, DeviceLost } from '../../errors.ts';
import { throwIfAborted } from '../recovery/errors.ts';
import { digestBytes, digests } from './digest.ts';
import { BorrowViolation } from './errors.ts';

/** Memory that can be lent: the runtime makes one of a tensor, `lendLease` one of a pool's lease. */
export interface Lendable {
  /** For messages: `f32 [1024, 256]`. */
  readonly name: string;
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
  /** The hash of what it holds, where that is known from an earlier loan and cannot have changed since. */
  readonly digest?: string | undefined;
  /** From now on everybody else who reads, uses, moves or frees it is refused, or frees it later. Throws if it is lent. */
  lend(): void;
  /** Ends the loan. If it is corrupt, reading it stays refused. `digest`: the hash of what it holds now, if it was computed. */
  takeBack(corrupt: boolean, digest?: string): void;
}

/** A buffer as the program sees it. */
export interface Borrowed {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
}

/** One reversible change. `undo` after `do` leaves every byte as it was; a `do` that throws has changed nothing. */
export interface ReversibleStep {
  readonly name?: string;
  do(memory: readonly Borrowed[]): void | Promise<void>;
  undo(memory: readonly Borrowed[]): void | Promise<void>;
}

/** Steps one after the other, or lists of them, and a result behind the last: what generators are. */
type StepSource<T> =
  | { [Symbol.iterator](): Iterator<ReversibleStep | readonly ReversibleStep[], T> }
  | { [Symbol.asyncIterator](): AsyncIterator<ReversibleStep | readonly ReversibleStep[], T> };

/**
 * A list of steps, or a generator of them (one at a time, or lists) whose return value is the result. Unless `restore` is `guard`, the steps together
 * leave the memory as it was. `clean` counts memory of one's own that the program uses.
 */
export type ReversibleProgram<T> =
  | readonly ReversibleStep[]
  | ((memory: readonly Borrowed[], clean: (bytes: number) => void) => StepSource<T>);

export interface BorrowOptions {
  /** Stops between two steps; what was done is undone. */
  readonly signal?: AbortSignal | undefined;
  /** Who leaves the memory as it was: the program's own steps, or the guard by undoing all of them. Default: `program`. */
  readonly restore?: 'program' | 'guard' | undefined;
  /** The same result without borrowing, to be timed beside it. */
  readonly plain?: (() => unknown) | undefined;
}

/** What the loan was and what it cost. */
export interface BorrowReport {
  readonly buffers: number;
  readonly bytes: number;
  /** Memory of its own that the program used: what it said, and what it took from the device. */
  readonly cleanBytes: number;
  /** Memory that the hashes of all buffers take, at most: they are computed where the buffers lie. */
  readonly hashBytes: number;
  readonly steps: number;
  readonly ms: number;
  readonly hashMs: number;
  /** Of `plain`, if it was given. */
  readonly plainMs: number | null;
}

export interface BorrowParts {
  /** Bytes in use on a device, to see what the program takes besides. */
  readonly inUse?: (device: DeviceId) => number;
  readonly now?: () => number;
}

export async function borrow<T = unknown>(
  items: readonly Lendable[],
  program: ReversibleProgram<T>,
  options: BorrowOptions = {},
  parts: BorrowParts = {},
): Promise<{ readonly value: T; readonly report: BorrowReport }> {
  checkItems(items);
  const now = parts.now ?? (() => performance.now());
  let plainMs: number | null = null;
  if (options.plain) {
    const start = now();
    await options.plain();
    plainMs = now() - start;
  }
  throwIfAborted(options.signal, 'memory.borrow');
  lendAll(items);
  const loan = new Loan(items, parts, now);
  try {
    await loan.hash('before');
  } catch (error) {
    // Nothing was touched.
    for (const item of items) item.takeBack(false);
    throw error;
  }
  let value: T;
  try {
    value = await loan.run(program, options.signal);
  } catch (error) {
    await loan.undo(error);
    await loan.giveBack(error);
    throw error;
  }
  if (options.restore === 'guard') await loan.undo();
  await loan.giveBack();
  return { value, report: loan.report(plainMs) };
}

/** One loan from the first hash to the last. */
class Loan {
  readonly #items: readonly Lendable[];
  readonly #memory: readonly Borrowed[];
  readonly #now: () => number;
  readonly #inUse: () => number;
  readonly #done: ReversibleStep[] = [];
  #hashes: readonly string[] = [];
  #steps = 0;
  #declared = 0;
  #taken = 0;
  #ms = 0;
  #hashMs = 0;

  constructor(items: readonly Lendable[], parts: BorrowParts, now: () => number) {
    this.#items = items;
    this.#memory = items.map(({ device, buffer, bytes }) => ({ device, buffer, bytes }));
    this.#now = now;
    const devices = [...new Set(items.map((i) => i.device.id))];
    this.#inUse = () => devices.reduce((sum, id) => sum + (parts.inUse?.(id) ?? 0), 0);
  }

  async hash(when: 'before' | 'after'): Promise<readonly number[]> {
    const start = this.#now();
    const known = when === 'before' ? this.#items.map((i) => i.digest) : [];
    const made = await digests(this.#memory.filter((_, i) => known[i] === undefined));
    const hashes = this.#memory.map((_, i) => known[i] ?? made.shift()!);
    this.#hashMs += this.#now() - start;
    if (when === 'before') this.#hashes = hashes;
    return hashes.flatMap((h, i) => (h === this.#hashes[i] ? [] : [i]));
  }

  async run<T>(program: ReversibleProgram<T>, signal: AbortSignal | undefined): Promise<T> {
    const start = this.#now();
    const base = this.#inUse();
    const clean = checked('clean', 'bytes:number', (bytes: number): void => {
      this.#declared += bytes;
    });
    const source: StepSource<T> =
      typeof program === 'function'
        ? program(this.#memory, clean)
        : (program as { [Symbol.iterator](): Iterator<ReversibleStep, T> });
    promiseOf(source);
    if (typeof source !== 'object' || source === null || !(Symbol.asyncIterator in source || Symbol.iterator in source))
      throw notSteps(`the program gives ${shown(source)}`);
    const steps = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    try {
      for (;;) {
        throwIfAborted(signal, 'memory.borrow');
        const next = await steps.next();
        if (next.done) return next.value;
        for (const step of isList(next.value) ? next.value : [next.value]) {
          throwIfAborted(signal, 'memory.borrow');
          if (typeof step?.do !== 'function') throw notSteps(`a step is ${shown(step)}`);
          const doing = step.do(this.#memory);
          if (doing) await doing;
          this.#done.push(step);
          this.#steps++;
          this.#taken = Math.max(this.#taken, this.#inUse() - base);
          // Timers and other events get their turn, and with them whoever wants to stop this.
          const due = turnIfDue(performance.now());
          if (due) await due;
        }
      }
    } catch (error) {
      // The program's own clean-up comes before its steps are undone; a second error would only hide the first.
      await Promise.resolve(steps.return?.()).catch(() => {});
      throw error;
    } finally {
      this.#ms += this.#now() - start;
    }
  }

  /** Undoes what was done, last first. `cause`: why. */
  async undo(cause?: unknown): Promise<void> {
    const start = this.#now();
    for (let step = this.#done.pop(); step; step = this.#done.pop()) {
      try {
        await step.undo(this.#memory);
      } catch (error) {
        const name = step.name ? ` '${step.name}'` : '';
        await this.#fail(`undoing step ${this.#done.length + 1}${name} failed`, this.#all(), error, cause);
      }
    }
    this.#ms += this.#now() - start;
  }

  /** Ends the loan if everything is as it was; else marks what is not and says so. */
  async giveBack(cause?: unknown): Promise<void> {
    let changed: readonly number[];
    try {
      changed = await this.hash('after');
    } catch (error) {
      return this.#fail('the memory could not be read afterwards', this.#all(), error, cause);
    }
    if (changed.length > 0) await this.#fail('the memory is not what it was', changed, undefined, cause);
    for (const [i, item] of this.#items.entries()) item.takeBack(false, this.#hashes[i]);
  }

  report(plainMs: number | null): BorrowReport {
    const bytes = this.#items.reduce((sum, i) => sum + i.bytes, 0);
    return {
      buffers: this.#items.length,
      bytes,
      cleanBytes: this.#declared + this.#taken,
      hashBytes: digestBytes * this.#items.length,
      steps: this.#steps,
      ms: this.#ms,
      hashMs: this.#hashMs,
      plainMs,
    };
  }

  /** Whether a device is gone: what fails afterwards may be said of the memory, not of the device. */
  async #anyLost(): Promise<boolean> {
    const devices = [...new Set(this.#items.map((i) => i.device))];
    const gone = devices.map(({ lost }) => lost.then(() => true));
    return Promise.race([...gone, turn().then(() => false)]);
  }

  #all(): number[] {
    return this.#items.map((_, i) => i);
  }

  async #fail(what: string, changed: readonly number[], error: unknown, cause: unknown): Promise<never> {
    for (const [i, item] of this.#items.entries()) item.takeBack(changed.includes(i));
    const lost = error instanceof DeviceLost || cause instanceof DeviceLost || (await this.#anyLost());
    const names = changed.map((i) => `buffer ${i} (${this.#items[i]!.name})`).join(', ');
    throw new BorrowViolation({
      code: lost ? 'BORROW_LOST' : 'BORROW_VIOLATION',
      message: `memory.borrow: ${what}: ${names}`,
      fix: lost
        ? 'The device was lost while the memory was lent: its contents cannot be recovered. Make the data again; lend only what can be made again.'
        : 'Each step must be undone exactly: whole numbers that wrap around, XOR, swaps, never floating-point sums. Make the data again.',
      where: 'memory.borrow',
      cause: error ?? cause,
    });
  }
}

const isList = (x: ReversibleStep | readonly ReversibleStep[]): x is readonly ReversibleStep[] => Array.isArray(x);

function lendAll(items: readonly Lendable[]): void {
  for (const [i, item] of items.entries()) {
    try {
      item.lend();
    } catch (error) {
      for (const lent of items.slice(0, i)) lent.takeBack(false);
      throw error;
    }
  }
}

function checkItems(items: readonly Lendable[]): void {
  const twice = new Set(items.map((i) => i.buffer)).size < items.length;
  if (items.length > 0 && !twice) return;
  throw new ArgumentError({
    code: twice ? 'LENT_TWICE' : 'NOTHING_TO_BORROW',
    message: `memory.borrow: ${twice ? 'the same memory was given twice' : 'no memory was given'}`,
    fix: twice ? 'Give each tensor or buffer once; views of one tensor share its memory.' : 'Give at least one buffer.',
    where: 'memory.borrow',
  });
}

function notSteps(what: string): ArgumentError {
  return new ArgumentError({
    code: 'NOT_STEPS',
    message: `memory.borrow: ${what}`,
    fix: 'Give steps { do, undo }: an array of them, or a generator that yields them.',
    where: 'memory.borrow',
  });
}
