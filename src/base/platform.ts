// What the platform is, and how its own modules are loaded where there are any.

export const isNode = (): boolean => typeof process !== 'undefined' && Boolean(process.versions?.node);

/** Imports a module of Node. The name is built at run time, so that bundlers for browsers do not try to resolve it. */
export const importNode = (name: string): Promise<unknown> =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ ['node', name].join(':'));

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

/** A Node that lacks parts of the language and of the platform. */
export const isOldNode = (node = isNode() ? process.versions.node : '20'): boolean => Number.parseInt(node, 10) < 20;

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What the platform tells, or something else where it may not: Deno asks for permissions one by one. */
export function permitted<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch (e) {
    if (isDenied(e)) return otherwise;
    throw e;
  }
}

/** Whether a call failed for lack of a permission. */
export const isDenied = (error: unknown): boolean =>
  error instanceof Error && /^(NotCapable|PermissionDenied)$/.test(error.name);

/** The environment; none in browsers, and without those variables that may not be read. */
export function environment(): Environment {
  if (typeof process === 'undefined' || !process.env) return {};
  if (!('Deno' in globalThis)) return process.env;
  return new Proxy({}, { get: (_, name) => permitted(() => process.env[String(name)], undefined) });
}
