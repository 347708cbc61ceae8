// Where sorted elements go: values and their positions, stored together by the pass that knows the positions.
//
// Values that are bytes are fetched by a pass of their own, since nobody but the owner of a word may store a byte of it.

import type { DType } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Estimate } from '../../../kernel/kernel.ts';
import type { Binding, Pass, Traits } from '../plan.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderElementwise } from '../wgsl/elementwise.ts';
import type { BoundBuffer, Module } from '../wgsl/module.ts';
import { isPacked } from '../wgsl/types.ts';

/** Rows of which `count` elements are stored. Buffers of the launch: input, values, positions. */
export interface Ordered {
  readonly name: string;
  readonly type: DType;
  readonly rows: number;
  readonly columns: number;
  readonly count: number;
  readonly estimate: Estimate;
}

export const bindInput = (module: Module, { type }: Ordered): BoundBuffer =>
  module.buffer('input', type, own(0, 'read'));

/** Whether the values are stored with the positions: then the pass reads the input. */
export const storesValues = ({ type }: Ordered): boolean => !isPacked(type);

/** Statements that store result number `i` of `row`: the element that was at `place`. Texts of type u32. */
export function bindResults(
  module: Module,
  r: Ordered,
  input: BoundBuffer | null,
): (row: string, i: string, place: string) => string[] {
  const values = storesValues(r) ? module.buffer('values', r.type, own(1, 'write')) : null;
  const positions = module.buffer('positions', 'i32', own(2, 'write'));
  return (row, i, place) => [
    `let slot = i32(${row} * ${r.count}u + ${i});`,
    `let at = i32(${place});`,
    positions.store('slot', 'at', 1),
    ...(values ? [values.store('slot', input!.at(`i32(${row}) * ${r.columns}i + at`), 1)] : []),
  ];
}

/** The pass that fetches values which are bytes, or none. */
export function fetchPasses(r: Ordered, traits: Traits): Pass[] {
  if (storesValues(r)) return [];
  const b = new Exprs();
  const [row, column] = [b.axis(0, r.rows), b.axis(1, r.count)];
  const times = (e: typeof row, k: number): typeof row => b.alu('mul', e, b.const('index', k));
  const at = b.cast('index', b.load('i32', 0, b.alu('add', times(row, r.count), column)));
  const pass = renderElementwise(
    {
      kind: 'kernel',
      name: `${r.name}_fetch`,
      space: [r.rows, r.count],
      reduced: [],
      accumulators: [],
      outputs: [{ type: r.type, value: b.load(r.type, 1, b.alu('add', times(row, r.columns), at)) }],
      inputs: [
        { type: 'i32', elements: r.rows * r.count },
        { type: r.type, elements: r.rows * r.columns },
      ],
      scalars: [],
      inPlace: [],
      estimate: r.estimate,
    },
    traits,
    nothingInPlace,
  );
  // Kernel buffers: positions, input, values. Launch buffers: input, values, positions.
  const bindings = pass.bindings.map((p) => ({ ...p, index: [2, 0, 1][p.index]! }));
  return [{ ...pass, bindings }];
}

const own = (index: number, access: Binding['access']): Binding => ({ from: 'buffer', index, access });
