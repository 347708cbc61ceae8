// What the CPU device needs of the platform: threads, their number, and optional native libraries.
//
// Node's modules are reached through `process.getBuiltinModule`, or by `import()` where that is missing, never by name in
// an import statement: bundlers for browsers have nothing to replace, and importing this file loads nothing.

import type * as Fs from 'node:fs';
import type * as Module from 'node:module';
import type * as Os from 'node:os';
import type * as Threads from 'node:worker_threads';

/** A running worker thread. */
export interface Thread {
  /** Ends it; resolves when it is gone. */
  terminate(): Promise<void>;
}

export interface ThreadHost {
  /** Threads that can run at the same time. */
  readonly parallelism: number;
  /** Starts a worker that does not keep the process alive; null where there are no workers. */
  spawn(source: string, data: unknown, onExit: () => void): Thread | null;
  /** Loads an installed package synchronously; throws if there is none. Null in browsers. */
  readonly require: ((name: string) => unknown) | null;
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
}

const nodeProcess = (): NodeProcess | null => (globalThis as { process?: NodeProcess }).process ?? null;

/** The platform this runs on: Node if there is such a process, else a browser. */
export async function openHost(node: NodeProcess | null = nodeProcess()): Promise<ThreadHost> {
  return node?.versions?.node ? nodeHost(node) : browserHost();
}

async function nodeHost(node: NodeProcess): Promise<ThreadHost> {
  const builtin = async (name: string): Promise<unknown> =>
    node.getBuiltinModule?.(name) ?? (await import(/* @vite-ignore */ name));
  const threads = (await builtin('node:worker_threads')) as typeof Threads;
  const os = (await builtin('node:os')) as typeof Os;
  const fs = (await builtin('node:fs')) as typeof Fs;
  const module = (await builtin('node:module')) as typeof Module;
  return {
    parallelism: Math.min(
      os.availableParallelism(),
      cgroupLimit((path) => fs.readFileSync(path, 'utf8')),
    ),
    spawn: (source, data, onExit) => {
      const worker = new threads.Worker(source, { eval: true, workerData: data, stdout: false, stderr: false });
      worker.unref();
      worker.on('error', () => {});
      worker.on('exit', onExit);
      return {
        terminate: async () => {
          await worker.terminate();
        },
      };
    },
    require: (name) => module.createRequire(import.meta.url)(name),
  };
}

const terminationMs = 500;

function browserHost(): ThreadHost {
  const scope = globalThis as { Worker?: typeof Worker; navigator?: { hardwareConcurrency?: number } };
  return {
    parallelism: scope.navigator?.hardwareConcurrency ?? 1,
    spawn: (source, data, onExit) => {
      if (!scope.Worker) return null;
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      const worker = new scope.Worker(url);
      worker.onerror = onExit;
      worker.postMessage(data);
      return {
        terminate: async () => {
          worker.terminate();
          URL.revokeObjectURL(url);
          // Browsers do not say when the thread has ended; it stops at its next loop turn or call.
          setTimeout(onExit, terminationMs);
        },
      };
    },
    require: null,
  };
}

/** Whole CPUs that the container's quota allows; containers often see all cores of the machine but may not use them. */
export function cgroupLimit(read: (path: string) => string): number {
  const readings: readonly (() => number)[] = [
    () => {
      const [quota, period] = read('/sys/fs/cgroup/cpu.max').trim().split(' ');
      return Number(quota) / Number(period);
    },
    () => Number(read('/sys/fs/cgroup/cpu/cpu.cfs_quota_us')) / Number(read('/sys/fs/cgroup/cpu/cpu.cfs_period_us')),
  ];
  for (const reading of readings) {
    try {
      const cpus = reading();
      // "max" and -1 mean no limit.
      if (cpus > 0) return Math.max(1, Math.ceil(cpus));
    } catch {
      // Not this kind of container, or none at all.
    }
  }
  return Number.POSITIVE_INFINITY;
}
