// Which keys a workgroup goes through: all, or where queries see no key behind their own, no more than its own queries see.
//
// Keys are passed over only if all values are finite: 0 times one that is not is NaN. A pass before looks for those.

import { bandOf } from '../../../kernel/band.ts';
import type { Attention } from '../../../kernel/kernel.ts';
import type { Pass, Traits } from '../plan.ts';
import { ExpressionWriter, type Names, WgslScope } from '../wgsl/expressions.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';

/** Workgroups, and flags, of each matrix of values. */
const parts = 8;
const mostThreads = 256;

export const flagBytes = (r: Attention): number => r.batchV * parts * 4;

/** Sets a flag for each part of the values with something in it that is not finite. */
export function finitePass(r: Attention, traits: Traits): Pass {
  const module = new Module(traits);
  const threads = Math.min(mostThreads, traits.maxInvocations);
  const values = module.buffer(
    'v',
    r.type,
    { from: 'buffer', index: 2, access: 'read' },
    true,
    r.batchV * r.keys * r.width,
  );
  module.words('flags', { from: 'scratch', index: 0, access: 'write' });
  module.global('var<workgroup> found: atomic<u32>;');
  const groups = r.batchV * parts;
  const grid = gridOf(groups, traits);
  const vectors = (r.keys * r.width) / 4;
  const body = [
    `let group = ${grid.group};`,
    `if (group >= ${groups}u) { return; }`,
    'var bad = vec4<bool>(false);',
    `for (var i = (group % ${parts}u) * ${threads}u + lid; i < ${vectors}u; i += ${parts * threads}u) {`,
    `let bits = bitcast<vec4<u32>>(vec4<f32>(${values.four(`i32((group / ${parts}u * ${vectors}u + i) * 4u)`)}));`,
    'bad = bad | ((bits & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u));',
    '}',
    'if (any(bad)) { atomicStore(&found, 1u); }',
    'workgroupBarrier();',
    'if (lid == 0u) { flags[group] = atomicLoad(&found); }',
  ].join('\n');
  return module.pass(`${r.name}_finite`, [threads, 1, 1], grid.workgroups, body);
}

export interface KeyRange {
  /** Statements that make `end`: the key, a multiple of a step's `keys`, at which a workgroup with `queries` from `top` on ends. */
  readonly end: (top: string, queries: number, keys: number) => string[];
}

/** Declares what that takes; null where every query sees every key, or none can tell which. */
export function keyRange(module: Module, { scores, keys: count, batchV }: Attention, names: Names): KeyRange | null {
  const band = bandOf(scores.output.value);
  if (!band) return null;
  const fixed = new WgslScope();
  const hidden = new ExpressionWriter(module, null, names, [band.hidden]).value(band.hidden, fixed);
  module.words('flags', { from: 'scratch', index: 0, access: 'read' });
  // Only weights of 0 change nothing.
  module.global(
    ['fn hides() -> bool {', ...fixed.lines, `return bitcast<u32>(${hidden}) == 0xff800000u;`, '}'].join('\n'),
  );
  module.global('var<workgroup> last: u32;');
  return {
    end: (top, queries, keys) => {
      const all = Math.ceil(count / keys) * keys;
      const matrix = batchV === 1 ? '0u' : 'u32(batch)';
      const farthest = `max(${top} + ${queries - 1 + band.reach}, 0)`;
      return [
        'if (lid == 0u) {',
        'var finite = hides();',
        `for (var i = 0u; i < ${parts}u; i++) { finite = finite && flags[${matrix} * ${parts}u + i] == 0u; }`,
        `last = select(${all}u, u32(min(${farthest} / ${keys} * ${keys} + ${keys}, ${all})), finite);`,
        '}',
        'let end = i32(workgroupUniformLoad(&last));',
      ];
    },
  };
}
