// What the platform is, and how its own modules are loaded where there are any.

export const isNode = (): boolean => typeof process !== 'undefined' && Boolean(process.versions?.node);

/** Imports a module of Node. The name is built at run time, so that bundlers for browsers do not try to resolve it. */
export const importNode = (name: string): Promise<unknown> => import(/* @vite-ignore */ ['node', name].join(':'));

/** A timer that keeps no process alive, where timers do that. */
export function idle<T>(timer: T): T {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

interface NodeProcess {
  readonly getBuiltinModule?: (name: string) => unknown;
}

/** A module of Node without waiting; undefined in browsers and in Node before 20.16. */
export const builtinModule = (name: string): unknown =>
  isNode() ? (process as NodeProcess).getBuiltinModule?.(`node:${name}`) : undefined;
