// Programs: recipes made ready on one device, each made once.

import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Program } from '../device.ts';
import type { Compiler } from './compile.ts';
import type { Driver } from './driver.ts';
import type { ModuleRecipe } from './recipe.ts';
import { KernelStep, type StepHome, type StreamStep } from './step.ts';

export class CudaProgram implements Program {
  readonly name: string;
  readonly source: string;
  readonly steps: readonly StreamStep[];
  readonly borrowedBytes: number;
  readonly cached: boolean;
  /** Bytes each buffer must have, in launch order. */
  readonly needs: readonly number[];

  constructor(
    name: string,
    source: string,
    steps: readonly StreamStep[],
    borrowedBytes: number,
    cached: boolean,
    needs: readonly number[],
  ) {
    this.name = name;
    this.needs = needs;
    this.source = source;
    this.steps = steps;
    this.borrowedBytes = borrowedBytes;
    this.cached = cached;
  }
}

/** Memory that a program keeps as long as it is loaded. */
export type Keep = (bytes: number) => number;

export function buildProgram(
  driver: Driver,
  compiler: Compiler,
  recipe: ModuleRecipe,
  needs: readonly number[],
  keep: Keep,
): CudaProgram {
  const { assembled } = compiler;
  const module = compiler.load(recipe.name, recipe.ptx);
  const home: StepHome = { kept: recipe.keptBytes > 0 ? keep(recipe.keptBytes) : 0 };
  compiler.lend(module.handle, home);
  const steps = recipe.launches.map(
    (l) => new KernelStep(driver, recipe.name, module.entry(l.entry, l.shared), l, home),
  );
  return new CudaProgram(recipe.name, recipe.ptx, steps, recipe.borrowedBytes, compiler.assembled === assembled, needs);
}

/** Programs found by their text: those used last. What is dropped stays loaded as long as somebody holds it. */
const mostPrograms = 2048;

/**
 * Programs by identity of the work, then by what they are made from: equal kernels give equal text, and comparing text
 * is comparing structure.
 */
export class ProgramCache {
  readonly #byWork = new WeakMap<Kernel | Routine, CudaProgram>();
  readonly #byKey = new Map<string, CudaProgram>();
  readonly #most: number;

  constructor(most = mostPrograms) {
    this.#most = most;
  }

  get(work: Kernel | Routine): CudaProgram | undefined {
    return this.#byWork.get(work);
  }

  find(work: Kernel | Routine, key: string, make: () => CudaProgram): CudaProgram {
    let program = this.#byKey.get(key);
    // Last in the map is used last.
    if (program) this.#byKey.delete(key);
    else program = make();
    this.#byKey.set(key, program);
    if (this.#byKey.size > this.#most) this.#byKey.delete(this.#byKey.keys().next().value!);
    this.#byWork.set(work, program);
    return program;
  }

  get size(): number {
    return this.#byKey.size;
  }
}

/** Work that writes nothing: there is nothing to launch. */
export const nothing = (name: string, needs: readonly number[]): CudaProgram =>
  new CudaProgram(name, '// nothing to do\n', [], 0, true, needs);

/** The key of a recipe: its text, how it is launched, and what buffers it is for. */
export const recipeKey = (r: ModuleRecipe, needs: readonly number[]): string =>
  `${needs}\n${JSON.stringify(r.launches)}\n${r.ptx}`;
