// What happens to scores before the softmax: a scale, a mask, any elementwise function, in units of log₂ so that weights are powers of 2.
//
// A plain scale is one multiplication; a causal one beside it costs something only where a tile has keys of both kinds. Everything else
// is evaluated at each score's own place; places beyond the matrix, in the last tiles, read what is at its edge.

import { bandOf } from '../../../../kernel/band.ts';
import type { Expr } from '../../../../kernel/expr.ts';
import type { Attention } from '../../../../kernel/kernel.ts';
import { PtxScope } from '../../ptx/scope.ts';
import { indexBitsFor } from '../../ptx/shape.ts';
import { f32Literal } from '../../ptx/types.ts';
import { dependencies, reachable } from '../../ptx/values.ts';
import type { Kit } from '../kit.ts';

const log2e = f32Literal(Math.LOG2E);
const nothing = '0fFF800000';

/** Changes scores of one row: registers of neighbouring keys, from column plus offset on. */
export type ScoreRow = (column: string, offset: number, scores: readonly string[]) => string[];

/** A score in a register, with its row and its column plus offset. */
export interface Cell {
  readonly row: string;
  readonly column: string;
  readonly offset: number;
  readonly score: string;
}

export interface Scores {
  /** The function for the scores of a row, without what `hide` does. */
  row(row: string): ScoreRow;
  /** Sets scores that do not count: of keys that a query does not see, and of those beyond the last. */
  hide(tile: { readonly row0: string; readonly first: string; readonly keys: number }, cells: readonly Cell[]): void;
  /** Behind which key, a multiple of `keys`, no query of a tile sees one; null if all are looked at. */
  readonly end: ((row0: string, rows: number, keys: number) => string) | null;
}

/** The factor of a function that only scales, or null. */
function factorOf(value: Expr): Expr | 'one' | null {
  if (value.kind === 'acc') return 'one';
  if (value.kind !== 'alu' || value.op !== 'mul') return null;
  const [x, y] = value.src as [Expr, Expr];
  const factor = x.kind === 'acc' ? y : y.kind === 'acc' ? x : null;
  return factor && dependencies(factor).size === 0 && factor.kind !== 'load' ? factor : null;
}

/** Binds the parameters of the function; called before the first loop. */
export function scoresOf(kit: Kit, r: Attention, batch: string): Scores {
  const { b } = kit;
  const { scores } = r;
  const { value } = scores.output;
  const space = [r.batch, r.queries, r.keys];
  const bits = indexBitsFor({ inputs: scores.inputs, space, reduced: [] }, reachable([value]));
  const inputs = scores.inputs.map((_, i) => kit.pointer({ kind: 'buffer', index: 3 + i }));
  const scalars = scores.scalars.map((type, index) => kit.scalar({ kind: 'scalar', index, type }));
  const bindings = { inputs, scalars, readOnly: inputs.map(() => true), bits };
  const root = PtxScope.root(kit.entry, bindings);
  const band = bandOf(value);
  const factor = factorOf(band?.seen ?? value);
  const inLog2 = (e: Expr): string => b.def('f', 'mul.rn.f32', root.value(e), log2e);
  const hidden = band && factor ? inLog2(band.hidden) : null;
  const beyond = (column: string, first: string, keys: number, cells: readonly Cell[]): void => {
    kit.when(b.def('p', 'setp.gt.u32', b.def('r', 'add.u32', first, keys), r.keys), () => {
      for (const { offset, score } of cells) {
        const outside = b.def('p', 'setp.ge.u32', b.def('r', 'add.u32', column, offset), r.keys);
        b.set(score, 'selp.f32', nothing, score, outside);
      }
    });
  };
  const hide: Scores['hide'] = ({ row0, first, keys }, cells) => {
    if (hidden) {
      const { reach } = band!;
      const last = b.def('r', 'add.s32', first, keys - 1 - reach);
      kit.when(b.def('p', 'setp.gt.s32', last, row0), () => {
        for (const { row, column, offset, score } of cells) {
          const unseen = b.def('p', 'setp.gt.s32', b.def('r', 'add.s32', column, offset - reach), row);
          b.set(score, 'selp.f32', hidden, score, unseen);
        }
      });
    }
    if (r.keys % keys !== 0 && cells.length > 0) beyond(cells[0]!.column, first, keys, cells);
  };
  if (factor) {
    const by = factor === 'one' ? log2e : inLog2(factor);
    const end: Scores['end'] = (row0, rows, keys) => {
      const all = Math.ceil(r.keys / keys) * keys;
      // Behind the tile of the last query's last key; the first tile is looked at in any case.
      const last = b.def('r', 'max.s32', b.def('r', 'add.s32', row0, rows - 1 + band!.reach), 0);
      const behind = b.def('r', 'mad.lo.s32', b.def('r', 'div.s32', last, keys), keys, keys);
      const limited = b.def('r', 'min.s32', behind, all);
      // Only weights of 0 change nothing.
      return b.def('r', 'selp.b32', limited, all, b.def('p', 'setp.eq.f32', hidden!, nothing));
    };
    return {
      row: () => (_column, _offset, values) => values.map((s) => b.def('f', 'mul.rn.f32', s, by)),
      hide,
      end: hidden ? end : null,
    };
  }
  const position = (register: string): string => (bits === 32 ? register : kit.wide(register));
  const axis0 = bits === 32 ? b.def('r', 'cvt.u32.u64', batch) : batch;
  return {
    row: (row) => {
      const last = position(b.def('r', 'min.u32', row, r.queries - 1));
      const axes = new Map([
        [0, axis0],
        [1, last],
      ]);
      const scope = PtxScope.root(kit.entry, bindings).extend({ axes });
      return (column, offset, values) => {
        // Two neighbours at once where they never lie on both sides of the edge.
        const width = r.keys % 2 === 0 && values.length % 2 === 0 ? 2 : 1;
        const made: string[] = [];
        for (let i = 0; i < values.length; i += width) {
          const at = b.def('r', 'min.u32', b.def('r', 'add.u32', column, offset + i), r.keys - width);
          const here = scope.extend({
            axes: new Map([[2, position(at)]]),
            accumulators: [values.slice(i, i + width)],
            width,
            laneAxis: width > 1 ? 2 : -1,
          });
          const found = here.values(value);
          for (let l = 0; l < width; l++) made.push(b.def('f', 'mul.rn.f32', found[l] ?? found[0]!, log2e));
        }
        return made;
      };
    },
    hide,
    end: null,
  };
}
