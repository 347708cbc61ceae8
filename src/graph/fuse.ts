// Fusion: which vertices are stored, and which are computed together.
//
// Everything is fused unless something forces a cut. Stored are: program outputs, routines and what they read, reductions
// with the elementwise work behind them (the epilogue), and values that would be computed again too often. A group is one
// kernel: its roots are written, its reductions share one loop, the rest is computed in place.

import { args } from './args.ts';
import type { Vertex } from './canonical.ts';
import { Reach } from './reach.ts';
import { codeWeight, follows, isView, type Region, Regions } from './regions.ts';
import { waistBelow } from './waist.ts';

/** One kernel to be. All roots have `space`'s size and are written in the same order. */
export interface Group {
  readonly roots: Vertex[];
  readonly reduces: Vertex[];
  readonly members: Set<Vertex>;
  space: readonly number[];
}

const routines = new Set<Vertex['op']>([
  'matmul',
  'attention',
  'scan',
  'sort',
  'topk',
  'scatter',
  'compact',
  'fourier',
]);
export const isRoutine = (v: Vertex): boolean => routines.has(v.op);

export interface Limits {
  readonly maxBuffers: number;
}

/** Buffers that a kernel's inputs leave: one for the output, one for what a reduction behind it may add. */
export const reservedBuffers = 2;

/** Code in one kernel beyond which it gets unwieldy: at one position, and at all positions together. */
export const maxWeight = 384;
const maxComputations = 512;

/** Whether the code of some vertices together stays manageable. */
const fitsOneKernel = (...bodies: readonly Iterable<Vertex>[]): boolean => {
  const seen = new Set<Vertex>();
  let weight = 0;
  for (const body of bodies) {
    for (const v of body) {
      if (seen.has(v)) continue;
      seen.add(v);
      weight += codeWeight(v);
      if (weight > maxWeight) return false;
    }
  }
  return true;
};

/**
 * The vertices that must have a buffer: because of what they are, because a kernel could not hold more, or because computing
 * them wherever they are needed costs more than storing them.
 */
export function requiredStores(vertices: readonly Vertex[], wanted: Iterable<Vertex>, limits: Limits): Set<Vertex> {
  const stored = new Set(wanted);
  for (const v of vertices) {
    if (isRoutine(v) || v.op === 'second') stored.add(v);
  }
  const regions = new Regions(vertices, stored);
  const mostInputs = limits.maxBuffers - reservedBuffers;
  for (const [v, first] of regions) {
    let region = first;
    const spread = v.op === 'concat' ? costlyParts(v, regions, stored) : [];
    if (spread.length > 0) region = regions.store(spread, v);
    for (;;) {
      const below =
        region.inputs.size > mostInputs || region.weight - codeWeight(v) > maxWeight
          ? cutBelow(v, region, regions, mostInputs)
          : joins(v, stored) || region.at.size > maxComputations
            ? repeatedTooOften(v, region, regions)
            : [];
      if (below.length === 0) break;
      region = regions.store(below, v);
    }
  }
  return stored;
}

/** Whether several computed sources meet in a vertex. */
const joins = (v: Vertex, stored: ReadonlySet<Vertex>): boolean => {
  let computed = 0;
  for (const s of v.sources) if (s.op !== 'leaf' && s.op !== 'const' && !stored.has(s)) computed++;
  return computed > 1;
};

/**
 * The parts of a concatenation that are better stored than computed at every position of the whole. Views of one value, such as the
 * inside of a field and its border, stay views: the value itself is stored, once.
 */
function costlyParts(v: Vertex, regions: Regions, stored: ReadonlySet<Vertex>): Vertex[] {
  const parts = [...new Set(v.sources)];
  const costly = parts.filter((s) => {
    if (s.op === 'leaf' || stored.has(s)) return false;
    const cost = regions.costOf(s);
    return cost >= storeCost && worthStoring(s, v.size, cost);
  });
  if (costly.length === 0) return costly;
  const seen = parts.map(viewed);
  return [...new Set(costly.map((s) => (seen.filter((w) => w === viewed(s)).length > 1 ? viewed(s) : s)))];
}

/** What a view shows elements of. */
function viewed(v: Vertex): Vertex {
  let seen = v;
  while (isView(seen)) seen = seen.sources[0]!;
  return seen;
}

/** What is stored where the kernel of `v` cannot hold all that is below it. */
function cutBelow(v: Vertex, region: Region, regions: Regions, mostInputs: number): Vertex[] {
  const waist = waistBelow(v, region, { weight: maxWeight, inputs: mostInputs });
  return waist ? [waist] : heaviest(v, regions, mostInputs);
}

