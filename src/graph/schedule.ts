// The order of work for a graph: kernels and routines, sources before users.
//
// Groups are lowered, then judged: a value that a kernel would compute again and again, at a cost above that of writing and
// reading it, is stored after all and the grouping is done anew. Kernels over one index space that share an input, or
// of which one reads the other's result element by element, become one kernel with several outputs. Where the device can, a
// kernel behind a matrix product becomes its epilogue.

import { sizeOf } from '../base/shape.ts';
import { axesOf } from '../kernel/bounds.ts';
import { costOf } from '../kernel/estimate.ts';
import type { Expr } from '../kernel/expr.ts';
import type { Graph, Vertex } from './canonical.ts';
import { type Epilogues, type FusedEpilogue, findEpilogues } from './epilogue.ts';
import { fitsOneKernel, type Group, isRoutine, type Limits, reductionGroups, requiredStores } from './fuse.ts';
import { type LoweredGroup, lowerGroup } from './kernels.ts';
import { PositionConflict } from './lower.ts';
import { routineSources } from './routines.ts';

export type ScheduledWork =
  | { readonly kind: 'kernel'; readonly lowered: LoweredGroup }
  | { readonly kind: 'routine'; readonly vertex: Vertex; readonly fused: FusedEpilogue | null };

/** The vertex whose buffer holds this one's elements in the same order. */
export function storedAs(v: Vertex): Vertex {
  while (isAlias(v)) v = v.sources[0]!;
  return v;
}

// A sort has two results, which two vertices name: its own buffer holds the sorted values.
function isAlias(v: Vertex): boolean {
  if (v.op === 'sorted') return true;
  return (v.op === 'reshape' || v.op === 'expand') && v.sources[0]!.size === v.size && v.sources[0]!.op !== 'const';
}

export function schedule(graph: Graph, limits: Limits & { readonly matmulEpilogue?: boolean }): ScheduledWork[] {
  const live = reachable(graph);
  const outputs = new Set(graph.outputs.map(storedAs));
  const wanted = new Set(outputs);
  for (const v of live) {
    if (isRoutine(v)) for (const s of routineSources(v)) wanted.add(s.vertex);
  }
  for (const v of [...wanted]) if (v.op === 'leaf' || v.size === 0) wanted.delete(v);
  const apart = new Set<Vertex>();
  for (;;) {
    const stored = requiredStores(live, wanted, limits);
    const groups = reductionGroups(live, stored, apart).filter((g) => g.roots.length > 0 && g.reduces[0]!.size > 0);
    const inGroup = new Set(groups.flatMap((g) => g.roots));
    for (const v of live) {
      if (!stored.has(v) || isRoutine(v) || v.op === 'positions' || inGroup.has(v)) continue;
      groups.push({ roots: [v], reduces: [], members: new Set([v]), space: v.shape });
    }
    const single: LoweredGroup[] = [];
    const misfit = groups.find((g) => {
      const lowered = tryLower(g, stored);
      if (lowered) single.push(lowered);
      return !lowered;
    });
    if (misfit) {
      // An epilogue whose positions cannot be shown to be the reduction's own becomes a kernel of its own.
      for (const m of misfit.members) if (m.op !== 'reduce') apart.add(m);
      continue;
    }
    const lowered = merge(single, stored, limits);
    const costly = findRecomputed(lowered);
    if (costly) {
      wanted.add(costly);
      continue;
    }
    const epilogues = limits.matmulEpilogue
      ? findEpilogues(live, outputs, lowered, stored, limits.maxBuffers)
      : (new Map() as Epilogues);
    return order(graph, live, lowered, epilogues);
  }
}

function reachable(graph: Graph): Vertex[] {
  const seen = new Set<Vertex>();
  const stack = graph.outputs.filter((v) => v.size > 0);
  for (let v = stack.pop(); v; v = stack.pop()) {
    if (seen.has(v)) continue;
    seen.add(v);
    // Empty values are never computed: what reads them (a pad, a concatenation) does not look inside.
    stack.push(...v.sources.filter((s) => s.size > 0));
  }
  const live = graph.vertices.filter((v) => seen.has(v));
  // Users that nobody asks for would only keep values stored.
  for (const v of live) for (const u of v.users) if (!seen.has(u)) v.users.delete(u);
  return live;
}

// Costs in additions per element: writing and reading a stored value, and one more kernel.
const storeCost = 8;
const kernelCost = 1 << 14;

/** The topmost vertex that is cheaper to store than to compute again wherever it is needed. */
function findRecomputed(lowered: readonly LoweredGroup[]): Vertex | undefined {
  let found: Vertex | undefined;
  for (const { group, kernel, evaluations } of lowered) {
    const outputs = sizeOf(kernel.space);
    const iterations = outputs * sizeOf(kernel.reduced);
    for (const [v, exprs] of evaluations) {
      if (group.roots.includes(v) || (found && v.id < found.id)) continue;
      const cost = costOf([exprs.values().next().value!]);
      if (cost < storeCost && exprs.size === 1) continue;
      let times = 0;
      for (const e of exprs) times += inLoop(e, group.space.length) ? iterations : outputs;
      if ((times - v.size) * cost > storeCost * v.size + kernelCost) found = v;
    }
  }
  return found;
}

