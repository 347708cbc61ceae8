// Elementwise work that a matrix product does on its way out: bias, activation, residual.
//
// A kernel becomes the epilogue of the matmul it reads if nobody else reads that product, no tensor holds it (a later read would
// have to multiply again), the kernel has one result of the same size, and it needs every element of the product at
// that element's own place. Whatever else the kernel reads becomes an input of the routine.

import { sizeOf, stridesOf } from '../base/shape.ts';
import { costOf } from '../kernel/estimate.ts';
import { type Expr, Exprs } from '../kernel/expr.ts';
import type { Epilogue } from '../kernel/kernel.ts';
import { rewriter } from '../kernel/rewrite.ts';
import type { Vertex } from './canonical.ts';
import { isRoutine } from './fuse.ts';
import type { LoweredGroup } from './kernels.ts';
import { Lowering, PositionConflict } from './lower.ts';
import { routineSources } from './routines.ts';

export interface FusedEpilogue {
  /** What is stored instead of the product. */
  readonly root: Vertex;
  /** What the epilogue reads besides the product. */
  readonly inputs: readonly Vertex[];
  /** Which of the program's launch scalars each of its scalars is. */
  readonly scalars: readonly number[];
  readonly epilogue: Epilogue;
  /** What it does, for names: `add_tanh`. */
  readonly name: string;
  /** Additions per element. */
  readonly cost: number;
}

/** Per matmul that takes one: its epilogue, and the kernel that this replaces. */
export type Epilogues = ReadonlyMap<Vertex, { readonly fused: FusedEpilogue; readonly kernel: LoweredGroup }>;

export function findEpilogues(
  live: readonly Vertex[],
  outputs: ReadonlySet<Vertex>,
  lowered: readonly LoweredGroup[],
  stored: ReadonlySet<Vertex>,
  maxBuffers: number,
): Epilogues {
  const found = new Map<Vertex, { fused: FusedEpilogue; kernel: LoweredGroup }>();
  if (!live.some((v) => v.op === 'matmul')) return found;
  const readers = new Map<Vertex, (LoweredGroup | Vertex)[]>();
  const read = (v: Vertex, by: LoweredGroup | Vertex): void => {
    const list = readers.get(v);
    if (list) list.push(by);
    else readers.set(v, [by]);
  };
  for (const g of lowered) for (const v of g.inputs) read(v, g);
  for (const v of live) if (isRoutine(v)) for (const s of routineSources(v)) read(s.vertex, v);
  const taken = new Set<LoweredGroup>();
  for (const v of live) {
    if (v.op !== 'matmul' || v.held || outputs.has(v)) continue;
    const [reader, another] = readers.get(v) ?? [];
    if (!reader || another || 'op' in reader || taken.has(reader)) continue;
    const fused = epilogueOf(v, reader, stored);
    if (!fused || fused.inputs.length + 3 > maxBuffers) continue;
    taken.add(reader);
    found.set(v, { fused, kernel: reader });
  }
  return found;
}

function epilogueOf(
  product: Vertex,
  { group, kernel }: LoweredGroup,
  stored: ReadonlySet<Vertex>,
): FusedEpilogue | null {
  const [root, second] = group.roots;
  if (!root || second || group.reduces.length > 0 || root.size !== product.size) return null;
  const lowering = new Lowering({ stored, roots: new Set([root]), reduces: new Set(), space: product.shape });
  try {
    const whole = lowering.root(root);
    const own = lowering.inputs.indexOf(product);
    const here = lowering.linear(lowering.spacePosition(), product.shape);
    const value = inProduct(whole, product, own, here);
    const inputs = lowering.inputs.filter((v) => v !== product);
    return {
      root,
      inputs,
      scalars: lowering.scalars,
      epilogue: {
        inputs: inputs.map((v) => ({ type: v.dtype, elements: v.size })),
        scalars: lowering.scalarTypes,
        output: { type: root.dtype, value },
      },
      name: kernel.name.slice(0, kernel.name.lastIndexOf(`_${root.dtype}_`)),
      cost: costOf([value]),
    };
  } catch (e) {
    if (e instanceof PositionConflict) return null;
    throw e;
  }
}

/** The expression over [batch, m, n], with the product's own element as the accumulator. */
export function inProduct(whole: Expr, product: Vertex, own: number, here: Expr): Expr {
  const b = new Exprs();
  const { shape } = product;
  const leading = shape.length - 2;
  const batch = b.axis(0, sizeOf(shape.slice(0, leading)));
  const strides = stridesOf(shape.slice(0, leading));
  const axis = (i: number, size: number): Expr => {
    if (i >= leading) return b.axis(i - leading + 1, size);
    const q = b.alu('idiv', batch, b.const('index', strides[i]!));
    return i === 0 ? q : b.alu('imod', q, b.const('index', size));
  };
  return rewriter(b, (e, copy) => {
    if (e.kind === 'axis') return axis(e.axis, e.size);
    if (e.kind !== 'load') return undefined;
    if (e.slot !== own) return b.load(e.type, e.slot - Number(e.slot > own), copy(e.index), e.gate && copy(e.gate));
    if (e.index !== here || e.gate) throw new PositionConflict();
    return b.acc(e.type, 0);
  })(whole);
}
