// Files that share a process see what others leave behind: a file that changes something a process has only once, and does not change
// it back, fails by what it left. Set-up of the project `units` in vitest.config.ts; hooks that end something run before this one.

import { afterAll, expect, vi } from 'vitest';

/** Functions that tests like to steer. */
const steered: readonly (readonly [string, object, readonly string[]])[] = [
  ['globalThis', globalThis, ['Date', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'Worker']],
  ['performance', performance, ['now']],
  ['Date', Date, ['now']],
  ['Math', Math, ['random']],
  ['process', process, ['exit', 'kill', 'emitWarning']],
  ['process.stdout', process.stdout, ['write']],
  ['process.stderr', process.stderr, ['write']],
  ['console', console, ['log', 'info', 'warn', 'error']],
];

const events = ['SIGINT', 'SIGTERM', 'exit', 'uncaughtException', 'unhandledRejection', 'warning'];

/** What each of them is at the moment; values are compared by identity. */
function whatIs(): Map<string, unknown> {
  const tools = Reflect.get(globalThis, Symbol.for('gpuforge.whenRuntimeOpens')) as Set<unknown> | undefined;
  return new Map<string, unknown>([
    ['the working directory', process.cwd()],
    ['fake timers', vi.isFakeTimers()],
    ['tools that watch runtimes', tools?.size ?? 0],
    ...events.map((name) => [`listeners of ${name}`, process.listenerCount(name)] as const),
    ...steered.flatMap(([of, object, names]) =>
      names.map((name) => [`${of}.${name}`, Reflect.get(object, name)] as const),
    ),
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
  ]);
}

const before = whatIs();

afterAll(() => {
  const after = whatIs();
  const names = new Set([...before.keys(), ...after.keys()]);
  const left = [...names].filter((name) => before.get(name) !== after.get(name));
  expect(left, 'left behind').toEqual([]);
});
