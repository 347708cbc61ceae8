// What `executeParallel` was given: a function for all items, one for each, or one that a module exports; and what runs in parallel.

import { shown } from '../base/arguments.ts';
import { Tensor } from '../index.ts';
import { badArgument, badList } from './failures.ts';
import type { ItemFunction, Parallel } from './function-run.ts';
import type { ModuleFunction } from './threads.ts';

/** What has shortest paths: `Lattice` and `Graph` of gpuforge/lattice. */
export interface WithPaths {
  shortestPath(start: number, end: number): unknown;
}

export const hasPaths = (item: unknown): item is WithPaths =>
  typeof item === 'object' && item !== null && typeof (item as Partial<WithPaths>).shortestPath === 'function';

export type Work<T, R> = ItemFunction<T, R> | readonly ItemFunction<T, R>[] | ModuleFunction;

const where = 'executeParallel';

export function workOf<T, R>(
  items: readonly T[],
  work: Work<T, R>,
  workers: boolean,
): ModuleFunction | { readonly call: ItemFunction<T, R>; readonly parallel: Parallel } {
  if (typeof work === 'object' && work !== null && 'module' in work && 'export' in work) return work;
  if (workers)
    throw badArgument(
      where,
      'functions cannot be sent to another thread',
      'Give { module: new URL(…), export: name }: each thread imports the module.',
    );
  const list = Array.isArray(work) ? (work as readonly ItemFunction<T, R>[]) : null;
  if (list) checkCount(where, items, list, 'functions', 'Give one function for all items, or one for each.');
  const bad = (list ?? [work]).findIndex((f) => typeof f !== 'function');
  if (bad >= 0) {
    const kind = list ? `a list with ${shown(list[bad])} in it` : shown(work);
    throw badArgument(
      where,
      `the work is ${kind}`,
      'Give a function of an item, a list of them, or { module, export }.',
    );
  }
  const [first] = items;
  // Functions of what lives on a device only enqueue: the device works while this thread goes on.
  const parallel = first instanceof Tensor || hasPaths(first) ? 'device' : 'none';
  return { call: list ? (item, i) => list[i]!(item, i) : (work as ItemFunction<T, R>), parallel };
}

export function checkCount(
  op: string,
  items: readonly unknown[],
  others: readonly unknown[],
  what: string,
  fix: string,
): void {
  if (items.length === others.length) return;
  throw badList(op, 'LENGTH_MISMATCH', null, `${items.length} items, but ${others.length} ${what}`, fix);
}
