// Scatter with the result of the loop it is defined as, in any number of threads.
//
// Few updates: every output element looks through them in order. Many: the updates are sorted by their target, stably, and
// the first of each run of equal targets folds the run in order. No atomics, so nothing depends on timing. Halves are combined in f32
// and rounded once.

import type { DType } from '../../../base/dtype.ts';
import type { Scatter } from '../../../kernel/kernel.ts';
import { combineOp } from '../../../kernel/ops.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { blocksFor, computeType, Kit, Layout } from './kit.ts';
import { radixBuffers, radixPasses, radixResult } from './radix.ts';
import type { RadixPlan } from './radix-plan.ts';
import { recipeOf } from './recipe-of.ts';

const threads = 256;
const fewUpdates = 64;

type Part = { text: string; launch: ModuleRecipe['launches'][number] };

export function scatterRecipe(scatter: Scatter, target: Target): ModuleRecipe {
  return scatter.count <= fewUpdates ? lookThrough(scatter, target) : bySorting(scatter, target);
}

/** The type that updates are combined in. */
const sumType = (s: Scatter): DType => (s.combine === 'set' ? s.type : computeType(s.type));

const loaded = (kit: Kit, s: Scatter, pointer: string, i: string): string =>
  kit.cast(s.type, sumType(s), kit.load(s.type, pointer, i));

const combined = (kit: Kit, s: Scatter, old: string, update: string): string =>
  s.combine === 'set' ? update : kit.alu(combineOp[s.combine], sumType(s), old, update);

function recipe(s: Scatter, target: Target, parts: readonly Part[], borrowedBytes: number): ModuleRecipe {
  return recipeOf(s.name, target, parts, { borrowedBytes });
}

/** Splits a number in [a, size, c] order: returns the three positions. */
function split3(kit: Kit, flat: string, size: number, inner: number): [string, string, string] {
  const { b } = kit;
  const rest = inner === 1 ? flat : b.def('d', 'div.u64', flat, inner);
  const n = inner === 1 ? '0' : b.def('d', 'sub.u64', flat, b.def('d', 'mul.lo.u64', rest, inner));
  const outer = b.def('d', 'div.u64', rest, size);
  const middle = b.def('d', 'sub.u64', rest, b.def('d', 'mul.lo.u64', outer, size));
  return [outer, middle, n];
}

function lookThrough(s: Scatter, target: Target): ModuleRecipe {
  const kit = new Kit(s.name, target);
  const { b } = kit;
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const total = s.outer * s.length * s.inner;
  const i = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', i, total));
  const [o, l, n] = split3(kit, i, s.length, s.inner);
  const wanted = b.def('r', 'cvt.u32.u64', l);
  const sum = kit.variable(sumType(s), loaded(kit, s, base, i));
  const j = b.def('d', 'mov.u64', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u64', j, s.count),
    () => {
      const u = b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.count, j), s.inner, n);
      const place = kit.load('i32', at, s.perElement ? u : j);
      const hit = b.def('p', 'setp.eq.u32', place, wanted);
      kit.when(hit, () => kit.assign(sumType(s), sum, combined(kit, s, sum, loaded(kit, s, updates, u))));
      b.set(j, 'add.u64', j, 1);
    },
  );
  kit.store(s.type, output, i, kit.cast(sumType(s), s.type, sum));
  return recipe(s, target, [kit.finish([blocksFor(total, threads), 1, 1], threads)], 0);
}

