// Fusion: which vertices are stored, and which are computed together.
//
// Everything is fused unless something forces a cut. Stored are: program outputs, routines and what they read, reductions
// with the elementwise work behind them (the epilogue), and values that would be computed again too often. A group is one
// kernel: its roots are written, its reductions share one loop, the rest is computed in place.

import { aluOps } from '../kernel/ops.ts';
import type { Vertex } from './canonical.ts';
import { args } from './node.ts';

/** One kernel to be. All roots have `space`'s size and are written in the same order. */
export interface Group {
  readonly roots: Vertex[];
  readonly reduces: Vertex[];
  readonly members: Set<Vertex>;
  space: readonly number[];
}

const routines = new Set<Vertex['op']>(['matmul', 'scan', 'sort', 'scatter']);
export const isRoutine = (v: Vertex): boolean => routines.has(v.op);

/** Ops that keep every element at its linear position. */
const inOrder = new Set<Vertex['op']>(['alu', 'cast', 'bitcast', 'reshape']);

export interface Limits {
  readonly maxBuffers: number;
}

/** Buffers that a kernel's inputs leave: one for the output, one for what a reduction behind it may add. */
export const reservedBuffers = 2;

/** Vertices in one kernel beyond which its code gets unwieldy. A function becomes dozens of operations, and counts as several. */
const maxVertices = 192;
const functionCost = 12;
const functionWeight = 4;

/** Whether the code of some vertices together stays manageable. */
export const fitsOneKernel = (...bodies: readonly Iterable<Vertex>[]): boolean =>
  codeSize(new Set(bodies.flatMap((b) => [...b]))) <= maxVertices;

function codeSize(body: ReadonlySet<Vertex>): number {
  let size = 0;
  for (const v of body) size += v.op === 'alu' && aluOps[args.aluOf(v)].cost >= functionCost ? functionWeight : 1;
  return size;
}

/** The vertices that must have a buffer because of what they are or because a kernel could not hold more. */
export function requiredStores(vertices: readonly Vertex[], wanted: Iterable<Vertex>, limits: Limits): Set<Vertex> {
  const stored = new Set(wanted);
  for (const v of vertices) {
    if (isRoutine(v) || v.op === 'positions') stored.add(v);
  }
  const body = new Map<Vertex, Set<Vertex>>();
  const inputs = new Map<Vertex, Set<Vertex>>();
  const own = (v: Vertex) => new Set([v]);
  for (const v of vertices) {
    const isInput = (s: Vertex) => s.op === 'leaf' || stored.has(s);
    const union = (of: Map<Vertex, Set<Vertex>>, leafSet: (s: Vertex) => Set<Vertex>) => {
      const all = new Set<Vertex>();
      for (const s of v.sources) for (const x of isInput(s) ? leafSet(s) : (of.get(s) ?? [])) all.add(x);
      return all;
    };
    while (
      union(inputs, own).size > limits.maxBuffers - reservedBuffers ||
      codeSize(union(body, () => new Set())) > maxVertices
    ) {
      const candidates = v.sources.filter((s) => inputs.has(s) && !isInput(s) && s.op !== 'const' && s.op !== 'iota');
      if (candidates.length === 0) break;
      const weight = (s: Vertex) => inputs.get(s)!.size * maxVertices + body.get(s)!.size;
      stored.add(candidates.reduce((a, c) => (weight(c) > weight(a) ? c : a)));
    }
    inputs.set(v, union(inputs, own));
    body.set(v, union(body, () => new Set()).add(v));
  }
  return stored;
}

/**
 * Groups reductions with their epilogues; adds what has to be stored for that to `stored`. Vertices in `apart` are known
 * not to fit behind a reduction.
 */
export function reductionGroups(vertices: readonly Vertex[], stored: Set<Vertex>, apart: ReadonlySet<Vertex>): Group[] {
  const groupOf = new Map<Vertex, Group>();
  const groups = new Set<Group>();
  for (const v of vertices) {
    if (v.op === 'reduce') {
      const group: Group = { roots: [], reduces: [v], members: new Set([v]), space: v.shape };
      groups.add(group);
      groupOf.set(v, group);
      continue;
    }
    if (!inOrder.has(v.op) || apart.has(v)) continue;
    const joined = [...new Set(v.sources.map((s) => groupOf.get(s)).filter((g) => g !== undefined))];
    const fitting = joined.filter((g) => sizeOf(g) === v.size);
    // All of them in one loop if that works; else the value joins the last one and reads the others.
    for (const choice of [fitting, ...fitting.map((g) => [g]).reverse()]) {
      const [first] = choice;
      if (!first || choice.some((g) => !sameLoop(g, first))) continue;
      const members = new Set([...choice.flatMap((g) => [...g.members]), v]);
      if (dependsOnItself(members, groupOf)) continue;
      for (const other of choice.slice(1)) {
        first.reduces.push(...other.reduces);
        groups.delete(other);
      }
      for (const m of members) {
        first.members.add(m);
        groupOf.set(m, first);
      }
      break;
    }
  }
  for (const group of groups) {
    for (const m of group.members) {
      if (stored.has(m) || [...m.users].some((u) => !group.members.has(u))) group.roots.push(m);
    }
    for (const r of group.roots) stored.add(r);
  }
  return [...groups];
}

const sizeOf = (g: Group): number => g.reduces[0]!.size;

/** Both groups reduce the same index space in the same way, so that one loop can serve them. */
function sameLoop(a: Group, b: Group): boolean {
  if (a === b) return true;
  const [x, y] = [a.reduces[0]!, b.reduces[0]!];
  const same = (p: readonly number[], q: readonly number[]) => p.length === q.length && p.every((d, i) => d === q[i]);
  return same(x.sources[0]!.shape, y.sources[0]!.shape) && same(args.reduceOf(x).axes, args.reduceOf(y).axes);
}

/**
 * Whether computing `members` in one kernel would need one of them from outside first. Other groups are units: to need one
 * vertex of a group is to need all of its sources.
 */
export function dependsOnItself(members: ReadonlySet<Vertex>, groupOf: ReadonlyMap<Vertex, Group>): boolean {
  const seen = new Set<Vertex>();
  // Reductions read their source through the loop; only other members are at hand inside the kernel.
  const stack = [...members].flatMap((m) => m.sources.filter((s) => m.op === 'reduce' || !members.has(s)));
  for (let v = stack.pop(); v; v = stack.pop()) {
    if (members.has(v)) return true;
    if (seen.has(v)) continue;
    seen.add(v);
    const group = groupOf.get(v);
    for (const u of group?.members ?? [v]) for (const s of u.sources) if (!group?.members.has(s)) stack.push(s);
  }
  return false;
}
