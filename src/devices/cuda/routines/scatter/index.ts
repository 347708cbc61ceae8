// Scatter with the result of the loop it is defined as, in any number of threads.
//
// Which way depends on how many updates there are and whether their order matters. Nothing depends on timing: results are the same on
// every run. Halves are combined in f32 and rounded once.

import type { Scatter } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import { recipeOf } from '../recipe-of.ts';
import { changeInPlace, inAnyOrder } from './atomic.ts';
import { exactSums } from './exact.ts';
import { lookThrough } from './look-through.ts';
import { withTargetsOfLanes } from './own-targets.ts';
import { columnsOf, copyBase } from './parts.ts';
import { bySorting } from './sorted.ts';

const fewUpdates = 64;

export function scatterRecipe(scatter: Scatter, target: Target): ModuleRecipe {
  // Elements by themselves are rows of one.
  const s = scatter.outer * scatter.inner === 1 ? { ...scatter, perElement: false } : scatter;
  if (s.count <= fewUpdates) return recipeOf(s.name, target, [lookThrough(s, target)]);
  const inPlace = inAnyOrder(s);
  // Rows of whole numbers too, where there are few targets: memory would be changed at the same places by everybody.
  const own = inPlace && columnsOf(s) === 1 ? null : withTargetsOfLanes(s, target);
  if (own) return own;
  if (inPlace) return recipeOf(s.name, target, [copyBase(s, target), changeInPlace(s, target)]);
  const exact = exactSums(s, target);
  if (exact) return exact;
  const { parts, bytes } = bySorting(s, target);
  return recipeOf(s.name, target, parts, { borrowedBytes: bytes });
}
