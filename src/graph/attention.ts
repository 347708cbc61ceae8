// Attention in a graph: softmax(f(Q·Kᵀ))·V with an elementwise f, found by its shape and made one vertex, where the device computes it
// without storing the scores.
//
// The second product becomes the `attention` vertex: it reads Q, K, V and what f reads besides the scores. Everything between the
// products must have no other reader. A tensor may hold it: if it is read later it is computed then, which costs less than storing
// it every time (most such tensors are steps of an expression that nobody looks at again).
//
// f's values are f32, whatever the operands' type: scores are never rounded to it.

import type { Capabilities } from '../devices/device.ts';
import { costOf, estimateRoutine } from '../kernel/estimate.ts';
import { type Expr, Exprs } from '../kernel/expr.ts';
import type { Attention, Epilogue } from '../kernel/kernel.ts';
import { rewriter } from '../kernel/rewrite.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';
import { inProduct } from './epilogue.ts';
import { Lowering, PositionConflict } from './lower.ts';
import { routineSources } from './routines.ts';
import { softmaxBelow } from './softmax.ts';
import { storedAs } from './stored-as.ts';

export interface FusedAttention {
  readonly queries: Vertex;
  readonly keys: Vertex;
  readonly values: Vertex;
  /** The keys lie as depth × keys. */
  readonly turned: boolean;
  /** The first product. */
  readonly product: Vertex;
  /** What f reads besides the scores. */
  readonly inputs: readonly Vertex[];
  /** Which of the program's launch scalars each of f's scalars is. */
  readonly scalars: readonly number[];
  readonly routine: Attention;
}

/** Makes every attention of the graph one vertex. */
export function fuseAttention(
  graph: Graph,
  { attention: heads, maxBuffers }: Pick<Capabilities, 'attention' | 'maxBuffers'>,
): void {
  if (!heads || !graph.vertices.some((v) => v.op === 'matmul')) return;
  const outputs = new Set(graph.outputs.map(storedAs));
  for (const v of graph.vertices) {
    if (v.op !== 'matmul') continue;
    const fused = attentionOf(v, outputs, heads[v.dtype] ?? 0);
    if (!fused || fused.inputs.length + operandsAndResult > maxBuffers) continue;
    const keys = fused.turned ? turnedKeys(fused) : fused.keys;
    const sources = [fused.queries, keys, fused.values, ...fused.inputs];
    Object.assign(v, { op: 'attention', sources, attention: fused } satisfies Partial<Vertex>);
    for (const { users } of sources) if (!users.includes(v)) users.push(v);
  }
}

/** Buffers that attention binds besides those of its function. */
const operandsAndResult = 4;

/** Keys that lie as depth × keys, turned: the first product, which is not computed any more, becomes the vertex for that. */
function turnedKeys({ product, keys }: FusedAttention): Vertex {
  const last = keys.shape.length - 1;
  const order = keys.shape.map((_, i) => (i === last ? last - 1 : i === last - 1 ? last : i));
  const shape = order.map((from) => keys.shape[from]!);
  const arg = args.list(order);
  Object.assign(product, {
    op: 'permute',
    shape,
    size: keys.size,
    arg,
    sources: [keys],
    held: false,
  } satisfies Partial<Vertex>);
  product.users = [];
  if (!keys.users.includes(product)) keys.users.push(product);
  return product;
}

function attentionOf(o: Vertex, outputs: ReadonlySet<Vertex>, widest: number): FusedAttention | null {
  const within = new Set<Vertex>();
  const weights = softmaxBelow(o.sources[0]!, o.dtype, within);
  if (!weights) return null;
  const product = scoresBelow(weights.scores, o.dtype, within);
  if (!product) return null;
  // Somebody else needs a step of it, or it is a result itself.
  for (const w of within) {
    if (outputs.has(storedAs(w))) return null;
    if (w.users.some((u) => u !== o && !within.has(u))) return null;
  }
  const [q, kT] = product.sources as [Vertex, Vertex];
  const { vertex: keysVertex, transposed } = routineSources(product)[1]!;
  const rank = product.shape.length;
  const [queries, keys] = [product.shape[rank - 2]!, product.shape[rank - 1]!];
  const depth = q.shape.at(-1)!;
  const width = o.shape.at(-1)!;
  if (Math.max(depth, width) > widest || depth % 8 !== 0 || width % 8 !== 0) return null;
  const batch = product.size / (queries * keys);
  // The weights' rows may have been dealt out anew, or be shared by more values than there are scores.
  if (o.shape.at(-2) !== queries || o.size !== batch * queries * width) return null;
  const found = functionOf(weights.scores, product);
  if (!found) return null;
  const { inputs, scalars, scores } = found;
  const shape = { queries, keys, depth, width };
  // Operands that are turned otherwise are copied as they are asked for.
  const operands = { queries: storedAs(q), keys: transposed ? keysVertex : kT, values: storedAs(o.sources[1]!) };
  const name = `attention_${o.dtype}_${batch > 1 ? `${batch}x` : ''}${queries}x${keys}x${depth}${width === depth ? '' : `x${width}`}`;
  const param = (v: Vertex) => ({ type: v.dtype, elements: v.size });
  const routine: Attention = {
    kind: 'routine',
    op: 'attention',
    name,
    type: o.dtype,
    batch,
    batchQ: q.size / (queries * depth),
    batchK: kT.size / (keys * depth),
    batchV: o.sources[1]!.size / (keys * width),
    ...shape,
    scores,
    estimate: estimateRoutine(
      batch * queries * keys * (2 * (depth + width) + costOf([scores.output.value]) + exponential),
      [...Object.values(operands), ...inputs].map(param),
      [param(o)],
    ),
  };
  return { ...operands, turned: !transposed, product, inputs, scalars, routine };
}

