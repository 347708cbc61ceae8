// Kernels without a reduction: one invocation per output element, or per four of them.
//
// Four at a time wherever the innermost axis allows aligned groups, and always where bytes are stored, since an
// invocation must own the words it writes. Past the end of the last group lanes compute on whatever lies in the padding
// of the buffers; what they store stays in the padding.

import { sizeOf } from '../../../base/shape.ts';
import { inBlocks } from '../../../kernel/blocks.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, type Together } from '../../../kernel/together.ts';
import type { Pass, Traits } from '../plan.ts';
import { bindBuffers, type InPlace } from './buffers.ts';
import { ExpressionWriter, WgslScope } from './expressions.ts';
import { gridOf, unravel } from './grid.ts';
import { Lanes } from './lanes.ts';
import { Module } from './module.ts';
import { isPacked, type Width } from './types.ts';

/** How the elements of an output space are dealt to invocations. */
export interface Deal {
  readonly width: Width;
  /** The axis that lanes lie along; null when they straddle rows. */
  readonly axis: number | null;
}

/** Four along the last axis that moves if groups never cross its end; straddling only if words must be owned. */
export function dealSpace(space: readonly number[], mustOwnWords: boolean): Deal {
  const moving = space.map((_, i) => i).filter((i) => space[i]! > 1);
  const last = moving[moving.length - 1] ?? Math.max(space.length - 1, 0);
  if (space.length > 0 && (moving.length <= 1 || space[last]! % 4 === 0)) {
    if (moving.length > 0 || mustOwnWords) return { width: 4, axis: last };
  }
  return mustOwnWords ? { width: 4, axis: null } : { width: 1, axis: null };
}

/** Position names of the output axes: `p` at lane 0, `q` for all lanes. */
export function outputPositions(
  space: readonly number[],
  deal: Deal,
  linear: string,
): { lines: string[]; wide: string[] } {
  const lines = unravel(linear, space, (d) => `p${d}`);
  if (deal.width === 1) return { lines, wide: [] };
  if (deal.axis !== null) {
    const only = space[deal.axis]! > 1;
    return { lines, wide: only ? [`let q${deal.axis} = vec4<i32>(p${deal.axis}) + vec4<i32>(0i, 1i, 2i, 3i);`] : [] };
  }
  const wide = [`let q = vec4<u32>(${linear}) + vec4<u32>(0u, 1u, 2u, 3u);`];
  let rest = 'q';
  for (let d = space.length - 1; d >= 0; d--) {
    if (space[d] === 1) continue;
    wide.push(`let q${d} = vec4<i32>(${rest} % vec4<u32>(${space[d]}u));`);
    wide.push(`let q${d}_rest = ${rest} / vec4<u32>(${space[d]}u);`);
    rest = `q${d}_rest`;
  }
  return { lines, wide };
}

export function renderElementwise(given: Kernel, traits: Traits, inPlace: InPlace): Pass {
  const mustOwnWords = given.outputs.some((o) => isPacked(o.type));
  const near = blocksOf(given, mustOwnWords);
  const { kernel } = near;
  const deal = dealSpace(kernel.space, mustOwnWords);
  const module = new Module(traits, kernel.scalars);
  const elements = sizeOf(given.space);
  const outputs = given.outputs.map((o) => ({ param: { type: o.type, elements }, vector: deal.width === 4 }));
  if (deal.width === 4) {
    if (near.count === 1) module.quarters.set('at', 'item');
    // The only axis that moves is the position itself.
    const moving = kernel.space.flatMap((n, i) => (n > 1 ? [i] : []));
    if (moving.length === 1) module.quarters.set(`p${moving[0]}`, 'item');
  }
  const buffers = bindBuffers(module, kernel.inputs, outputs, inPlace);
  const lanes = deal.width === 4 ? new Lanes({ axis: deal.axis, space: kernel.space, accumulators: false }) : null;
  const writer = new ExpressionWriter(
    module,
    lanes,
    {
      axis: (axis, width) => (width === 4 ? `q${axis}` : `p${axis}`),
      acc: () => {
        throw new Error(`webgpu: ${kernel.name} reads an accumulator without a reduction`);
      },
      input: buffers.input,
    },
    kernel.outputs.map((o) => o.value),
  );
  const scope = new WgslScope();
  // All values first: an output may overwrite an input that another output still reads.
  const values = kernel.outputs.map((o) => writer.wide(o.value, scope, deal.width));
  const stores = values.map((v, k) => {
    const neighbour = Math.floor(k / given.outputs.length);
    const place = neighbour === 0 ? 'at' : `at + ${near.offsets[neighbour]!}`;
    return buffers.outputs[k % given.outputs.length]!.store(place, v, deal.width);
  });
  const items = Math.ceil(sizeOf(kernel.space) / deal.width);
  // Software adapters also pay for threads that do nothing, four at a time.
  const least = traits.cpu ? Math.max(Math.ceil(items / 4), 1) * 4 : 64;
  const size = Math.min(traits.maxInvocations, items <= 64 ? least : 256);
  const grid = gridOf(Math.ceil(items / size), traits);
  const positions = outputPositions(kernel.space, deal, 'start');
  const body = [
    `let item = ${grid.group} * ${size}u + lid;`,
    // Software adapters pay for every branch.
    ...(grid.workgroups[0] * grid.workgroups[1] * size > items ? [`if (item >= ${items}u) { return; }`] : []),
    `let start = item${deal.width === 4 ? ' * 4u' : ''};`,
    `let at = i32(${firstOf(near)});`,
    ...positions.lines,
    ...positions.wide,
    ...scope.lines,
    ...stores,
  ].join('\n');
  return module.pass(kernel.name, [size, 1, 1], grid.workgroups, body);
}

/**
 * Stretches of a block computed together, where four elements of one of them lie side by side; else every element by itself. Stretches are
 * whole numbers of fours: what lies behind the end of one is the beginning of the next.
 */
function blocksOf(kernel: Kernel, mustOwnWords: boolean): Together {
  const blocks = inBlocks(kernel);
  const fits = blocks && blocks.offsets[1]! % 4 === 0 && dealSpace(blocks.kernel.space, mustOwnWords).axis !== null;
  return fits ? blocks : alone(kernel);
}

/** Where the first of the neighbours that are computed together lies in an output. */
const firstOf = ({ count, offsets: [, stride] }: Together): string =>
  stride === undefined ? 'start' : `start + start / ${stride}u * ${(count - 1) * stride}u`;
