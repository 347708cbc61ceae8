// Functions of modules in worker threads: a thread for each core, items and results by structured clone.
//
// Only Node has them. A function that is a value of this thread cannot be sent to another one, so a thread imports the module and
// calls what it exports. Threads with nothing to do do not keep the process alive.

import { importNode, isNode } from '../base/platform.ts';
import { badArgument } from './failures.ts';

/** A function that a module exports. */
export interface ModuleFunction {
  /** Of the module, as `new URL('./work.mjs', import.meta.url)`. */
  readonly module: URL | string;
  readonly export: string;
}

interface Task {
  readonly item: unknown;
  readonly index: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Answer {
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

type NodeWorker = import('node:worker_threads').Worker;

/** Imports the module, then answers each item with a result or an error. */
const threadCode = `
const { parentPort, workerData } = require('node:worker_threads');
const loaded = import(workerData.module).then((m) => {
  const f = m[workerData.export];
  if (typeof f !== 'function') throw new TypeError(workerData.module + ' exports no function ' + workerData.export);
  return f;
});
parentPort.on('message', async ({ item, index }) => {
  try {
    const value = await (await loaded)(item, index);
    parentPort.postMessage({ value });
  } catch (e) {
    const error = e instanceof Error ? e : new Error(String(e));
    parentPort.postMessage({ error: { name: error.name, message: error.message, stack: error.stack } });
  }
});
`;

export class ThreadPool {
  readonly #waiting: Task[] = [];
  readonly #idle: NodeWorker[] = [];
  readonly #all = new Set<NodeWorker>();
  readonly #tasks = new Map<NodeWorker, Task>();
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
      this.#waiting.push({ item, index, resolve, reject });
      this.#next();
    });
  }

  /** Nobody waits for these items any more: threads that work on one of them end, and those that wait are taken out. */
  giveUp(at: number, size: number): void {
    const given = ({ index }: Task): boolean => index >= at && index < at + size;
    for (let i = this.#waiting.length - 1; i >= 0; i--)
      if (given(this.#waiting[i]!)) this.#waiting.splice(i, 1)[0]!.reject(stopped());
    for (const [worker, task] of this.#tasks) if (given(task)) void worker.terminate();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const task of this.#waiting.splice(0)) task.reject(stopped());
    await Promise.all([...this.#all].map((w) => w.terminate()));
  }

  #next(): void {
    while (this.#waiting.length > 0 && (this.#idle.length > 0 || this.#all.size < this.size)) {
      const worker = this.#idle.pop() ?? this.#started();
      this.#give(worker, this.#waiting.shift()!);
    }
  }

  #started(): NodeWorker {
    const worker = this.#make();
    this.#all.add(worker);
    worker.on('message', (answer: Answer) => {
      const task = this.#taken(worker);
      this.#rest(worker);
      if (answer.error) task?.reject(Object.assign(new Error(answer.error.message), answer.error));
      else task?.resolve(answer.value);
      this.#next();
    });
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', (code) => this.#lost(worker, new Error(`the worker thread ended with code ${code}`)));
    return worker;
  }

  #rest(worker: NodeWorker): void {
    this.#idle.push(worker);
    worker.unref();
  }

  #taken(worker: NodeWorker): Task | undefined {
    const task = this.#tasks.get(worker);
    this.#tasks.delete(worker);
    return task;
  }

  /** Its task has failed; the others go to another thread. */
  #lost(worker: NodeWorker, reason: unknown): void {
    this.#all.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#taken(worker)?.reject(this.#closed ? stopped() : reason);
    if (!this.#closed) this.#next();
  }

  #give(worker: NodeWorker, task: Task): void {
    this.#tasks.set(worker, task);
    worker.ref();
    try {
      worker.postMessage({ item: task.item, index: task.index });
    } catch (error) {
      // What cannot be cloned.
      this.#taken(worker);
      this.#rest(worker);
      task.reject(error);
    }
  }
}

const stopped = (): Error => new Error('the worker threads were stopped');