/** The cost of a weight, in additions. */
const exponential = 8;

/** Elementwise ops and movements, which f may consist of. */
const elementwise: ReadonlySet<Vertex['op']> = new Set(['alu', 'cast', 'reshape', 'expand', 'permute', 'slice']);

/** The one product below the scores that f begins with; what lies between goes into `within`. */
function scoresBelow(top: Vertex, type: Vertex['dtype'], within: Set<Vertex>): Vertex | null {
  let product: Vertex | null = null;
  const seen = new Set<Vertex>();
  const open = [top];
  for (let v = open.pop(); v; v = open.pop()) {
    if (seen.has(v)) continue;
    seen.add(v);
    if (v.op === 'matmul' && v.size === top.size) {
      if (product) return null;
      product = v;
    } else if (elementwise.has(v.op)) open.push(...v.sources);
    if (seen.size > mostSteps) return null;
  }
  if (!product || product.dtype !== type) return null;
  if (type === 'f32' && args.matmulOf(product) !== 'exact') return null;
  // What depends on the product is part of f.
  const depends = new Set([product]);
  for (const v of [...seen].sort((p, q) => p.id - q.id))
    if (v.sources.some((s) => depends.has(s)) && elementwise.has(v.op)) depends.add(v);
  if (!depends.has(top)) return null;
  for (const v of depends) within.add(v);
  return product;
}

/** Vertices that f may have. */
const mostSteps = 64;
/** Computed values of f that do not depend on the scores, beyond which they are stored. */
const mostBeside = 16;

function functionOf(
  top: Vertex,
  product: Vertex,
): { inputs: readonly Vertex[]; scalars: readonly number[]; scores: Epilogue } | null {
  const stored = new Set([product]);
  for (const v of besides(top, product)) stored.add(v);
  const lowering = new Lowering({ stored, roots: new Set([top]), reduces: new Set(), space: product.shape });
  try {
    const whole = top === product ? null : lowering.root(top);
    const own = lowering.inputs.indexOf(product);
    if (whole && own < 0) return null;
    const here = lowering.linear(lowering.spacePosition(), product.shape);
    const value = whole ? widened(inProduct(whole, product, own, here), product.dtype) : new Exprs().acc('f32', 0);
    const inputs = lowering.inputs.filter((v) => v !== product);
    return {
      inputs,
      scalars: lowering.scalars,
      scores: {
        inputs: inputs.map((v) => ({ type: v.dtype, elements: v.size })),
        scalars: lowering.scalarTypes,
        output: { type: 'f32', value },
      },
    };
  } catch (e) {
    if (e instanceof PositionConflict) return null;
    throw e;
  }
}

/** What f reads and does not compute itself: everything that is no elementwise op, and long computations without the scores. */
function besides(top: Vertex, product: Vertex): Vertex[] {
  const found: Vertex[] = [];
  const depends = new Map<Vertex, boolean>([[product, true]]);
  const uses = (v: Vertex): boolean => {
    let known = depends.get(v);
    if (known === undefined) depends.set(v, (known = elementwise.has(v.op) && v.sources.some(uses)));
    return known;
  };
  const sizeBelow = (v: Vertex, seen = new Set<Vertex>()): number => {
    if (seen.has(v)) return 0;
    seen.add(v);
    if (v.op === 'const' || v.op === 'iota' || v.op === 'leaf') return 0;
    if (!elementwise.has(v.op)) return Number.POSITIVE_INFINITY;
    return v.sources.reduce((n, s) => n + sizeBelow(s, seen), v.op === 'alu' ? 1 : 0);
  };
  const visit = (v: Vertex): void => {
    if (v === product || v.op === 'leaf' || v.op === 'const' || v.op === 'iota') return;
    const moves = elementwise.has(v.op) && v.op !== 'alu';
    if (uses(v) || moves) for (const s of v.sources) visit(s);
    else if (v.op !== 'alu' || sizeBelow(v) > mostBeside) found.push(v);
  };
  visit(top);
  return found;
}

/** The same function with f32 in place of the operands' own type, so that no step of it rounds to that. */
function widened(whole: Expr, type: Vertex['dtype']): Expr {
  if (type === 'f32') return whole;
  const isNarrow = (of: Expr['type']): boolean => of === type;
  const b = new Exprs();
  const wide = (e: Expr): Expr => b.cast('f32', e);
  return rewriter(b, (e, copy) => {
    if (!isNarrow(e.type)) {
      if (e.kind === 'cast' && e.bits && isNarrow(e.src[0].type)) throw new PositionConflict();
      return undefined;
    }
    switch (e.kind) {
      case 'const':
        return b.const('f32', e.value);
      case 'scalar':
        return wide(b.scalar(e.type as 'f16', e.slot));
      case 'load':
        return wide(b.load(e.type, e.slot, copy(e.index), e.gate && copy(e.gate)));
      case 'acc':
        return b.acc('f32', e.slot);
      case 'cast':
        if (e.bits) throw new PositionConflict();
        return wide(copy(e.src[0]));
      case 'alu':
        return b.alu(e.op, ...e.src.map(copy));
      default:
        return undefined;
    }
  })(whole);
}