/** The sources that take the most room in the kernel of `v`: as few as must be stored for the rest to fit. */
function heaviest(v: Vertex, regions: Regions, mostInputs: number): Vertex[] {
  const parts = [...regions.below(v)];
  const weigh = ({ inputs, body }: Region): number => inputs.size * maxWeight + body.size;
  const order = parts.filter(([s]) => s.op !== 'const' && s.op !== 'iota').sort(([, p], [, q]) => weigh(q) - weigh(p));
  const [inputs, body] = [new Tally(), new Tally()];
  for (const s of v.sources) {
    if (s.op === 'const') body.add([s]);
    else if (!parts.some(([part]) => part === s)) inputs.add([s]);
  }
  for (const [, region] of parts) {
    inputs.add(region.inputs);
    body.add(region.body);
  }
  const stored: Vertex[] = [];
  for (const [s, region] of order) {
    if (inputs.size <= mostInputs && body.weight <= maxWeight) break;
    inputs.remove(region.inputs);
    inputs.add([s]);
    body.remove(region.body);
    stored.push(s);
  }
  return stored;
}

/** Vertices of several sets, with what they weigh together. */
class Tally {
  readonly #counts = new Map<Vertex, number>();
  weight = 0;

  get size(): number {
    return this.#counts.size;
  }

  add(vertices: Iterable<Vertex>): void {
    for (const v of vertices) {
      const n = this.#counts.get(v) ?? 0;
      this.#counts.set(v, n + 1);
      if (n === 0) this.weight += codeWeight(v);
    }
  }

  remove(vertices: Iterable<Vertex>): void {
    for (const v of vertices) {
      const n = this.#counts.get(v)!;
      if (n > 1) this.#counts.set(v, n - 1);
      else {
        this.#counts.delete(v);
        this.weight -= codeWeight(v);
      }
    }
  }
}

/** The topmost vertex below `v` that is cheaper to store than to compute at each of its positions; failing that, what the kernel cannot hold. */
function repeatedTooOften(v: Vertex, region: Region, regions: Regions): Vertex[] {
  let costly: Vertex | undefined;
  let large: Vertex | undefined;
  let most = 0;
  for (const [w, times] of regions.repeated(region)) {
    if (w === v || w.op === 'iota' || w.op === 'const') continue;
    const cost = regions.costOf(w);
    if (!(costly && w.id < costly.id) && !cheap(times, cost) && worthStoring(w, times * v.size, cost)) costly = w;
    const spared = (times - 1) * regions.sizeOf(w);
    if (spared > most || (spared === most && large && w.id > large.id)) [large, most] = [w, spared];
  }
  const found = costly ?? (region.at.size > maxComputations ? large : undefined);
  return found ? [found] : [];
}

// Costs in additions per element: writing and reading a stored value, and one more kernel.
const storeCost = 8;
const kernelCost = 1 << 14;

/** Whether computing a vertex `times` times, at a cost of so many additions each, takes longer than storing it. */
export const worthStoring = (v: Vertex, times: number, cost: number): boolean =>
  (times - v.size) * cost > storeCost * v.size + kernelCost;

/** Whether computing a vertex at all of its positions costs no more than reading it from a buffer: such ones are never stored. */
export const cheap = (positions: number, cost: number): boolean => positions * cost < storeCost;

/**
 * Groups reductions with their epilogues; adds what has to be stored for that to `stored`. Vertices in `apart` are known
 * not to fit behind a reduction.
 */
export function reductionGroups(
  vertices: readonly Vertex[],
  stored: Set<Vertex>,
  apart: ReadonlySet<Vertex>,
  { maxBuffers }: Limits,
): Group[] {
  const units = new Units();
  const groups = new Set<Group>();
  for (const v of vertices) {
    units.add(v);
    if (v.op === 'reduce') {
      const group: Group = { roots: [], reduces: [v], members: new Set([v]), space: v.shape };
      groups.add(group);
      units.join(group, [v]);
      continue;
    }
    if (!follows.has(v.op) || apart.has(v)) continue;
    const joined = [...new Set(v.sources.map((s) => units.groupOf(s)).filter((g) => g !== undefined))];
    const fitting = joined.filter((g) => sizeOf(g) === v.size);
    // All of them in one loop if that works; else the value joins the last one and reads the others.
    for (const choice of [fitting, ...fitting.map((g) => [g]).reverse()]) {
      const [first] = choice;
      if (!first || choice.some((g) => !sameLoop(g, first))) continue;
      if (!fitsOneKernel(...choice.map((g) => g.members), [v])) continue;
      const members = new Set([...choice.flatMap((g) => [...g.members]), v]);
      if (units.dependsOnItself(members)) continue;
      for (const other of choice.slice(1)) {
        first.reduces.push(...other.reduces);
        groups.delete(other);
      }
      for (const m of members) first.members.add(m);
      units.join(first, members);
      break;
    }
  }
  for (const group of groups) {
    for (const m of group.members) {
      if (stored.has(m) || leaves(m, group)) group.roots.push(m);
    }
    for (const r of group.roots) stored.add(r);
  }
  return [...groups].flatMap((group) =>
    group.roots.length + inputsOf(group, stored).size > maxBuffers ? split(group, stored) : [group],
  );
}

