// The module of a routine: its kernels, launched one after the other.

import { moduleText } from '../ptx/code.ts';
import type { Target } from '../ptx/target.ts';
import type { LaunchRecipe, ModuleRecipe } from '../recipe.ts';

/** A kernel and its launch, as `Kit.finish` gives them. */
export interface Part {
  readonly text: string;
  readonly launch: LaunchRecipe;
}

export interface RecipeDetails {
  /** Memory that each run borrows. */
  readonly borrowedBytes?: number;
  /** Memory that is zero at first and stays from run to run. */
  readonly keptBytes?: number;
  /** Alignment of `dyn`, the shared memory whose size the launch gives; 0 if no kernel uses it. */
  readonly dynamicAlign?: number;
  /** What the module declares besides: constants. */
  readonly declarations?: readonly string[];
  /** `a` for instructions that only this very architecture has. */
  readonly suffix?: '' | 'a';
}

export function recipeOf(
  name: string,
  target: Target,
  parts: readonly Part[],
  { borrowedBytes = 0, keptBytes = 0, dynamicAlign = 0, declarations = [], suffix = '' }: RecipeDetails = {},
): ModuleRecipe {
  const dynamic = dynamicAlign > 0 ? [`.extern .shared .align ${dynamicAlign} .b8 dyn[];`] : [];
  return {
    name,
    ptx: moduleText(target, [...dynamic, ...declarations, ...parts.map((p) => p.text)], suffix),
    launches: parts.map((p) => p.launch),
    keptBytes,
    borrowedBytes,
  };
}
