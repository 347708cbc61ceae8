// What the steps of a radix sort agree on: its tiles, its digits, what tiles tell each other, and where keys are.

import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { blocksFor, type Kit } from './kit.ts';

export const digits = 256;

export interface RadixPlan {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly keyBytes: 4 | 8;
  /** Eight-bit digits to sort by, from the least significant. */
  readonly passes: number;
  /** Where keys come from, if not from the first buffer of keys: the key of an element, whose number is 64 bits wide. */
  readonly source?: (kit: Kit) => (element: string, inside: string) => string;
  /** Where pairs go in the end, if not into buffers: told the key, the position in the row, and the number of their place. */
  readonly sink?: (kit: Kit) => (key: string, position: string, rowStart: string, element: string) => void;
}

export interface RadixBuffers {
  /** Keys go in through the first; after an even number of passes they come out there too. */
  readonly keys: readonly [Argument, Argument];
  readonly positions: readonly [Argument, Argument];
  /** Cleared before the sort: counts of digits, how many tiles of each pass have begun, what tiles tell each other. */
  readonly counts: Argument;
  readonly begun: Argument;
  readonly told: Argument;
  readonly clearedBytes: number;
}

export interface Tiles {
  readonly threads: number;
  readonly perThread: number;
  readonly size: number;
  /** Of a row. */
  readonly count: number;
}

export type Part = { text: string; launch: ModuleRecipe['launches'][number] };

export function tilesOf({ columns, keyBytes }: RadixPlan): Tiles {
  // Static shared memory, 48 KiB, holds the keys of a tile beside the counters of its warps.
  const [threads, bytes] = columns <= 4096 ? [256, 64] : [512, 48];
  const perThread = bytes / keyBytes;
  const size = threads * perThread;
  return { threads, perThread, size, count: blocksFor(columns, size) };
}

/** What tiles tell each other: a number, and in the two highest bits whether it is there, and a sum. */
export interface Word {
  readonly bytes: 4 | 8;
  readonly kind: 'r' | 'd';
  readonly bits: 'b32' | 'b64';
  readonly unsigned: 'u32' | 'u64';
  readonly own: string;
  readonly sum: string;
  readonly value: string;
}

const hex = (v: bigint): string => `0x${v.toString(16)}`;

export function wordOf({ columns }: RadixPlan): Word {
  const wide = columns >= 2 ** 30;
  const top = wide ? 62n : 30n;
  const flags = { own: hex(1n << top), sum: hex(2n << top), value: hex((1n << top) - 1n) };
  return wide
    ? { bytes: 8, kind: 'd', bits: 'b64', unsigned: 'u64', ...flags }
    : { bytes: 4, kind: 'r', bits: 'b32', unsigned: 'u32', ...flags };
}

export const keySuffix = (plan: RadixPlan): 'b64' | 'b32' => (plan.keyBytes === 8 ? 'b64' : 'b32');
export const keyKind = (plan: RadixPlan): 'd' | 'r' => (plan.keyBytes === 8 ? 'd' : 'r');

export function digitOf(kit: Kit, plan: RadixPlan, key: string, pass: number): string {
  const { b } = kit;
  if (plan.keyBytes === 4) return b.def('r', 'bfe.u32', key, 8 * pass, 8);
  return b.def('r', 'and.b32', b.def('r', 'cvt.u32.u64', b.def('d', 'shr.u64', key, 8 * pass)), 255);
}

/** Loads a key, 0 where there is none: from the source in the first pass, else from a buffer. */
export function keyLoader(
  kit: Kit,
  plan: RadixPlan,
  buffer: Argument,
  first: boolean,
): (element: string, inside: string) => string {
  const { b } = kit;
  if (first && plan.source) return plan.source(kit);
  const keys = kit.pointer(buffer);
  return (element, inside) => {
    const key = b.def(keyKind(plan), `mov.${keySuffix(plan)}`, 0);
    b.emit(`@${inside} ld.global.${keySuffix(plan)} ${key}, [${kit.at(keys, element, plan.keyBytes)}]`);
    return key;
  };
}
