// Asking for the garbage collector, and for the finalizers of what it finds, which run in turns of the event loop.

import { importNode, isNode, permitted } from './platform.ts';
import { turn } from './turn.ts';

type Collect = () => void;

let found: Promise<Collect> | null = null;

/** The collector where it can be called, else a way to make it run by itself. */
export function findCollector(): Promise<Collect> {
  return (found ??= search());
}

/** What the JavaScript heap held after the last collection that was asked for. */
let inUse = 0;

/** Bytes of the JavaScript heap; 0 where nobody tells. */
const heapBytes = (): number =>
  typeof process === 'undefined' ? 0 : permitted(() => process.memoryUsage?.().heapUsed ?? 0, 0);

/** Whether the heap holds twice what it held after the last collection that was asked for, and so much more. */
export const hasHeapGrown = (by: number): boolean => heapBytes() > 2 * inUse + by;

/** Runs the garbage collector, and the finalizers of what it found; the milliseconds that took. `prepare` runs right before. */
export async function collectGarbage(prepare?: () => void): Promise<number> {
  const collect = await findCollector();
  prepare?.();
  const start = performance.now();
  collect();
  // Finalizers are tasks, and some follow others.
  for (let i = 0; i < 2; i++) await turn();
  inUse = heapBytes();
  return performance.now() - start;
}

async function search(): Promise<Collect> {
  const exposed = (globalThis as { gc?: Collect }).gc;
  if (exposed) return () => exposed();
  if (!isNode()) return nudge;
  try {
    const v8 = (await importNode('v8')) as typeof import('node:v8');
    const vm = (await importNode('vm')) as typeof import('node:vm');
    v8.setFlagsFromString('--expose-gc');
    const gc = vm.runInNewContext('gc') as Collect;
    return () => gc();
  } catch {
    return nudge;
  }
}

/** Engines collect when much memory outside of their heap was asked for; of this nothing is ever touched, so it costs address space only. */
const ballastBytes = 256 << 20;

function nudge(): void {
  try {
    new ArrayBuffer(ballastBytes);
  } catch {
    // No room for that: the engine has noticed by itself.
  }
}
