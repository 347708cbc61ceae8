// Which recipe or library runs a routine.

import type { Matmul, Products, Routine } from '../../../kernel/kernel.ts';
import type { Driver } from '../driver.ts';
import type { Target } from '../ptx/target.ts';
import { type ModuleRecipe, rawRecipe } from '../recipe.ts';
import type { StreamStep } from '../step.ts';
import { attentionRecipe } from './attention/index.ts';
import { CublasLt, type LazyCublasLt } from './cublaslt.ts';
import { fitsInline } from './epilogue.ts';
import { fourierRecipe } from './fourier/index.ts';
import { planFor, planned, resultsPerThread } from './plans.ts';
import { rowsRecipe } from './rows/index.ts';
import { scanRecipe } from './scan.ts';
import { scatterRecipe } from './scatter/index.ts';
import { sortRecipe } from './sort.ts';
import { onTensorCores, tensorRecipe, tensorResultsPerThread } from './tensor.ts';
import { topkRecipe } from './topk.ts';

/** Libraries of the machine that were found and may be used. */
export interface Libraries {
  readonly cublasLt: LazyCublasLt | null;
  /** Small products too. */
  readonly always: boolean;
}

export function openLibraries(driver: Driver, cublas: boolean | 'always'): Libraries {
  return { cublasLt: cublas ? CublasLt.open(driver) : null, always: cublas === 'always' };
}

export interface LibraryProgram {
  readonly source: string;
  readonly steps: readonly StreamStep[];
  readonly borrowedBytes: number;
}

/** Multiplications up to which a product in f32 is small, by its depth. */
const small = [
  { depth: 64, multiplications: 2 ** 31 },
  { depth: 1024, multiplications: 2 ** 29 - 1 },
] as const;

/** A product on Hopper's tensor cores is small up to this depth, as many multiplications, and elements of operands and results. */
const smallOnTensorCores = { depth: 1024, multiplications: 2 ** 30, elements: 2 ** 24 } as const;

/**
 * A product that is done sooner by our own kernel: the library's call keeps the host busy for longer than the device. In f32 larger ones
 * are its own (1000²: 55 µs, by our tiles 62), unless there is little depth (128 products 512 x 64 x 512: 111 µs by our tiles, 146).
 * Of 16-bit ones that are small a call of the library takes the host 10 to 20 µs, of ours 5 to 9 (256 products of 128²: 13.4 µs a call,
 * 7.6; the device 5.6 by both). Not deep ones either, whose sums only the library splits.
 */
export const isSmall = (r: Matmul, target: Target): boolean => {
  const multiplications = r.batch * r.m * r.n * r.k;
  if (r.type === 'f32' && r.precision === 'exact') {
    const limit = small.find((s) => r.k <= s.depth)?.multiplications ?? 0;
    return multiplications <= limit;
  }
  if ((r.type !== 'f16' && r.type !== 'bf16') || target.sm !== 90 || !onTensorCores(r, target)) return false;
  // What has to be repacked first is three launches.
  if ((r.transposeA ? r.m : r.k) % 8 !== 0 || (r.transposeB ? r.k : r.n) % 8 !== 0) return false;
  const elements = r.batchA * r.m * r.k + r.batchB * r.k * r.n + r.batch * r.m * r.n;
  const most = smallOnTensorCores;
  return r.k <= most.depth && multiplications <= most.multiplications && elements <= most.elements;
};

/** A program that a library runs, or null if our own code has to or does it better. */
export function libraryProgram(r: Matmul, libraries: Libraries, target: Target): LibraryProgram | null {
  if (!libraries.always && isSmall(r, target)) return null;
  return libraries.cublasLt?.get()?.program(r) ?? null;
}

/** Whether our own product takes its epilogue along. */
export function takesEpilogue(r: Matmul, target: Target): boolean {
  return fitsInline(r, onTensorCores(r, target) ? tensorResultsPerThread : resultsPerThread(planFor(r, target)));
}

export function matmulRecipe(routine: Matmul, target: Target): ModuleRecipe {
  return tensorRecipe(routine, target) ?? planned(routine, target, planFor(routine, target));
}

/** Each product has the plan, and so the sums, that it has alone. */
const listRecipe = ({ name, count, product }: Products, target: Target): ModuleRecipe =>
  planned({ ...product, name }, target, planFor(product, target), count);

export function routineRecipe(routine: Routine, target: Target): ModuleRecipe {
  switch (routine.op) {
    case 'matmul':
      return matmulRecipe(routine, target);
    case 'attention':
      return attentionRecipe(routine, target);
    case 'products':
      return listRecipe(routine, target);
    case 'sort':
      return sortRecipe(routine, target);
    case 'topk':
      return topkRecipe(routine, target);
    case 'scan':
      return scanRecipe(routine, target);
    case 'scatter':
      return scatterRecipe(routine, target);
    case 'rows':
      return rowsRecipe(routine, target);
    case 'fourier':
      return fourierRecipe(routine, target);
    case 'compact':
      throw new Error(`cuda: ${routine.name}: ${routine.op} is not among the capabilities`);
    case 'raw':
      return rawRecipe(routine);
    default:
      return routine satisfies never;
  }
}
