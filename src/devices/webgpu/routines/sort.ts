// Stable sort of rows, NaN last in either direction: keys whose order as u32 is the order of the values, sorted with
// their positions, and the values fetched at the end, so that NaN and -0 come out as they went in.

import type { DType } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Sort } from '../../../kernel/kernel.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderElementwise } from '../wgsl/elementwise.ts';
import { Module } from '../wgsl/module.ts';
import { heldAs } from '../wgsl/types.ts';
import { pairBytes, sortPairs } from './sort-core.ts';

const floatKey = (x: string): string => `let bits = bitcast<u32>(${x});
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
  let b = select(bits, 0u, (bits & 0x7fffffffu) == 0u);
  let key = select(b | 0x80000000u, ~b, (b >> 31u) == 1u);`;

/** Statements that make `key` of the element `x`. */
const keys: Readonly<Partial<Record<DType, string>>> = {
  f32: floatKey('x'),
  f16: floatKey('f32(x)'),
  i32: 'let key = bitcast<u32>(x) ^ 0x80000000u;',
  u32: 'let key = x;',
  u8: 'let key = x;',
  bool: 'let key = u32(x);',
};

/** A function `key_of` of elements. */
export const keyFunction = (type: DType, descending: boolean): string =>
  `fn key_of(x: ${heldAs(type).value}) -> u32 {\n  ${keys[type]}\n  return ${descending ? '~key' : 'key'};\n}`;

export function renderSort(w: Sort, traits: Traits): PassPlan {
  const source = (): Module => {
    const module = new Module(traits);
    const input = module.buffer('input', w.type, { from: 'buffer', index: 0, access: 'read' });
    const at = input.at(`i32(row * ${w.columns}u + column)`);
    module.global(keyFunction(w.type, w.descending));
    module.global(`fn key_at(row: u32, column: u32) -> u32 { return key_of(${at}); }`);
    return module;
  };
  const sorted = sortPairs(w, source, 0, traits, () => new Module(traits));
  return {
    name: w.name,
    passes: [...sorted.passes, fetchPass(w, sorted.result, traits)],
    scratch: [pairBytes(w), pairBytes(w)],
    scalars: [],
    buffers: 3,
    firstOutput: 1,
  };
}

/** Values and positions from the sorted pairs: an elementwise kernel over (pairs as u32, input). */
function fetchPass(w: Sort, result: number, traits: Traits): Pass {
  const b = new Exprs();
  const total = w.rows * w.columns;
  const [row, column] = [b.axis(0, w.rows), b.axis(1, w.columns)];
  const times = (e: typeof row, k: number): typeof row => b.alu('mul', e, b.const('index', k));
  const own = b.alu('add', times(row, w.columns), column);
  const at = b.load('u32', 0, b.alu('add', times(own, 2), b.const('index', 1)));
  const value = b.load(w.type, 1, b.alu('add', times(row, w.columns), b.cast('index', at)));
  const pass = renderElementwise(
    {
      kind: 'kernel',
      name: `${w.name}_fetch`,
      space: [w.rows, w.columns],
      reduced: [],
      accumulators: [],
      outputs: [
        { type: w.type, value },
        { type: 'i32', value: b.cast('i32', at) },
      ],
      inputs: [
        { type: 'u32', elements: 2 * total },
        { type: w.type, elements: total },
      ],
      scalars: [],
      inPlace: [],
      estimate: w.estimate,
    },
    traits,
    nothingInPlace,
  );
  // Kernel buffers: pairs, input, values, positions. Launch buffers: input, values, positions.
  const bindings = pass.bindings.map((p) =>
    p.index === 0 ? ({ from: 'scratch', index: result, access: 'read' } as const) : { ...p, index: p.index - 1 },
  );
  return { ...pass, bindings };
}
