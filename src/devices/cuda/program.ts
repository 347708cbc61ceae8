// Programs: recipes made ready on one device, each made once.

import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type { Program } from '../device.ts';
import type { Compiler } from './compile.ts';
import type { Driver } from './driver.ts';
import { stamped } from './ptx/stamps.ts';
import type { ModuleRecipe } from './recipe.ts';
import { KernelStep, type StepHome, type StreamStep } from './step.ts';

/** The steps of a program. Making them loads a module, so they are made when they are first wanted: see `once`. */
export interface ProgramSteps {
  readonly plain: () => readonly StreamStep[];
  /** Those that note when they ran; null if some step is a library's or a user's. */
  readonly stamped: (() => readonly KernelStep[]) | null;
}

export class CudaProgram implements Program {
  readonly name: string;
  readonly source: string;
  readonly make: ProgramSteps;
  readonly borrowedBytes: number;
  readonly cached: boolean;
  /** Bytes each buffer must have, in launch order. */
  readonly needs: readonly number[];

  constructor(
    name: string,
    source: string,
    make: ProgramSteps,
    borrowedBytes: number,
    cached: boolean,
    needs: readonly number[],
  ) {
    this.name = name;
    this.needs = needs;
    this.source = source;
    this.make = make;
    this.borrowedBytes = borrowedBytes;
    this.cached = cached;
  }

  get steps(): readonly StreamStep[] {
    return this.make.plain();
  }
}

/** Memory that a program keeps as long as it is loaded. */
export type Keep = (bytes: number) => number;

export interface BuildContext {
  readonly driver: Driver;
  readonly compiler: Compiler;
  readonly keep: Keep;
  readonly processors: number;
  /** It will be measured: the module with stamps is loaded now, and the other one if it is wanted. Else the other way round. */
  readonly measured: boolean;
}

export function buildProgram(recipe: ModuleRecipe, needs: readonly number[], context: BuildContext): CudaProgram {
  const { driver, compiler, keep } = context;
  const load = (r: ModuleRecipe): readonly KernelStep[] => {
    const module = compiler.load(r.name, r.ptx);
    const home: StepHome = { kept: r.keptBytes > 0 ? keep(r.keptBytes) : 0 };
    compiler.lend(module.handle, home);
    return r.launches.map((l) => new KernelStep(driver, r.name, module.entry(l.entry, l.shared), l, home));
  };
  const make = {
    plain: once(() => load(recipe)),
    stamped: recipe.raw ? null : once(() => load(stamped(recipe, context.processors))),
  };
  const { assembled } = compiler;
  ((context.measured && make.stamped) || make.plain)();
  const cached = compiler.assembled === assembled;
  return new CudaProgram(recipe.name, recipe.ptx, make, recipe.borrowedBytes, cached, needs);
}

/** Calls `make` the first time, and gives what came of it every time. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
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
  new CudaProgram(name, '// nothing to do\n', { plain: () => [], stamped: null }, 0, true, needs);

/** The key of a recipe: its text, how it is launched, and what buffers it is for. */
export const recipeKey = (r: ModuleRecipe, needs: readonly number[]): string =>
  `${needs}\n${JSON.stringify(r.launches)}\n${r.ptx}`;
