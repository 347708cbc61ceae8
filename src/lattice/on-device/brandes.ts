// Betweenness on a device (Brandes, 2001): many sources at a time as columns, one kernel per level.
//
// Outwards, `paths` counts the shortest paths to each vertex of the next level, `age` how long ago a vertex was reached: 0 not yet, 1
// in the last round. On the way back, vertices of age 1 hand what depends on them to those of age 2, and all grow younger. What is
// handed on in the next round is a field of its own, so that a round is one kernel and need not know its number. Counts are doubles:
// the device needs f64.

import type { Runtime, Tensor } from '../../index.ts';
import type { Neighborhood } from './neighborhood.ts';
import { type Pinned, release, rounds } from './rounds.ts';

export interface BetweennessWork {
  readonly hood: Neighborhood;
  /** Rows of the sources, and how often what each gives is counted. */
  readonly sources: Int32Array;
  readonly times: Float64Array;
  /** Levels, where their number is known. */
  readonly levels?: number | undefined;
  /** Sources at a time. */
  readonly columns: number;
  readonly signal?: AbortSignal | undefined;
}

type Counted = { readonly paths: Tensor; readonly front: Tensor; readonly age: Tensor };
type Handed = { readonly depends: Tensor; readonly share: Tensor; readonly age: Tensor };

/** What depends on each vertex, over all ordered pairs that start at a source; by row. */
export async function deviceDependencies(rt: Runtime, pinned: Pinned, work: BetweennessWork): Promise<Float64Array> {
  const { sources, columns } = work;
  const total = new Float64Array(work.hood.rows);
  for (let from = 0; from < sources.length; from += columns) {
    const part = await ofColumns(rt, pinned, work, from, Math.min(columns, sources.length - from));
    for (let v = 0; v < total.length; v++) total[v] = total[v]! + part[v]!;
  }
  return total;
}

async function ofColumns(
  rt: Runtime,
  pinned: Pinned,
  { hood, sources, times, levels, signal }: BetweennessWork,
  from: number,
  columns: number,
): Promise<Float64Array> {
  const start = pinned((): Counted => {
    const at = rt.tensor(sources.slice(from, from + columns), [columns], { dtype: 'i32' });
    const here = rt.iota([hood.rows, columns], 0).equal(at);
    const [paths, front] = [here.cast('f64').compute(), here.cast('f64').add(0).compute()];
    return { paths, front, age: here.cast('i32').compute() };
  });
  const outwards = ({ paths, front, age }: Counted): Counted => {
    const near = hood.sum(front);
    const open = age.equal(0).logicalAnd(near.greater(0));
    const found = hood.free ? open.logicalAnd(hood.free.notEqual(0)) : open;
    return {
      paths: rt.where(found, near, paths).cast('f64'),
      front: rt.where(found, near, 0).cast('f64'),
      age: rt.where(found.logicalOr(age.greater(0)), age.add(1), 0).cast('i32'),
    };
  };
  const { fields, count } = await rounds(rt, pinned, {
    what: 'betweenness',
    start,
    step: outwards,
    most: levels ?? hood.rows - 1,
    more: levels === undefined ? ({ age }) => age.equal(1).any() : undefined,
    together: hood.together,
    signal,
  });
  const { paths } = fields;
  const inwards = ({ depends, share, age }: Handed): Handed => {
    const through = paths.mul(hood.sum(share));
    const gets = age.equal(2);
    return {
      depends: rt.where(gets, through, depends).cast('f64'),
      share: rt.where(gets, through.add(1).div(paths), 0).cast('f64'),
      age: age.sub(1).cast('i32'),
    };
  };
  try {
    const { fields: back } = await rounds(rt, pinned, {
      what: 'betweenness',
      start: pinned(
        (): Handed => ({
          depends: rt.zeros(paths.shape, { dtype: 'f64' }).compute(),
          share: rt
            .where(fields.age.equal(1), rt.full([], 1, { dtype: 'f64' }).div(paths), 0)
            .cast('f64')
            .compute(),
          age: fields.age.add(0).compute(),
        }),
      ),
      step: inwards,
      // What would go to the source itself is not counted.
      most: count - 1,
      together: hood.together,
      signal,
    });
    const sum = pinned(() => {
      const by = rt.tensor(times.slice(from, from + columns), [columns], { dtype: 'f64' });
      return back.depends.mul(by).sum({ axis: 1 }).compute();
    });
    release(back);
    const values = (await sum.data({ signal })) as Float64Array;
    sum.dispose();
    return values;
  } finally {
    release(fields);
  }
}
