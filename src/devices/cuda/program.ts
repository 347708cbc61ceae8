// Programs: recipes made ready on one device, each made once.

import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Program } from '../device.ts';
import type { Compiler } from './compile.ts';
import type { Driver } from './driver.ts';
import type { ModuleRecipe } from './recipe.ts';
import { KernelStep, type StreamStep } from './step.ts';

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

/** Memory that lives as long as the device. */
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
  const kept = recipe.keptBytes > 0 ? keep(recipe.keptBytes) : 0;
  const steps = recipe.launches.map(
    (l) => new KernelStep(driver, recipe.name, module.entry(l.entry, l.shared), l, kept),
  );
  return new CudaProgram(recipe.name, recipe.ptx, steps, recipe.borrowedBytes, compiler.assembled === assembled, needs);
}

/**
 * Programs by identity of the work, then by what they are made from: equal kernels give equal text, and comparing text
 * is comparing structure.
 */
export class ProgramCache {
  readonly #byWork = new WeakMap<Kernel | Routine, CudaProgram>();
  readonly #byKey = new Map<string, CudaProgram>();

  get(work: Kernel | Routine): CudaProgram | undefined {
    return this.#byWork.get(work);
  }

  find(work: Kernel | Routine, key: string, make: () => CudaProgram): CudaProgram {
    let program = this.#byKey.get(key);
    if (!program) this.#byKey.set(key, (program = make()));
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