/** Whether an expression changes along a reduced axis; else it is computed once per output. */
function inLoop(e: Expr, outputAxes: number): boolean {
  for (const axis of axesOf(e)) if (axis >= outputAxes) return true;
  return false;
}

function merge(all: LoweredGroup[], stored: ReadonlySet<Vertex>, limits: Limits): LoweredGroup[] {
  if (all.length < 2) return all;
  const done: LoweredGroup[] = [];
  for (const [n, next] of all.entries()) {
    const later = all.slice(n + 1);
    let result = next;
    for (let i = 0; i < done.length; i++) {
      // What is merged already counts as one kernel: its results wait for all of its inputs.
      const joined = tryMerge(done[i]!, result, [...done, ...later], stored, limits);
      if (!joined) continue;
      done.splice(i--, 1);
      result = joined;
    }
    done.push(result);
  }
  return done;
}

function tryMerge(
  a: LoweredGroup,
  b: LoweredGroup,
  others: readonly LoweredGroup[],
  stored: ReadonlySet<Vertex>,
  limits: Limits,
): LoweredGroup | undefined {
  if (!sameNest(a.group, b.group)) return undefined;
  const produced = new Set([...a.group.roots, ...b.group.roots]);
  const inputs = new Set([...a.inputs, ...b.inputs]);
  const shared =
    a.inputs.some((v) => b.inputs.includes(v) || b.group.roots.includes(v)) ||
    b.inputs.some((v) => a.group.roots.includes(v));
  if (!shared || inputs.size + produced.size > limits.maxBuffers) return undefined;
  if (!fitsOneKernel(a.evaluations.keys(), b.evaluations.keys())) return undefined;
  // Whatever is read must not depend on what is written here through another kernel or routine.
  const producer = new Map<Vertex, LoweredGroup>();
  for (const g of others) for (const r of g.group.roots) producer.set(r, g);
  const seen = new Set<Vertex>();
  const stack = [...inputs].filter((v) => !produced.has(v));
  for (let v = stack.pop(); v; v = stack.pop()) {
    if (produced.has(v)) return undefined;
    if (seen.has(v)) continue;
    seen.add(v);
    stack.push(
      ...(producer.get(v)?.inputs ??
        (v.op === 'positions' ? v.sources : isRoutine(v) ? routineSources(v).map((s) => s.vertex) : [])),
    );
  }
  const group: Group = {
    roots: [...new Set([...a.group.roots, ...b.group.roots])],
    reduces: [...new Set([...a.group.reduces, ...b.group.reduces])],
    members: new Set([...a.group.members, ...b.group.members]),
    space: a.group.space,
  };
  return tryLower(group, stored);
}

/** Undefined if the group's roots cannot be written in one pass. */
function tryLower(group: Group, stored: ReadonlySet<Vertex>): LoweredGroup | undefined {
  try {
    return lowerGroup(group, stored);
  } catch (e) {
    if (e instanceof PositionConflict) return undefined;
    throw e;
  }
}

function sameNest(a: Group, b: Group): boolean {
  const same = (p: readonly number[], q: readonly number[]) => p.length === q.length && p.every((d, i) => d === q[i]);
  if (a.reduces.length > 0 !== b.reduces.length > 0 || !same(a.space, b.space)) return false;
  const [x, y] = [a.reduces[0], b.reduces[0]];
  return (
    !x || !y || (same(x.sources[0]!.shape, y.sources[0]!.shape) && same(x.arg.values.slice(1), y.arg.values.slice(1)))
  );
}

function order(
  graph: Graph,
  live: readonly Vertex[],
  lowered: readonly LoweredGroup[],
  epilogues: Epilogues,
): ScheduledWork[] {
  const producer = new Map<Vertex, LoweredGroup>();
  for (const g of lowered) for (const r of g.group.roots) producer.set(r, g);
  const fusedInto = new Map<LoweredGroup, Vertex>();
  for (const [matmul, { kernel }] of epilogues) fusedInto.set(kernel, matmul);
  const placed = new Set<LoweredGroup | Vertex>();
  const work: ScheduledWork[] = [];
  const place = (v: Vertex): void => {
    if (v.op === 'leaf') return;
    if (v.op === 'positions') {
      place(v.sources[0]!);
      return;
    }
    const group = producer.get(v);
    const unit = group ?? v;
    if (placed.has(unit)) return;
    placed.add(unit);
    const matmul = group && fusedInto.get(group);
    if (matmul) {
      const { fused } = epilogues.get(matmul)!;
      for (const i of fused.inputs) place(i);
      for (const s of routineSources(matmul)) place(s.vertex);
      work.push({ kind: 'routine', vertex: matmul, fused });
    } else if (group) {
      for (const i of group.inputs) place(i);
      work.push({ kind: 'kernel', lowered: group });
    } else if (isRoutine(v)) {
      for (const s of routineSources(v)) place(s.vertex);
      work.push({ kind: 'routine', vertex: v, fused: null });
    }
  };
  const alive = new Set(live);
  for (const o of graph.outputs) if (alive.has(o)) place(storedAs(o));
  return work;
}
