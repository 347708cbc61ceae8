// What happens to scores before the softmax: a scale, a mask, any elementwise function, in units of log₂ so that weights are powers of 2.
//
// A plain scale is one multiplication. Everything else is evaluated at each score's own place; places beyond the matrix, in the
// last tiles, read what is at its edge and are set to −∞ afterwards.

import type { Expr } from '../../../../kernel/expr.ts';
import type { Attention } from '../../../../kernel/kernel.ts';
import { PtxScope } from '../../ptx/scope.ts';
import { f32Literal } from '../../ptx/types.ts';
import { dependencies } from '../../ptx/values.ts';
import type { Kit } from '../kit.ts';

const log2e = f32Literal(Math.LOG2E);

/** Changes scores of one row: registers of neighbouring keys, from column on. */
export type ScoreRow = (column: string, offset: number, scores: readonly string[]) => string[];

export interface Scores {
  /** The function for the scores of a row. */
  row(row: string): ScoreRow;
}

/** The factor of a function that only scales, or null. */
function factorOf({ output: { value } }: Attention['scores']): Expr | 'one' | null {
  if (value.kind === 'acc') return 'one';
  if (value.kind !== 'alu' || value.op !== 'mul') return null;
  const [x, y] = value.src as [Expr, Expr];
  const factor = x.kind === 'acc' ? y : y.kind === 'acc' ? x : null;
  return factor && dependencies(factor).size === 0 ? factor : null;
}

/** Binds the parameters of the function; called before the first loop. */
export function scoresOf(kit: Kit, r: Attention, batch: string): Scores {
  const { b } = kit;
  const { scores } = r;
  const inputs = scores.inputs.map((_, i) => kit.pointer({ kind: 'buffer', index: 3 + i }));
  const scalars = scores.scalars.map((type, index) => kit.scalar({ kind: 'scalar', index, type }));
  const bindings = { inputs, scalars, readOnly: inputs.map(() => true), bits: 64 as const };
  const root = PtxScope.root(kit.entry, bindings);
  const factor = factorOf(scores);
  if (factor) {
    const by = factor === 'one' ? log2e : b.def('f', 'mul.rn.f32', root.value(factor), log2e);
    return { row: () => (_column, _offset, values) => values.map((s) => b.def('f', 'mul.rn.f32', s, by)) };
  }
  const paired = r.keys % 2 === 0;
  return {
    row: (row) => {
      const last = b.def('r', 'min.u32', row, r.queries - 1);
      const axes = new Map([
        [0, batch],
        [1, kit.wide(last)],
      ]);
      const scope = PtxScope.root(kit.entry, bindings).extend({ axes });
      return (column, offset, values) => {
        const width = paired ? 2 : 1;
        const made: string[] = [];
        for (let i = 0; i < values.length; i += width) {
          const at = b.def('r', 'min.u32', b.def('r', 'add.u32', column, offset + i), r.keys - width);
          const here = scope.extend({
            axes: new Map([[2, kit.wide(at)]]),
            accumulators: [values.slice(i, i + width)],
            width,
            laneAxis: width > 1 ? 2 : -1,
          });
          const found = here.values(scores.output.value);
          for (let l = 0; l < width; l++) made.push(b.def('f', 'mul.rn.f32', found[l] ?? found[0]!, log2e));
        }
        return made;
      };
    },
  };
}
