// Fused evolution: x ← keep·x; x ← (1 − q)·x + q·blur(x); x ← x + noise, as one expression of the field.
//
// Keeping and blurring are linear, so what is imprinted before them can be added after them, blurred by itself: the kernel reads
// the field and its neighbours once and writes it once.

import type { Tensor } from '../../index.ts';
import type { Blur } from '../settings.ts';
import { type Neighbours, sumOf } from './grid.ts';

/** The weights of a blur along one axis: of the cells beside, and of the cell itself. */
export const blurWeights: Readonly<Record<Blur, readonly [number, number]>> = {
  mean: [1 / 3, 1 / 3],
  separable: [0.25, 0.5],
};

/** The blurred field; `firstAxis` is the first of its three axes of cells. */
export function blurred(x: Tensor, near: Neighbours, blur: Blur, firstAxis: number): Tensor {
  if (blur === 'mean') return near.sumAround(x, firstAxis).mul(1 / 27);
  const around = near.around(x, firstAxis);
  // Neighbours by how many axes lie between: 1/8 at the cell, 1/16, 1/32, 1/64 at the corners.
  const byDistance: Tensor[][] = [[], [], [], []];
  around.forEach((plane, i) => {
    plane.forEach((row, j) => {
      row.forEach((value, k) => {
        byDistance[Math.abs(i - 1) + Math.abs(j - 1) + Math.abs(k - 1)]!.push(value);
      });
    });
  });
  return sumOf(byDistance.map((values, d) => sumOf(values).mul(0.125 / 2 ** d)));
}

export interface EvolutionTerms {
  readonly keep: Tensor | number;
  /** The part of a value that stays at its cell, and the part that the cells around replace; null where nothing spreads. */
  readonly mix: { readonly stays: Tensor | number; readonly comes: Tensor | number } | null;
  readonly blur: Blur;
  /** What is added to the field before it evolves, and the same blurred. */
  readonly imprint?: { readonly plain: Tensor; readonly blurred: Tensor } | undefined;
  readonly noise?: Tensor | undefined;
}

export function evolved(x: Tensor, near: Neighbours, firstAxis: number, terms: EvolutionTerms): Tensor {
  const { keep, mix, blur, imprint, noise } = terms;
  const own = imprint ? x.add(imprint.plain) : x;
  let mixed = own;
  if (mix) {
    const around = blurred(x, near, blur, firstAxis);
    mixed = own.mul(mix.stays).add((imprint ? around.add(imprint.blurred) : around).mul(mix.comes));
  }
  const kept = mixed.mul(keep);
  return noise ? kept.add(noise) : kept;
}
