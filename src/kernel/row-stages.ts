// What renderers ask of a stack of rows: its stages in one language, where what two of them have in common is one expression and is
// computed once; which of its loads are whole rows; and how those lie in memory.

import { axesOf } from './bounds.ts';
import { type Expr, Exprs, type Load } from './expr.ts';
import type { Accumulator, Kernel, Output, Rows } from './kernel.ts';
import { rewriter } from './rewrite.ts';
import { isColumnLoad, isElementLoad, isFlat, loadsOf } from './rows.ts';
import { below } from './walk.ts';

/** A stage whose expressions share one builder with those of the others: results of rows are accumulators, buffers the launch's. */
export interface Stage {
  readonly accumulators: readonly Accumulator[];
  readonly outputs: readonly Output[];
  readonly stored: readonly number[];
  /** The number of its first own accumulator: those below are results. */
  readonly own: number;
}

/** A stage's own accumulators come after all results. */
export function inOneLanguage({ stages }: Rows): Stage[] {
  const b = new Exprs();
  const results = stages.reduce((n, { kernel }) => n + (kernel.accumulators.length > 0 ? kernel.outputs.length : 0), 0);
  return stages.map(({ kernel, sources, stored, scalars }) => {
    const copy = rewriter(b, (e, again) => {
      if (e.kind === 'scalar') return b.scalar(e.type, scalars[e.slot]!);
      if (e.kind === 'acc') return b.acc(e.type, results + e.slot);
      if (e.kind !== 'load') return undefined;
      const source = sources[e.slot]!;
      if ('result' in source) return b.acc(e.type, source.result);
      return b.load(e.type, source.buffer, again(e.index), e.gate && again(e.gate));
    });
    const rewrite = <T extends { readonly value: Expr }>(o: T): T => ({ ...o, value: copy(o.value) });
    return {
      accumulators: kernel.accumulators.map(rewrite),
      outputs: kernel.outputs.map(rewrite),
      stored,
      own: results,
    };
  });
}

const loadsIn = (stages: readonly Stage[]): Load[] => {
  const values = stages.flatMap((s) => [...s.accumulators, ...s.outputs].map((o) => o.value));
  return [...below(values)].filter((e): e is Load => e.kind === 'load');
};

/** Operands of whole rows. `columns`: the first kernel, where rows lie side by side. */
export const elementLoads = (stages: readonly Stage[], sizes: readonly number[], columns: Kernel | null): Load[] =>
  loadsIn(stages).filter((e) => (columns ? isColumnLoad(e, columns) : e.gate === null && isFlat(e.index, sizes)));

/** Operands that are the same for every row: their axes are those of elements, from `first` on. */
export const sharedLoads = (stages: readonly Stage[], first: number): Load[] =>
  loadsIn(stages).filter((e) => {
    const axes = [...axesOf(e)];
    return axes.length > 0 && axes.every((axis) => axis >= first);
  });

/** Whether what is held of rows lies in columns: rows are side by side. */
export function isTurned({ stages }: Rows): boolean {
  const all = stages.flatMap(({ kernel }) => loadsOf(kernel).map((load) => ({ load, kernel })));
  return !all.some((l) => isElementLoad(l.load, l.kernel)) && all.some((l) => isColumnLoad(l.load, l.kernel));
}

/** The size of the axis whose elements lie side by side. */
export const innermost = ({ space, reduced }: Kernel): number =>
  [...space, ...reduced].reduce((n, d) => (d === 1 ? n : d), 1);
