// Threads and libraries of Node.
//
// Node's modules are reached through `process.getBuiltinModule`, or by `import()` where that is missing, never by name in
// an import statement: bundlers for browsers have nothing to replace.

import type * as Fs from 'node:fs';
import type * as Module from 'node:module';
import type * as Os from 'node:os';
import type * as Threads from 'node:worker_threads';
import { permitted } from '../../base/platform.ts';
import type { NodeProcess, ThreadHost } from './host.ts';
import { largePages } from './large-pages.ts';

export async function nodeHost(node: NodeProcess): Promise<ThreadHost> {
  const builtin = async (name: string): Promise<unknown> =>
    node.getBuiltinModule?.(name) ?? (await import(/* @vite-ignore */ /* webpackIgnore: true */ name));
  const threads = (await builtin('node:worker_threads')) as typeof Threads;
  const os = (await builtin('node:os')) as typeof Os;
  const fs = (await builtin('node:fs')) as typeof Fs;
  const module = (await builtin('node:module')) as typeof Module;
  const require = (name: string): unknown => module.createRequire(import.meta.url)(name);
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
    require,
    withVariables: (variables, load) => withVariables(node.env ?? {}, variables, load),
    ...(node.platform === 'linux' ? { largePages: largePages(require) } : {}),
  };
}

/** Libraries read the environment of the process when they are loaded, so it is changed for as long as that takes. */
export function withVariables<T>(
  env: Record<string, string | undefined>,
  variables: Readonly<Record<string, string>>,
  load: () => T,
): T {
  const take = (name: string, value: string): boolean => {
    if (env[name] !== undefined) return false;
    env[name] = value;
    return true;
  };
  const ours = Object.entries(variables).filter(([name, value]) => permitted(() => take(name, value), false));
  try {
    return load();
  } finally {
    for (const [name] of ours) delete env[name];
  }
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
