// Scatter with the result of the loop it is defined as, in any number of threads.
//
// Which way depends on how many updates there are and whether their order matters. Nothing depends on timing: results are the same on
// every run. Halves are combined in f32 and rounded once.

import type { Scatter } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import { recipeOf } from '../recipe-of.ts';
import { changeInPlace, inAnyOrder } from './atomic.ts';
import { lookThrough } from './look-through.ts';
import { copyBase } from './parts.ts';
import { bySorting } from './sorted.ts';

const fewUpdates = 64;

export function scatterRecipe(s: Scatter, target: Target): ModuleRecipe {
  if (s.count <= fewUpdates) return recipeOf(s.name, target, [lookThrough(s, target)]);
  if (inAnyOrder(s)) return recipeOf(s.name, target, [copyBase(s, target), changeInPlace(s, target)]);
  const { parts, bytes } = bySorting(s, target);
  return recipeOf(s.name, target, parts, { borrowedBytes: bytes });
}