/** What a kernel reads: stored values and leaves below its members. */
function inputsOf({ members }: Group, stored: ReadonlySet<Vertex>): Set<Vertex> {
  const inputs = new Set<Vertex>();
  // A set is walked with what is added to it on the way.
  const open = new Set(members);
  for (const v of open) {
    for (const s of v.sources) {
      if (members.has(s)) continue;
      (s.op === 'leaf' || stored.has(s) ? inputs : open).add(s);
    }
  }
  return inputs;
}

/**
 * A kernel that would write and read more buffers than a device has: each reduction by itself. What follows them and is
 * stored becomes a kernel of its own.
 */
function split({ reduces }: Group, stored: Set<Vertex>): Group[] {
  return reduces.map((r) => {
    stored.add(r);
    return { roots: [r], reduces: [r], members: new Set([r]), space: r.shape };
  });
}

/** Whether something outside of a group reads one of its members. */
function leaves(member: Vertex, group: Group): boolean {
  for (const u of member.users) if (!group.members.has(u)) return true;
  return false;
}

const sizeOf = (g: Group): number => g.reduces[0]!.size;

/** Both groups reduce the same index space in the same way, so that one loop can serve them. */
function sameLoop(a: Group, b: Group): boolean {
  if (a === b) return true;
  const [x, y] = [a.reduces[0]!, b.reduces[0]!];
  const same = (p: readonly number[], q: readonly number[]) => p.length === q.length && p.every((d, i) => d === q[i]);
  return same(x.sources[0]!.shape, y.sources[0]!.shape) && same(args.reduceOf(x).axes, args.reduceOf(y).axes);
}

/** Vertices and the groups they are in: what can be computed before what. */
class Units {
  readonly #groups = new Map<Vertex, Group>();
  readonly #reach = new Reach<Vertex | Group>((unit) => this.#users(unit));

  groupOf(v: Vertex): Group | undefined {
    return this.#groups.get(v);
  }

  add(v: Vertex): void {
    let top = v.id;
    for (const s of v.sources) top = Math.max(top, this.#reach.of(this.#groups.get(s) ?? s));
    this.#reach.raise(v, top);
  }

  join(group: Group, members: Iterable<Vertex>): void {
    let top = 0;
    for (const m of members) {
      top = Math.max(top, this.#reach.of(this.#groups.get(m) ?? m));
      this.#groups.set(m, group);
    }
    this.#reach.raise(group, top);
  }

  /**
   * Whether computing `members` in one kernel would need one of them from outside first. Other groups are units: to need one
   * vertex of a group is to need all of its sources.
   */
  dependsOnItself(members: ReadonlySet<Vertex>): boolean {
    let lowest = Number.POSITIVE_INFINITY;
    for (const m of members) lowest = Math.min(lowest, m.id);
    const seen = new Set<Vertex>();
    // Reductions read their source through the loop; only other members are at hand inside the kernel.
    const stack = [...members].flatMap((m) => m.sources.filter((s) => m.op === 'reduce' || !members.has(s)));
    for (let v = stack.pop(); v; v = stack.pop()) {
      if (members.has(v)) return true;
      const group = this.#groups.get(v);
      if (seen.has(v) || this.#reach.of(group ?? v) < lowest) continue;
      seen.add(v);
      for (const u of group?.members ?? [v]) for (const s of u.sources) if (!group?.members.has(s)) stack.push(s);
    }
    return false;
  }

  /** Of what was added so far; what comes later looks at its sources itself. */
  *#users(unit: Vertex | Group): Generator<Vertex | Group> {
    const members = 'members' in unit ? unit.members : [unit];
    for (const m of members) {
      for (const u of m.users) {
        const user = this.#groups.get(u) ?? u;
        if (user !== unit && this.#reach.of(user) >= 0) yield user;
      }
    }
  }
}
