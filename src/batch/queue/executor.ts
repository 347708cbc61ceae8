// Runs chunks in a child process, so that this one's event loop keeps renewing locks whatever a computation does, and outlives the GPU.
//
// A child that dies takes the chunks it was running with it: they fail here, and are tried again by whoever holds them. It is started
// anew, but not for ever: one that dies three times in ten minutes shows that something is wrong with this machine.

import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ForgeError } from '../../index.ts';
import { ChunkOverdue } from '../chunk-attempt.ts';
import { badArgument } from '../failures.ts';
import { type ChunkDescriptor, type ChunkHandler, type ChunkResult, NotHere, PermanentFailure } from '../transport.ts';
import type { Answer, ChildCaps, FailureKind, Order } from './messages.ts';

export interface ExecutorOptions {
  /** The module of operations. */
  readonly ops: string;
  /** The folder shared by all machines. */
  readonly folder?: string | undefined;
  /** 'cuda:0', 'webgpu', 'cpu'. Default: the CPU. */
  readonly device?: string | undefined;
  /** Crashes within the window after which it gives up. Default 3 in 600,000 ms. */
  readonly crashes?: number | undefined;
  readonly crashWindowMs?: number | undefined;
  /** Told when it gives up, and why. */
  readonly onQuarantine?: ((why: string) => void) | undefined;
}

interface Running {
  readonly resolve: (result: ChunkResult) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a child may take to load its operations and open its device. */
const startMs = 120_000;
/** How long a chunk has to stop when its time is over; then the child is ended. */
const stopMs = 500;

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #running = new Map<number, Running>();
  readonly #crashes: number[] = [];
  #child: ChildProcess | null = null;
  /** The child that was ended here. */
  #ending: ChildProcess | null = null;
  #ready: Promise<ChildCaps> | null = null;
  #next = 0;
  #closed = false;
  quarantined = false;

  constructor(options: ExecutorOptions) {
    if (!existsSync(options.ops))
      throw badArgument(
        'gpuforge worker',
        `there is no file ${options.ops}`,
        'Give the module of operations with --ops.',
      );
    this.#options = options;
  }

  get crashes(): number {
    return this.#crashes.length;
  }

  /** The names of its operations, once it has started. */
  ops: readonly string[] = [];

  /** Starts the child; what it found. */
  start(): Promise<ChildCaps> {
    return (this.#ready ??= this.#started());
  }

  readonly handler: ChunkHandler = async (chunk, { chunkId, attempt, signal }) => {
    if (this.quarantined) throw new Error('this worker is in quarantine: its computing process died again and again');
    await this.start();
    return this.#run(chunk, chunkId, attempt, signal);
  };

  #run(chunk: ChunkDescriptor, chunkId: string, attempt: number, signal: AbortSignal): Promise<ChunkResult> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      let stuck: ReturnType<typeof setTimeout> | undefined;
      const abort = (): void => {
        this.#tell({ kind: 'abort', id });
        // What does not even stop when its time is over may never end.
        if (signal.reason instanceof ChunkOverdue) stuck = setTimeout(() => this.#restart(), stopMs);
      };
      const end = (): void => {
        clearTimeout(stuck);
        this.#running.delete(id);
        signal.removeEventListener('abort', abort);
      };
      this.#running.set(id, {
        resolve: (result) => {
          end();
          resolve(result);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      });
      signal.addEventListener('abort', abort, { once: true });
      this.#tell({ kind: 'run', id, chunk, chunkId, attempt });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.disconnect();
    const timer = setTimeout(() => child.kill('SIGKILL'), 2000);
    await gone;
    clearTimeout(timer);
  }

  /** Ends the child for a chunk that is stuck; that is the chunk's fault, and no crash. */
  #restart(): void {
    this.#ending = this.#child;
    this.#child?.kill('SIGKILL');
  }

  #tell(order: Order): void {
    this.#child?.send(order, () => {});
  }

  #started(): Promise<ChildCaps> {
    const { ops, folder = null, device = null } = this.#options;
    const start = JSON.stringify({ ops: pathToFileURL(ops).href, folder, device });
    // Its output goes to ours; nothing of the queue's address is told to it.
    const child = fork(childFile(), [start], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child = child;
    return new Promise<ChildCaps>((resolve, reject) => {
      const slow = setTimeout(() => child.kill('SIGKILL'), startMs);
      child.on('message', (answer: Answer) => {
        if (answer.kind === 'ready') {
          clearTimeout(slow);
          this.ops = answer.ops;
          resolve(answer.caps);
        } else if (answer.kind === 'refused') reject(refused(answer.message, answer.fix));
        else if (answer.kind === 'done') this.#running.get(answer.id)?.resolve(answer.result);
        else {
          const { code, stack } = answer;
          const error = new failures[answer.how](answer.message);
          Object.assign(error, code === null ? { stack } : { stack, code });
          this.#running.get(answer.id)?.reject(error);
        }
      });
      child.once('exit', (code, signal) => {
        clearTimeout(slow);
        const why = new Error(`the computing process ended with ${signal ?? `code ${code}`}`);
        reject(why);
        this.#died(why, child === this.#ending);
      });
    });
  }

  #died(why: Error, wanted: boolean): void {
    this.#child = null;
    this.#ready = null;
    if (!this.#closed && !wanted) {
      const { crashes = 3, crashWindowMs = 600_000 } = this.#options;
      // Steady: a wall clock that is set must neither forgive crashes nor add them up.
      const now = performance.now();
      this.#crashes.push(now);
      while (now - this.#crashes[0]! > crashWindowMs) this.#crashes.shift();
      if (this.#crashes.length >= crashes && !this.quarantined) {
        this.quarantined = true;
        const within = `${crashes} times in ${Math.round(crashWindowMs / 60_000)} minutes`;
        this.#options.onQuarantine?.(`its computing process died ${within}; the last time, ${why.message}`);
      }
    }
    for (const { reject } of [...this.#running.values()]) reject(why);
  }
}

/** A failure of the child, as it is here. */
const failures: Readonly<Record<FailureKind, new (message: string) => Error>> = {
  passing: Error,
  permanent: PermanentFailure,
  elsewhere: class extends NotHere {
    constructor(message: string) {
      super('NO_OPERATION', message);
    }
  },
};

/** Why a computing process could not start, in its own words. */
const refused = (message: string, fix: string | null): ForgeError =>
  new ForgeError({
    code: 'WORKER_REFUSED',
    message: `gpuforge worker: ${message}`,
    fix: fix ?? 'Mend the module of operations (--ops): it is loaded before anything runs.',
    where: 'gpuforge worker',
  });

/** Beside this file where it is built. */
function childFile(): string {
  const here = fileURLToPath(new URL('./batch-child.js', import.meta.url));
  if (existsSync(here)) return here;
  return fileURLToPath(new URL('../../../dist/batch-child.js', import.meta.url));
}
