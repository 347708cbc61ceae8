// Functions of modules in worker threads: a thread for each core, items and results by structured clone.
//
// Only Node has them. A function that is a value of this thread cannot be sent to another one, so a thread imports the module and
// calls what it exports. While a thread works on a short item the next ones lie ready beside it: else it would wait for this thread
// after each of them. Short items of one batch travel in one message, and so do their results: a message takes as long as a short item.
// Threads with nothing to do do not keep the process alive.

import { importNode, isNode } from '../base/platform.ts';
import { after } from '../base/timer.ts';
import { ArgumentError } from '../index.ts';
import { badArgument } from './failures.ts';
import { errorOf } from './thrown.ts';

/** A function that a module exports. */
export interface ModuleFunction {
  /** Of the module, as `new URL('./work.mjs', import.meta.url)`. */
  readonly module: URL | string;
  readonly export: string;
}

/** Items that were asked for together: their results are waited for together. */
interface Together {
  /** A thread works on one of them. */
  readonly begin: () => void;
}

interface Task {
  readonly item: unknown;
  readonly index: number;
  readonly batch: Together;
  /** The items it was sent with; null before that. */
  message: readonly Task[] | null;
  /** Nobody waits for it any more. */
  given: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Answer {
  /** What the item took. */
  readonly ms: number;
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
/** How long a thread may take to import the module before the time of its items counts all the same. */
const loadMs = 30_000;
/** Items that tell how long one takes. */
const remembered = 4;

/** A thread, and its items: it works on one of the first message. */
interface Lane {
  readonly worker: NodeWorker;
  readonly tasks: Task[];
  /** The time of its items counts: it has imported the module, could not, or takes too long for that. */
  counts: boolean;
}

/** What becomes of the items of a batch. */
interface Running {
  readonly results: readonly Promise<unknown>[];
  /** Ends when a thread begins with the first of them: until then they may wait for a thread that starts, or is stuck. */
  readonly begun: Promise<void>;
}

const isValue = (v: unknown): boolean => v === null || !['object', 'function', 'symbol'].includes(typeof v);

/** A number, a text, or a short list or record of such: nothing in it is shared with others, and copying it takes no time. */
function isPlain(v: unknown): boolean {
  if (isValue(v)) return true;
  if (typeof v !== 'object') return false;
  if (!Array.isArray(v) && Object.getPrototypeOf(v) !== Object.prototype) return false;
  const parts = Object.values(v as object);
  return parts.length <= 32 && parts.every(isValue);
}

/** What messages with answers are known by. */
const answersKey = 'gpuforgeAnswers';

/**
 * Imports the module, then answers items, one after the other, with a result or an error each. The answers of a message go back in one,
 * but for those that are more than a few numbers or texts: functions may change such a value at their next call, so it is sent at once.
 */
const threadCode = `
const { parentPort, workerData } = require('node:worker_threads');
const { module, export: name } = workerData;
const notLoaded = (e) => {
  throw new Error(module + ' cannot be imported: ' + String(e?.message ?? e));
};
const loaded = import(module).catch(notLoaded).then((m) => {
  if (typeof m[name] !== 'function') throw new TypeError(module + ' exports no function ' + name);
  return m[name];
});
// The module may send messages of its own.
const send = (answers) => parentPort.postMessage({ ${answersKey}: answers });
const isValue = (v) => v === null || !['object', 'function', 'symbol'].includes(typeof v);
const isPlain = (v) => {
  if (isValue(v)) return true;
  if (typeof v !== 'object' || (!Array.isArray(v) && Object.getPrototypeOf(v) !== Object.prototype)) return false;
  const parts = Object.values(v);
  return parts.length <= 32 && parts.every(isValue) && (!Array.isArray(v) || parts.length === v.length);
};
const copied = (v) => (isValue(v) ? v : Array.isArray(v) ? [...v] : { ...v });
const unreadable = { name: 'Error', message: 'something was thrown that cannot be sent from a worker thread', stack: '' };
const toldOf = ({ name, message, stack, code }) => ({ name: String(name), message: String(message), stack: String(stack), code });
const failed = (e) => {
  try {
    return structuredClone(e instanceof Error ? { error: toldOf(e) } : { thrown: e });
  } catch {
    return { error: unreadable };
  }
};
const answerTo = async ({ item, index }) => {
  let f;
  try {
    f = await loaded;
  } catch (e) {
    return { refused: e.message };
  }
  try {
    return { value: await f(item, index) };
  } catch (e) {
    return failed(e);
  }
};
const work = async (tasks) => {
  let held = [];
  for (const task of tasks) {
    const start = performance.now();
    const answer = await answerTo(task);
    answer.ms = performance.now() - start;
    const last = task === tasks[tasks.length - 1];
    try {
      if (!last && isPlain(answer.value)) {
        // Much quicker than structuredClone.
        held.push('value' in answer ? { ...answer, value: copied(answer.value) } : answer);
        continue;
      }
      send([...held, answer]);
    } catch (e) {
      const error = new TypeError('its result cannot be sent from a worker thread: ' + e.message);
      send([...held, { ...failed(error), ms: answer.ms }]);
    }
    held = [];
  }
};
// Whether it could be imported is told with the first item.
let last = loaded.catch(() => {}).then(() => send([]));
parentPort.on('message', (tasks) => {
  last = last.then(() => work(tasks));
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
    // A single letter is a drive.
    const module = /^[a-z]{2,}:/i.test(text) ? text : pathToFileURL(text).href;
    const make = (): NodeWorker => new Worker(threadCode, { eval: true, workerData: { module, export: work.export } });
    return new ThreadPool(make, size ?? availableParallelism());
  }

  /** The items of a batch, the first of them at this place. */
  run(items: readonly unknown[], at: number): Running {
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const batch = { begin };
    const results = items.map(
      (item, i) =>
        new Promise((resolve, reject) => {
          this.#waiting.push({ item, index: at + i, batch, message: null, given: false, resolve, reject });
        }),
    );
    this.#next();
    return { results, begun };
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
      this.#endIfGiven(lane);
    }
  }

  /** A thread whose item nobody waits for ends: it might never get done with it. */
  #endIfGiven(lane: Lane): void {
    if (!lane.tasks[0]?.given) return;
    void lane.worker.terminate();
    this.#lost(lane, stopped());
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
      if (lane!.tasks.length >= this.#depth()) break;
      lane!.tasks.push(this.#waiting.shift()!);
    }
    for (const lane of this.#lanes) {
      for (const message of messagesOf(lane.tasks.filter((t) => t.message === null))) this.#send(lane, message);
      beginFirst(lane);
    }
  }

  /** Items of one thread: more than one only where they are short, as what lies ready cannot go to another thread. */
  #depth(): number {
    if (this.#lately.length === 0) return 1;
    return 1 + Math.min(mostReady, Math.floor(readyMs / Math.max(...this.#lately)));
  }

  #started(): Lane {
    const worker = this.#make();
    const lane: Lane = { worker, tasks: [], counts: false };
    this.#lanes.add(lane);
    const count = (): void => {
      cancel();
      lane.counts = true;
      beginFirst(lane);
    };
    const cancel = after(loadMs, count);
    worker.on('message', (message?: { readonly [answersKey]?: readonly Answer[] }) => {
      const answers = message?.[answersKey];
      // What comes before any answer tells that the module is there.
      if (answers?.length === 0) count();
      else if (answers) this.#answered(lane, answers);
    });
    worker.on('exit', cancel);
    worker.on('error', (error) => this.#lost(lane, error));
    worker.on('exit', (code) => this.#lost(lane, new Error(`the worker thread ended with code ${code}`)));
    return lane;
  }

  /** Answers come in the order of the items. */
  #answered(lane: Lane, answers: readonly Answer[]): void {
    for (const answer of answers) {
      this.#lately.push(answer.ms);
      if (this.#lately.length > remembered) this.#lately.shift();
      const task = lane.tasks.shift();
      if (answer.refused !== undefined) task?.reject(refused(answer.refused));
      else if (answer.error) task?.reject(Object.assign(new Error(answer.error.message), answer.error));
      else if ('thrown' in answer) task?.reject(errorOf(answer.thrown));
      else task?.resolve(answer.value);
    }
    if (lane.tasks.length === 0) lane.worker.unref();
    this.#endIfGiven(lane);
    this.#next();
  }

  /** The item it worked on has failed, and so have those whose results it had not sent yet; the others go to another thread. */
  #lost(lane: Lane, reason: unknown): void {
    if (!this.#lanes.delete(lane)) return;
    const tasks = lane.tasks.splice(0);
    const message = tasks[0]?.message;
    const rest: Task[] = [];
    for (const task of tasks) {
      if (this.#closed) task.reject(stopped());
      else if (task.message === message) task.reject(reason);
      else if (!task.given) rest.push(task);
      task.message = null;
    }
    this.#waiting.unshift(...rest);
    this.#next();
  }

  #send({ worker, tasks }: Lane, message: readonly Task[]): void {
    for (const task of message) task.message = message;
    try {
      worker.postMessage(message.map(({ item, index }) => ({ item, index })));
      worker.ref();
    } catch (error) {
      // What cannot be cloned is no plain value: it is a message of its own.
      const [task] = message;
      const { message: why } = error as Error;
      tasks.splice(tasks.indexOf(task!), 1);
      task!.reject(new TypeError(`the item cannot be sent to a worker thread: ${why}`, { cause: error }));
      if (tasks.length === 0) worker.unref();
    }
  }
}

/** Plain items of one batch travel together, but for one that is there twice: each function has an item of its own. */
function messagesOf(tasks: readonly Task[]): Task[][] {
  const messages: Task[][] = [];
  for (const task of tasks) {
    const last = messages[messages.length - 1];
    if (last && fits(last, task)) last.push(task);
    else messages.push([task]);
  }
  return messages;
}

function fits(message: readonly Task[], { batch, item }: Task): boolean {
  const [first] = message;
  if (first!.batch !== batch || !isPlain(first!.item) || !isPlain(item)) return false;
  return isValue(item) || message.every((t) => t.item !== item);
}

function beginFirst({ counts, tasks }: Lane): void {
  if (counts) tasks[0]?.batch.begin();
}

const refused = (message: string): NoSuchFunction =>
  new NoSuchFunction({
    message: `executeParallel: ${message}`,
    fix: 'Give { module: new URL(…, import.meta.url), export: name } of a function that the module exports.',
    where: 'executeParallel',
  });

const stopped = (): Error => new Error('the worker threads were stopped');
