// What all ways of scattering share: how places are numbered, how two values are combined, the copy of what is scattered into.

import type { DType } from '../../../../base/dtype.ts';
import type { Scatter } from '../../../../kernel/kernel.ts';
import { combineOp } from '../../../../kernel/ops.ts';
import type { Target } from '../../ptx/target.ts';
import { blocksFor, computeType, Kit } from '../kit.ts';
import type { Part } from '../recipe-of.ts';

export const threads = 256;

/** The type that updates are combined in. */
export const sumType = (s: Scatter): DType => (s.combine === 'set' ? s.type : computeType(s.type));

export const loaded = (kit: Kit, s: Scatter, pointer: string, i: string): string =>
  kit.cast(s.type, sumType(s), kit.load(s.type, pointer, i));

export const combined = (kit: Kit, s: Scatter, old: string, update: string): string =>
  s.combine === 'set' ? update : kit.alu(combineOp[s.combine], sumType(s), old, update);

export const totalOf = (s: Scatter): number => s.outer * s.length * s.inner;

/** Updates that have a place of their own: all, or one for each position where those are shared. */
export const pairsOf = (s: Scatter): number => (s.perElement ? s.outer * s.count * s.inner : s.count);

/** Elements that share a position: every pair is as many updates. */
export const columnsOf = (s: Scatter): number => (s.perElement ? 1 : s.outer * s.inner);

/** Splits a number in [a, size, c] order: returns the three positions. */
export function split3(kit: Kit, flat: string, size: number, inner: number): [string, string, string] {
  const { b } = kit;
  const rest = inner === 1 ? flat : b.def('d', 'div.u64', flat, inner);
  const n = inner === 1 ? '0' : b.def('d', 'sub.u64', flat, b.def('d', 'mul.lo.u64', rest, inner));
  const outer = b.def('d', 'div.u64', rest, size);
  const middle = b.def('d', 'sub.u64', rest, b.def('d', 'mul.lo.u64', outer, size));
  return [outer, middle, n];
}

/** The position of pair `i` on its axis (32 bits). */
export function placeAt(kit: Kit, s: Scatter, at: string, i: string): string {
  const { b } = kit;
  const given = kit.load('i32', at, i);
  const low = s.clips
    ? given
    : b.def('r', 'selp.b32', b.def('r', 'add.s32', given, s.length), given, isNegative(kit, given));
  return b.def('r', 'max.s32', b.def('r', 'min.s32', low, s.length - 1), 0);
}

const isNegative = (kit: Kit, r: string): string => kit.b.def('p', 'setp.lt.s32', r, 0);

/** The place of pair `i` among the targets, which lies at `place` of its axis. */
export function keyOf(kit: Kit, s: Scatter, i: string, place: string): string {
  if (!s.perElement) return place;
  const { b } = kit;
  const [o, , n] = split3(kit, i, s.count, s.inner);
  return b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.length, place), s.inner, n);
}

/** Where a column's element of a target lies in the output, and that of an update among the updates. */
export function columnPlaces(kit: Kit, s: Scatter, column: string) {
  const { b } = kit;
  const one = (): string => '0';
  if (columnsOf(s) === 1) return { target: (key: string) => key, update: s.uniform ? one : (j: string) => j };
  const o = b.def('d', 'div.u64', column, s.inner);
  const n = b.def('d', 'sub.u64', column, b.def('d', 'mul.lo.u64', o, s.inner));
  const at = (size: number) => (i: string) =>
    b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, size, i), s.inner, n);
  return { target: at(s.length), update: s.uniform ? one : at(s.count) };
}

/** The output as it is before the first update. */
export function copyBase(s: Scatter, target: Target): Part {
  const kit = new Kit(`${s.name}_copy`, target);
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const i = kit.globalThread(threads);
  kit.exitWhen(kit.b.def('p', 'setp.ge.u64', i, totalOf(s)));
  kit.store(s.type, output, i, kit.load(s.type, base, i));
  return kit.finish([blocksFor(totalOf(s), threads), 1, 1], threads);
}
