// Functions of modules in worker threads: a thread for each core, items and results by structured clone.
//
// Only Node has them. A function that is a value of this thread cannot be sent to another one, so a thread imports the module and
// calls what it exports. While a thread works on a short item the next ones lie ready beside it: else it would wait for this thread
// after each of them. Threads with nothing to do do not keep the process alive.

import { importNode, isNode } from '../base/platform.ts';
import { ArgumentError } from '../index.ts';
import { badArgument } from './failures.ts';
import { errorOf } from './thrown.ts';

/** A function that a module exports. */
export interface ModuleFunction {
  /** Of the module, as `new URL('./work.mjs', import.meta.url)`. */
  readonly module: URL | string;
  readonly export: string;
}

interface Task {
  readonly item: unknown;
  readonly index: number;
  /** Nobody waits for it any more. */
  given: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Answer {
  readonly value?: unknown;
  readonly error?: Pick<Error, 'name' | 'message' | 'stack'> & { readonly code?: unknown };
  /** What was thrown, where that was no error. */
  readonly thrown?: unknown;
  /** There is no such function: no item can be run. */
  readonly refused?: string;
}

/** The call as a whole makes no sense: no item is to blame. */
export class NoSuchFunction extends ArgumentError {
  override name = 'NoSuchFunction';
}

type NodeWorker = import('node:worker_threads').Worker;

/** So many milliseconds of items lie ready beside a thread, and no more than so many items. */
const readyMs = 5;
const mostReady = 16;
/** Items that tell how long one takes. */
const remembered = 4;

/** A thread, and its items: it works on the first. */
interface Lane {
  readonly worker: NodeWorker;
  readonly tasks: Task[];
  /** When it began with the first. */
  since: number;
}

/** Imports the module, then answers items, one after the other, with a result or an error each. */
const threadCode = `
const { parentPort, workerData } = require('node:worker_threads');
const loaded = import(workerData.module).then((m) => {
  const f = m[workerData.export];
  if (typeof f !== 'function') throw new TypeError(workerData.module + ' exports no function ' + workerData.export);
  return f;
});
const unreadable = { name: 'Error', message: 'something was thrown that cannot be sent from a worker thread', stack: '' };
const toldOf = ({ name, message, stack, code }) => ({ name: String(name), message: String(message), stack: String(stack), code });
const fail = (e) => {
  try {
    parentPort.postMessage(e instanceof Error ? { error: toldOf(e) } : { thrown: e });
  } catch {
    parentPort.postMessage({ error: unreadable });
  }
};
const answer = async ({ item, index }) => {
  let f;
  try {
    f = await loaded;
  } catch (e) {
    parentPort.postMessage({ refused: String(e?.message ?? e) });
    return;
  }
  try {
    const value = await f(item, index);
    try {
      parentPort.postMessage({ value });
    } catch (e) {
      throw new TypeError('its result cannot be sent from a worker thread: ' + e.message);
    }
  } catch (e) {
    fail(e);
  }
};
let last = loaded.catch(() => {});
parentPort.on('message', (task) => {
  last = last.then(() => answer(task));
});
`;

export class ThreadPool {
  readonly #waiting: Task[] = [];
  readonly #lanes = new Set<Lane>();
  /** Milliseconds of the last items. */
  readonly #lately: number[] = [];
  readonly #make: () => NodeWorker;
  readonly size: number;
  #closed = false;

  private constructor(make: () => NodeWorker, size: number) {
    this.#make = make;
    this.size = size;
  }

  static async open(work: ModuleFunction, size?: number): Promise<ThreadPool> {
    if (!isNode())
      throw badArgument(
        'executeParallel',
        'there are no worker threads here',
        'Give a function; it runs on this thread.',
      );
    const { Worker } = (await importNode('worker_threads')) as typeof import('node:worker_threads');
    const { availableParallelism } = (await importNode('os')) as typeof import('node:os');
    const { pathToFileURL } = (await importNode('url')) as typeof import('node:url');
    const text = String(work.module);
    const module = /^[a-z]+:/i.test(text) ? text : pathToFileURL(text).href;
    const make = (): NodeWorker => new Worker(threadCode, { eval: true, workerData: { module, export: work.export } });
    return new ThreadPool(make, size ?? availableParallelism());
  }

