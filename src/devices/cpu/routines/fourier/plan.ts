// The stages of a transform, and the roots of unity that they read.
//
// Stockham's form (see Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992): each stage reads one array and writes
// another, and the last one leaves all frequencies in order. Before a stage of radix r there are r·m rows of s values:
//   out[(p·r + k)·s + q] = root(r·m)^(p·k) · Σ_j in[(j·m + p)·s + q] · root(r)^(j·k)

import { largestRadix } from '../../../../kernel/fourier.ts';
import { rootOf } from '../../../../kernel/unit-roots.ts';
import { type FourierType, vectorLanes } from './arithmetic.ts';

export interface Stage {
  readonly radix: number;
  readonly m: number;
  readonly s: number;
  /** `across`: vectors of neighbouring p, whose roots differ; `along`: of neighbouring q, which share them; `single`: one value at a time. */
  readonly loop: 'across' | 'along' | 'single';
  /** Where its roots begin in the table, in elements. */
  readonly roots: number;
}

export interface TransformPlan {
  readonly length: number;
  readonly stages: readonly Stage[];
  /** Of each pair: the cosine and the sine, in elements of the table. */
  readonly roots: readonly number[];
}

/** Fours first: their results are stored in vectors, and every later stage then has whole vectors side by side. */
function radicesOf(length: number): number[] {
  const found: number[] = [];
  let rest = length;
  for (const r of [4, 2, ...Array.from({ length: largestRadix - 2 }, (_, i) => i + 3)])
    while (rest % r === 0 && rest > 1) {
      found.push(r);
      rest /= r;
    }
  return found;
}

export function planTransform(length: number, type: FourierType): TransformPlan {
  const lanes = vectorLanes(type);
  const roots: number[] = [];
  const stages: Stage[] = [];
  let [rest, s] = [length, 1];
  for (const radix of radicesOf(length)) {
    const m = rest / radix;
    const loop = s === 1 && m >= lanes ? 'across' : s >= lanes ? 'along' : 'single';
    stages.push({ radix, m, s, loop, roots: roots.length });
    if (m > 1) pushRoots(roots, radix, m, loop === 'across');
    [rest, s] = [m, s * radix];
  }
  return { length, stages, roots };
}

/** root(r·m)^(p·k) for k = 1 … r-1: planes over p where vectors of them are read, else side by side for each p. */
function pushRoots(into: number[], radix: number, m: number, planes: boolean): void {
  const n = radix * m;
  const at = (p: number, k: number): readonly [number, number] => rootOf(p * k, n);
  if (planes) {
    for (let k = 1; k < radix; k++)
      for (const part of [0, 1] as const) for (let p = 0; p < m; p++) into.push(at(p, k)[part]);
    return;
  }
  for (let p = 0; p < m; p++) for (let k = 1; k < radix; k++) into.push(...at(p, k));
}
