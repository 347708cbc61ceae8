// What follows a matrix product: rendered in front of the product's own stores, or as a kernel of its own behind it.
//
// In front of the stores it costs no memory traffic, but its code is repeated for every result that a thread holds, so long
// expressions stand apart. So do all of them behind a library's product.

import { byteSize } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { collapse } from '../../../kernel/collapse.ts';
import { estimateKernel } from '../../../kernel/estimate.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Epilogue, Kernel, Matmul } from '../../../kernel/kernel.ts';
import { rewriter } from '../../../kernel/rewrite.ts';
import { emitStore } from '../ptx/memory.ts';
import { PtxScope } from '../ptx/scope.ts';
import { reachable } from '../ptx/values.ts';
import type { Argument } from '../step.ts';
import type { Kit } from './kit.ts';

/** Instructions that one thread's results may take before the epilogue stands apart. */
const mostOperations = 12_000;

/** Whether the epilogue is short enough to be repeated for each of a thread's results. */
export const fitsInline = (r: Matmul, resultsPerThread: number): boolean =>
  !r.epilogue || reachable([r.epilogue.output.value]).length * resultsPerThread <= mostOperations;

/** Launch buffers are A, B, the epilogue's inputs, C. */
export const outputIndex = (r: Matmul): number => 2 + (r.epilogue?.inputs.length ?? 0);

export const outputType = (r: Matmul): Matmul['type'] => r.epilogue?.output.type ?? r.type;

/** A place in C: batch, row and column as 64-bit registers. */
export type TilePosition = readonly [batch: string, row: string, column: string];

/**
 * Binds the epilogue's parameters to the kernel; the function it gives back emits the epilogue of neighbouring results
 * (values of the product's type) and their store. Each use stands for itself: it may be in a branch.
 */
export function inlineEpilogue(kit: Kit, epilogue: Epilogue) {
  const inputs = epilogue.inputs.map((_, i) => kit.pointer({ kind: 'buffer', index: 2 + i }));
  const scalars = epilogue.scalars.map((type, index) => kit.scalar({ kind: 'scalar', index, type }));
  const bindings = { inputs, scalars, readOnly: inputs.map(() => true), bits: 64 as const };
  return ([batch, row, column]: TilePosition, products: readonly string[], address: string): void => {
    const width = products.length;
    const scope = PtxScope.root(kit.entry, bindings).extend({
      axes: new Map([batch, row, column].map((position, axis) => [axis, position])),
      accumulators: [products],
      width,
      laneAxis: width > 1 ? 2 : -1,
    });
    emitStore(scope, epilogue.output.type, scope.values(epilogue.output.value), width, address, 0);
  };
}

/** The product alone, and its epilogue as a kernel: inputs are the product, then the epilogue's own. */
export interface Apart {
  readonly product: Matmul;
  readonly kernel: Kernel;
  /** The product may be written where the result goes. */
  readonly inPlace: boolean;
}

export function apart(r: Matmul, epilogue: Epilogue): Apart {
  const space = [r.batch, r.m, r.n];
  const b = new Exprs();
  const here = space.reduce(
    (sum, size, axis) => b.alu('add', b.alu('mul', sum, b.const('index', size)), b.axis(axis, size)),
    b.const('index', 0) as ReturnType<Exprs['alu']>,
  );
  const value = rewriter(b, (e, copy) => {
    if (e.kind === 'acc') return b.load(e.type, 0, here, null);
    if (e.kind === 'load') return b.load(e.type, e.slot + 1, copy(e.index), e.gate && copy(e.gate));
    return undefined;
  })(epilogue.output.value);
  const nest = collapse({ space, reduced: [] }, [value, here]);
  const { type } = epilogue.output;
  const inPlace = byteSize(r.type) === byteSize(type);
  const body = {
    space: nest.space,
    reduced: [],
    accumulators: [],
    outputs: [{ type, value: nest.rewrite(value) }],
    inputs: [{ type: r.type, elements: sizeOf(space) }, ...epilogue.inputs],
    scalars: epilogue.scalars,
    inPlace: inPlace ? [0] : [],
  };
  const kernel: Kernel = { kind: 'kernel', name: `${r.name}_behind`, ...body, estimate: estimateKernel(body) };
  return { product: { ...r, epilogue: null }, kernel, inPlace };
}

/** Arguments of a launch with other buffers. */
export const rebind = (args: readonly Argument[], to: (index: number) => Argument): Argument[] =>
  args.map((a) => (a.kind === 'buffer' ? to(a.index) : a));
