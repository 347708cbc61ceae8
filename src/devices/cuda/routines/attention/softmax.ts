// The softmax of rows whose scores come step by step: what is known so far of each row, and how new scores change it.
//
// A row's sum and results are relative to the largest score so far; a larger one scales them down. Rows without a finite score
// keep a sum of 0 (or NaN, or ∞), and so become NaN, as the softmax of such rows is.

import type { Kit } from '../kit.ts';

export interface RowState {
  /** The largest score, in units of log₂. */
  readonly top: string;
  /** The sum of the weights that this thread has seen. */
  readonly sum: string;
}

export const newRow = (kit: Kit): RowState => ({
  top: kit.b.def('f', 'mov.f32', '0fFF800000'),
  sum: kit.b.def('f', 'mov.f32', '0f00000000'),
});

/** The result of an operation over the lanes whose numbers differ in the given bits. */
export function acrossLanes(kit: Kit, op: 'max' | 'add', value: string, bits: readonly number[]): string {
  const { b } = kit;
  return bits.reduce((v, bit) => {
    const other = b.def('f', 'mov.b32', b.def('r', 'shfl.sync.bfly.b32', v, bit, '0x1f', '0xffffffff'));
    return b.def('f', op === 'max' ? 'max.f32' : 'add.rn.f32', v, other);
  }, value);
}

const tree = (values: readonly string[], join: (x: string, y: string) => string): string => {
  let level = values;
  while (level.length > 1) {
    const next: string[] = [];
    for (let i = 0; i < level.length; i += 2)
      next.push(i + 1 < level.length ? join(level[i]!, level[i + 1]!) : level[i]!);
    level = next;
  }
  return level[0]!;
};

/** Turns a row's new scores into weights; gives the factor for what was summed up before. `lanes`: bits of lanes that share the row. */
export function addScores(
  kit: Kit,
  { top, sum }: RowState,
  scores: readonly string[],
  lanes: readonly number[],
): { readonly weights: readonly string[]; readonly factor: string } {
  const { b } = kit;
  const here = acrossLanes(
    kit,
    'max',
    tree(scores, (x, y) => b.def('f', 'max.f32', x, y)),
    lanes,
  );
  const largest = b.def('f', 'max.f32', top, here);
  // Infinite ones would make differences NaN where the weight is 0.
  const finite = b.def('p', 'setp.lt.f32', b.def('f', 'abs.f32', largest), '0f7F800000');
  const base = b.def('f', 'selp.f32', largest, '0f00000000', finite);
  const power = (x: string): string => b.def('f', 'ex2.approx.ftz.f32', b.def('f', 'sub.rn.f32', x, base));
  const factor = power(top);
  b.set(top, 'mov.f32', largest);
  const weights = scores.map(power);
  const added = tree(weights, (x, y) => b.def('f', 'add.rn.f32', x, y));
  b.set(sum, 'fma.rn.f32', sum, factor, added);
  return { weights, factor };
}