function bySorting(s: Scatter, target: Target): ModuleRecipe {
  const total = s.outer * s.length * s.inner;
  const pairs = s.perElement ? s.outer * s.count * s.inner : s.count;
  const targets = s.perElement ? total : s.length;
  const plan: RadixPlan = {
    name: s.name,
    rows: 1,
    columns: pairs,
    keyBytes: targets > 2 ** 32 ? 8 : 4,
    passes: Math.max(1, Math.ceil(Math.log2(Math.max(2, targets)) / 8)),
  };
  const layout = new Layout();
  const buffers = radixBuffers(plan, layout);
  const keyType = plan.keyBytes === 8 ? 'u64' : 'u32';

  const keys = new Kit(`${s.name}_keys`, target);
  {
    const kit = keys;
    const { b } = kit;
    const at = kit.pointer({ kind: 'buffer', index: 1 });
    const out = kit.pointer(buffers.keys[0]);
    const i = kit.globalThread(threads);
    kit.exitWhen(b.def('p', 'setp.ge.u64', i, pairs));
    const place = kit.wide(kit.load('i32', at, i));
    let key = place;
    if (s.perElement) {
      const [o, , n] = split3(kit, i, s.count, s.inner);
      key = b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.length, place), s.inner, n);
    }
    kit.store(keyType, out, i, keyType === 'u64' ? key : b.def('r', 'cvt.u32.u64', key));
  }
  const copy = new Kit(`${s.name}_copy`, target);
  {
    const kit = copy;
    const base = kit.pointer({ kind: 'buffer', index: 0 });
    const output = kit.pointer({ kind: 'buffer', index: 3 });
    const i = kit.globalThread(threads);
    kit.exitWhen(kit.b.def('p', 'setp.ge.u64', i, total));
    kit.store(s.type, output, i, kit.load(s.type, base, i));
  }
  const parts = [
    keys.finish([blocksFor(pairs, threads), 1, 1], threads),
    ...radixPasses(plan, buffers, target),
    copy.finish([blocksFor(total, threads), 1, 1], threads),
    foldRuns(s, plan, buffers, keyType, target),
  ];
  return recipe(s, target, parts, layout.bytes);
}

function foldRuns(
  s: Scatter,
  plan: RadixPlan,
  buffers: ReturnType<typeof radixBuffers>,
  keyType: 'u32' | 'u64',
  target: Target,
): Part {
  const kit = new Kit(`${s.name}_fold`, target);
  const { b } = kit;
  const result = radixResult(plan);
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const keys = kit.pointer(buffers.keys[result]);
  const order = kit.pointer(buffers.positions[result]);
  const pairs = plan.columns;
  // One thread per pair and, where positions are shared by all of [outer, inner], per element of that.
  const copies = s.perElement ? 1 : s.outer * s.inner;
  const thread = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, pairs * copies));
  const [, rank, n] = split3(kit, thread, pairs, s.perElement ? 1 : s.inner);
  const o = s.perElement ? '0' : b.def('d', 'div.u64', thread, pairs * s.inner);
  const key = kit.load(keyType, keys, rank);
  const suffix = keyType === 'u64' ? 'u64' : 'u32';
  const hasBefore = b.def('p', 'setp.gt.u64', rank, 0);
  const head = b.def('p', 'setp.ne.u32', 1, 0);
  kit.when(hasBefore, () => {
    const before = kit.load(keyType, keys, b.def('d', 'sub.u64', rank, 1));
    b.set(head, `setp.ne.${suffix}`, before, key);
  });
  kit.exitWhen(b.def('p', 'not.pred', head));
  const wideKey = keyType === 'u64' ? key : kit.wide(key);
  const to = s.perElement
    ? wideKey
    : b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.length, wideKey), s.inner, n);
  const sum = kit.variable(sumType(s), loaded(kit, s, output, to));
  const i = b.def('d', 'mov.u64', rank);
  const more = b.def('p', 'setp.ne.u32', 1, 0);
  kit.while(
    () => more,
    () => {
      const j = kit.wide(kit.load('i32', order, i));
      const u = s.perElement ? j : b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.count, j), s.inner, n);
      kit.assign(sumType(s), sum, combined(kit, s, sum, loaded(kit, s, updates, u)));
      b.set(i, 'add.u64', i, 1);
      b.set(more, 'setp.lt.u64', i, pairs);
      kit.when(more, () => b.set(more, `setp.eq.${suffix}`, kit.load(keyType, keys, i), key));
    },
  );
  kit.store(s.type, output, to, kit.cast(sumType(s), s.type, sum));
  return kit.finish([blocksFor(pairs * copies, threads), 1, 1], threads);
}
