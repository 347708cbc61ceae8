// The order of work for a graph: kernels and routines, sources before users.
//
// Groups are lowered, merged, then judged: a value that a kernel would compute again and again, at a cost above that of writing
// and reading it, is stored after all and the grouping is done anew; groups that this does not touch stay as they are.
// Where the device can, a kernel behind a matrix product becomes its epilogue.

import { sizeOf } from '../base/shape.ts';
import { axesOf } from '../kernel/bounds.ts';
import { costOf } from '../kernel/estimate.ts';
import type { Expr } from '../kernel/expr.ts';
import { behindProducts } from './behind-products.ts';
import type { Graph, Vertex } from './canonical.ts';
import { type Epilogues, type FusedEpilogue, findEpilogues } from './epilogue.ts';
import { cheap, type Group, isRoutine, type Limits, reductionGroups, requiredStores, worthStoring } from './fuse.ts';
import { type LoweredGroup, LoweredGroups, reducedSizes } from './kernels.ts';
import { merge } from './merge.ts';
import { routineSources } from './routines.ts';
import { storedAs } from './stored-as.ts';

export type ScheduledWork =
  | { readonly kind: 'kernel'; readonly lowered: LoweredGroup }
  | { readonly kind: 'routine'; readonly vertex: Vertex; readonly fused: FusedEpilogue | null };

export function schedule(graph: Graph, limits: Limits & { readonly matmulEpilogue?: boolean }): ScheduledWork[] {
  const live = reachable(graph);
  const outputs = new Set(graph.outputs.map(storedAs));
  const wanted = new Set(outputs);
  for (const v of live) {
    if (isRoutine(v)) for (const s of routineSources(v)) wanted.add(s.vertex);
  }
  if (limits.matmulEpilogue) for (const v of behindProducts(live)) wanted.add(v);
  for (const v of [...wanted]) if (v.op === 'leaf' || v.size === 0) wanted.delete(v);
  const apart = new Set<Vertex>();
  const known = new LoweredGroups();
  for (;;) {
    const stored = requiredStores(live, wanted, limits);
    const single: LoweredGroup[] = [];
    let misfit = false;
    for (const group of groupsOf(live, stored, apart, limits)) {
      const lowered = known.lower(group, stored);
      if (lowered) single.push(lowered);
      else {
        misfit = true;
        // An epilogue whose positions cannot be shown to be the reduction's own becomes a kernel of its own.
        for (const m of group.members) if (m.op !== 'reduce') apart.add(m);
      }
    }
    if (misfit) continue;
    const lowered = merge(single, live, stored, limits);
    const costly = findRecomputed(lowered);
    if (costly.size > 0) {
      for (const v of costly) wanted.add(v);
      continue;
    }
    const epilogues = limits.matmulEpilogue
      ? findEpilogues(live, outputs, lowered, stored, limits.maxBuffers)
      : (new Map() as Epilogues);
    return order(graph, live, lowered, epilogues);
  }
}

/** What becomes a kernel: reductions with what follows them, and every other value that is stored. */
function groupsOf(live: readonly Vertex[], stored: Set<Vertex>, apart: ReadonlySet<Vertex>, limits: Limits): Group[] {
  const groups = reductionGroups(live, stored, apart, limits).filter(
    (g) => g.roots.length > 0 && g.reduces[0]!.size > 0,
  );
  const inGroup = new Set(groups.flatMap((g) => g.roots));
  for (const v of live) {
    if (!stored.has(v) || isRoutine(v) || v.op === 'second' || inGroup.has(v)) continue;
    groups.push({ roots: [v], reduces: [], members: new Set([v]), space: v.shape });
  }
  return groups;
}

function reachable(graph: Graph): Vertex[] {
  const seen: boolean[] = new Array(graph.vertices.length).fill(false);
  const stack = graph.outputs.filter((v) => v.size > 0);
  for (let v = stack.pop(); v; v = stack.pop()) {
    if (seen[v.id]) continue;
    seen[v.id] = true;
    // Empty values are never computed: what reads them (a pad, a concatenation) does not look inside.
    for (const s of v.sources) if (s.size > 0) stack.push(s);
  }
  const live = graph.vertices.filter((v) => seen[v.id]);
  // Users that nobody asks for would only keep values stored.
  if (live.length < graph.vertices.length) for (const v of live) v.users = v.users.filter((u) => seen[u.id]);
  return live;
}

/** The vertices that are cheaper to store than to compute again wherever a kernel needs them; of those above each other the topmost. */
function findRecomputed(lowered: readonly LoweredGroup[]): Set<Vertex> {
  const costly = new Set<Vertex>();
  for (const { group, evaluations } of lowered) {
    const outputs = sizeOf(group.space);
    const iterations = outputs * sizeOf(reducedSizes(group));
    const roots = new Set(group.roots);
    const covered = new Set<Vertex>();
    for (const v of [...evaluations.keys()].sort((p, q) => q.id - p.id)) {
      if (roots.has(v) || covered.has(v)) continue;
      const exprs = evaluations.get(v)!;
      const cost = costOf([exprs.values().next().value!]);
      if (cheap(exprs.size, cost)) continue;
      let times = 0;
      for (const e of exprs) times += inLoop(e, group.space.length) ? iterations : outputs;
      if (!worthStoring(v, times, cost)) continue;
      costly.add(v);
      // What it is computed from is judged anew when it has a kernel of its own.
      const below = [v];
      for (let u = below.pop(); u; u = below.pop()) {
        if (covered.has(u) || !evaluations.has(u)) continue;
        covered.add(u);
        below.push(...u.sources);
      }
    }
  }
  return costly;
}

/** Whether an expression changes along a reduced axis; else it is computed once per output. */
function inLoop(e: Expr, outputAxes: number): boolean {
  for (const axis of axesOf(e)) if (axis >= outputAxes) return true;
  return false;
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
  const needs = (unit: LoweredGroup | Vertex): readonly Vertex[] => {
    if ('group' in unit) {
      const matmul = fusedInto.get(unit);
      if (!matmul) return unit.inputs;
      return [...epilogues.get(matmul)!.fused.inputs, ...routineSources(matmul).map((s) => s.vertex)];
    }
    if (unit.op === 'second') return [unit.sources[0]!];
    return isRoutine(unit) ? routineSources(unit).map((s) => s.vertex) : [];
  };
  const emit = (unit: LoweredGroup | Vertex): void => {
    const matmul = 'group' in unit ? fusedInto.get(unit) : undefined;
    if (matmul) work.push({ kind: 'routine', vertex: matmul, fused: epilogues.get(matmul)!.fused });
    else if ('group' in unit) work.push({ kind: 'kernel', lowered: unit });
    else if (isRoutine(unit)) work.push({ kind: 'routine', vertex: unit, fused: null });
  };
  // A stack, not recursion: one unit may wait for another through thousands of them.
  const place = (output: Vertex): void => {
    const stack: { readonly unit: LoweredGroup | Vertex; readonly needs: readonly Vertex[]; at: number }[] = [];
    const enter = (v: Vertex): void => {
      const unit = producer.get(v) ?? v;
      if (v.op === 'leaf' || placed.has(unit)) return;
      placed.add(unit);
      stack.push({ unit, needs: needs(unit), at: 0 });
    };
    enter(output);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      if (top.at < top.needs.length) enter(top.needs[top.at++]!);
      else {
        stack.pop();
        emit(top.unit);
      }
    }
  };
  const alive = new Set(live);
  for (const o of graph.outputs) if (alive.has(o)) place(storedAs(o));
  return work;
}