  run(item: unknown, index: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, index, given: false, resolve, reject });
      this.#next();
    });
  }

  /** Nobody waits for these items any more: threads that work on one of them end, and those that wait are taken out. */
  giveUp(at: number, size: number): void {
    const mine = ({ index }: Task): boolean => index >= at && index < at + size;
    for (let i = this.#waiting.length - 1; i >= 0; i--)
      if (mine(this.#waiting[i]!)) this.#waiting.splice(i, 1)[0]!.reject(stopped());
    for (const lane of this.#lanes) {
      for (const task of lane.tasks.filter(mine)) {
        task.given = true;
        task.reject(stopped());
      }
      endIfGiven(lane);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const task of this.#waiting.splice(0)) task.reject(stopped());
    await Promise.all([...this.#lanes].map(({ worker }) => worker.terminate()));
  }

  /** Each item goes to the thread that has the fewest. */
  #next(): void {
    while (this.#waiting.length > 0) {
      let lane: Lane | null = null;
      for (const l of this.#lanes) if (!lane || l.tasks.length < lane.tasks.length) lane = l;
      if (this.#lanes.size < this.size && lane?.tasks.length !== 0) lane = this.#started();
      if (lane!.tasks.length >= this.#depth()) return;
      this.#give(lane!, this.#waiting.shift()!);
    }
  }

  /** Items of one thread: more than one only where they are short, as what lies ready cannot go to another thread. */
  #depth(): number {
    if (this.#lately.length === 0) return 1;
    return 1 + Math.min(mostReady, Math.floor(readyMs / Math.max(...this.#lately)));
  }

  #started(): Lane {
    const worker = this.#make();
    const lane: Lane = { worker, tasks: [], since: 0 };
    this.#lanes.add(lane);
    worker.on('message', (answer: Answer) => this.#answered(lane, answer));
    worker.on('error', (error) => this.#lost(lane, error));
    worker.on('exit', (code) => this.#lost(lane, new Error(`the worker thread ended with code ${code}`)));
    return lane;
  }

  /** Answers come in the order of the items. */
  #answered(lane: Lane, answer: Answer): void {
    const now = performance.now();
    this.#lately.push(now - lane.since);
    if (this.#lately.length > remembered) this.#lately.shift();
    lane.since = now;
    const task = lane.tasks.shift();
    if (lane.tasks.length === 0) lane.worker.unref();
    if (answer.refused !== undefined) task?.reject(refused(answer.refused));
    else if (answer.error) task?.reject(Object.assign(new Error(answer.error.message), answer.error));
    else if ('thrown' in answer) task?.reject(errorOf(answer.thrown));
    else task?.resolve(answer.value);
    endIfGiven(lane);
    this.#next();
  }

  /** The item it worked on has failed; those that lay ready go to another thread. */
  #lost(lane: Lane, reason: unknown): void {
    if (!this.#lanes.delete(lane)) return;
    const [task, ...ready] = lane.tasks.splice(0);
    task?.reject(this.#closed ? stopped() : reason);
    if (this.#closed) for (const t of ready) t.reject(stopped());
    else this.#waiting.unshift(...ready.filter((t) => !t.given));
    this.#next();
  }

  #give(lane: Lane, task: Task): void {
    const { worker, tasks } = lane;
    try {
      worker.postMessage({ item: task.item, index: task.index });
    } catch (error) {
      // What cannot be cloned.
      const { message } = error as Error;
      task.reject(new TypeError(`the item cannot be sent to a worker thread: ${message}`, { cause: error }));
      if (tasks.length === 0) worker.unref();
      return;
    }
    if (tasks.length === 0) lane.since = performance.now();
    tasks.push(task);
    worker.ref();
  }
}

/** A thread whose item nobody waits for ends: it might never get done with it. */
function endIfGiven({ worker, tasks }: Lane): void {
  if (tasks[0]?.given) void worker.terminate();
}

const refused = (message: string): NoSuchFunction =>
  new NoSuchFunction({
    message: `executeParallel: ${message}`,
    fix: 'Give { module: new URL(…, import.meta.url), export: name } of a function that the module exports.',
    where: 'executeParallel',
  });

const stopped = (): Error => new Error('the worker threads were stopped');
