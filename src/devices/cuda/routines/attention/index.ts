// Attention: which code computes it, and how wide its heads may be.

import type { Attention } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import { sharedLimit } from '../tensor-core.ts';
import { plainAttention, plainTiles } from './plain.ts';
import { tensorAttention, tensorPlan, tensorShared } from './tensor.ts';

export function attentionRecipe(r: Attention, target: Target): ModuleRecipe {
  if (r.type !== 'f32') return tensorAttention(r, target);
  return plainAttention(r, target, plainTiles(r, sharedLimit(target.sm))!);
}

/** The largest depth and width of heads, both multiples of 8, that the device takes in each type. */
export function attentionHeads(target: Target): Readonly<Partial<Record<Attention['type'], number>>> {
  if (target.sm < 80) return {};
  const shared = sharedLimit(target.sm);
  const widest = (fits: (head: { depth: number; width: number }) => boolean): number =>
    [256, 128, 64].find((d) => fits({ depth: d, width: d })) ?? 0;
  const narrow = widest(
    (head) => tensorShared(head, tensorPlan({ ...head, queries: Number.POSITIVE_INFINITY }, target).tiles) <= shared,
  );
  return { f32: widest((head) => plainTiles(head, shared) !== undefined), f16: narrow, bf16: narrow };
}
