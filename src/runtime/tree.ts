// Values nested in arrays and plain objects: what compiled functions take and return, and the state of a loop.

import { promiseOf } from '../base/callbacks.ts';
import { ArgumentError } from '../errors.ts';

/** One value, or arrays and objects of them to any depth. */
export type Tree<T> = T | readonly Tree<T>[] | { readonly [name: string]: Tree<T> };

/** What is below a node of a tree: its names and values, or null for a value of its own. */
export function branches(
  value: unknown,
): { readonly names: readonly string[] | null; readonly items: readonly unknown[] } | null {
  if (Array.isArray(value)) return { names: null, items: value };
  if (typeof value !== 'object' || value === null) return null;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return null;
  const names = Object.keys(value);
  return { names, items: names.map((n) => (value as Record<string, unknown>)[n]) };
}

/** The same branches with other values on them. */
export function regrow(names: readonly string[] | null, items: readonly unknown[]): unknown {
  if (!names) return [...items];
  const made: Record<string, unknown> = {};
  // Defined, not assigned: a result may be called `__proto__`.
  names.forEach((name, i) => {
    Object.defineProperty(made, name, { value: items[i], enumerable: true, writable: true, configurable: true });
  });
  return made;
}

/** Trees may be nested this deep; deeper ones are taken for rings. */
const deepest = 64;

/** The values of a tree in order, and a function that puts others in their places. */
export function flatten<T>(
  tree: unknown,
  isValue: (value: unknown) => value is T,
  where: string,
  what: string,
): { readonly values: T[]; readonly rebuild: (values: readonly unknown[]) => unknown } {
  const values: T[] = [];
  const walk = (value: unknown, path: string, depth: number): ((next: () => unknown) => unknown) => {
    if (isValue(value)) {
      values.push(value);
      return (next) => next();
    }
    const below = depth < deepest ? branches(value) : null;
    if (!below) throw notAValue(value, path, where, what);
    const { names } = below;
    const parts = below.items.map((v, i) => walk(v, `${path}${names ? `.${names[i]}` : `[${i}]`}`, depth + 1));
    return (next) =>
      regrow(
        names,
        parts.map((part) => part(next)),
      );
  };
  const grow = walk(tree, '', 0);
  return {
    values,
    rebuild: (list) => {
      let at = 0;
      return grow(() => list[at++]);
    },
  };
}

function notAValue(value: unknown, path: string, where: string, what: string): ArgumentError {
  const late = promiseOf(value) !== null;
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array nested too deep' : kindOf(value);
  return new ArgumentError({
    code: 'NOT_A_TENSOR',
    message: `${where}: ${what}${path ? ` at ${path}` : ''} is ${kind}, not a tensor`,
    fix: late
      ? 'Write a function that is not async: it is called to see what it computes, and nothing is known yet.'
      : 'Use tensors, nested in arrays and plain objects as you like.',
    where,
  });
}

const kindOf = (value: unknown): string =>
  typeof value === 'object' ? `a ${value!.constructor?.name ?? 'object'}` : typeof value;
