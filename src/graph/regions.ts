// What computing a vertex inside one kernel would take: the vertices below it that have no buffer, the positions each of them
// is needed at, and the buffers that are read.
//
// A position is named by the way that leads to it: the ops that move elements between the two vertices. Rolls add up, so
// `x.roll(1).roll(-1)` is a way of no length. Equal ways are one number; different ways may still meet at one position, so the number
// of ways is an upper bound. A region is kept only until the last user of its vertex was seen, and is passed on where
// it can be: a chain of any length costs its length.

import { type DType, is64BitInt, isFloat } from '../base/dtype.ts';
import { type AluOp, aluOps } from '../kernel/ops.ts';
import { args } from './args.ts';
import type { Vertex } from './canonical.ts';

export interface Region {
  readonly inputs: Set<Vertex>;
  /** Reductions below that may be computed in the same kernel; what cannot follow them there reads them from buffers. */
  readonly reduces: ReadonlySet<Vertex>;
  readonly body: Set<Vertex>;
  /** Of the body; see `codeWeight`. */
  weight: number;
  /** What is computed where: a vertex and a way, as one number. */
  readonly at: Set<number>;
  /** Some of them lie elsewhere than the vertex itself. */
  moved: boolean;
  /** Additions it takes to compute the vertex at one position. */
  cost: number;
  /** How many vertices had been stored when this was put together. */
  version: number;
}

/** A function becomes dozens of operations, and counts as several. */
const functionCost = 12;
const functionWeight = 4;

/** Those that become hundreds, in the same units: some dozen operations each. */
const longFunctions: Readonly<Partial<Record<AluOp, (type: DType) => number>>> = {
  // Compilers of GPUs take the square of its length and more: twelve of f32 in a kernel took a second on an H200.
  mod: (type) => (type === 'f64' ? 192 : 96),
  // Of integers it is a chain of squares, one step for each bit: as deep as it is long, and renderers go down into it.
  pow: (type) => (isFloat(type) ? 13 : is64BitInt(type) ? 54 : 27),
  sin: () => 13,
  cos: () => 13,
  tan: () => 13,
};

/**
 * A constant is an operand of what it is for. It counts all the same: one that is a launch scalar takes room among the arguments, of which
 * CUDA has 512, buffers among them.
 */
const constantWeight = 0.625;

/** How much code a vertex is. */
export function codeWeight(v: Vertex): number {
  if (v.op === 'const') return constantWeight;
  if (v.op !== 'alu') return 1;
  return longFunctions[args.aluOf(v)]?.(v.dtype) ?? (ownCost(v) >= functionCost ? functionWeight : 1);
}

/** Additions that a vertex itself takes per position. A concatenation chooses between its parts. */
function ownCost(v: Vertex): number {
  if (v.op === 'alu') return aluOps[args.aluOf(v)].cost;
  return v.op === 'concat' ? v.sources.length - 1 : 0;
}

export class Regions {
  /** Vertices that have, or will have, a buffer. */
  readonly stored: Set<Vertex>;
  readonly #vertices: readonly Vertex[];
  /** More than any vertex's id. */
  readonly #stride: number;
  readonly #ways = new Ways();
  /** By vertex; constants have none, as they are the same in every kernel. */
  readonly #of: (Region | undefined)[] = [];
  /** Users that are still to come. */
  readonly #awaited: number[] = [];
  /** Vertices that were stored on the way, in order. */
  readonly #late: Vertex[] = [];
  /** By vertex: computations and additions below it, as last seen. */
  readonly #sizes: number[] = [];
  readonly #costs: number[] = [];
  readonly #byId: Vertex[] = [];

  constructor(vertices: readonly Vertex[], stored: Set<Vertex>) {
    this.#vertices = vertices;
    this.stored = stored;
    this.#stride = 1 + (vertices[vertices.length - 1]?.id ?? 0);
    for (const v of vertices) {
      this.#awaited[v.id] = v.users.length;
      this.#byId[v.id] = v;
    }
  }

  /** Every vertex with its region, sources before users. */
  *[Symbol.iterator](): Generator<[Vertex, Region]> {
    for (const v of this.#vertices) {
      if (v.op === 'leaf' || v.op === 'const') continue;
      for (const s of v.sources) if (this.#of[s.id]) this.#refresh(s);
      this.#build(v, true);
      yield [v, this.#of[v.id]!];
      const made = this.#of[v.id]!;
      this.#sizes[v.id] = made.at.size;
      this.#costs[v.id] = made.cost;
      if (v.users.length === 0 || this.stored.has(v)) this.#of[v.id] = undefined;
      v.sources.forEach((s, i) => {
        if (v.sources.indexOf(s) === i && --this.#awaited[s.id]! <= 0) this.#of[s.id] = undefined;
      });
    }
  }

  /** Vertices below `v` get a buffer after all; returns what `v` takes then. */
  store(below: readonly Vertex[], v: Vertex): Region {
    for (const b of below) {
      this.stored.add(b);
      this.#late.push(b);
      this.#of[b.id] = undefined;
    }
    return this.#rebuild(v);
  }

  /** The regions of the sources of a vertex that have no buffer. */
  below(v: Vertex): Map<Vertex, Region> {
    this.#rebuild(v);
    return new Map(this.#computed(v).map((s) => [s, this.#of[s.id]!]));
  }

  /** Vertices that `region` computes at several positions, with their number. */
  repeated(region: Region): Map<Vertex, number> {
    const times = new Map<Vertex, number>();
    if (!region.moved) return times;
    for (const at of region.at) {
      const v = this.#byId[at % this.#stride]!;
      times.set(v, (times.get(v) ?? 0) + 1);
    }
    for (const [v, n] of times) if (n === 1) times.delete(v);
    return times;
  }

  /** Additions that computing a vertex takes, and the computations that are. */
  costOf = (v: Vertex): number => this.#costs[v.id] ?? 0;
  sizeOf = (v: Vertex): number => this.#sizes[v.id] ?? 0;

  readonly #isInput = (v: Vertex): boolean => v.op === 'leaf' || this.stored.has(v);

  /** The sources that are computed along with a vertex, without constants. Empty ones are never computed. */
  #computed(v: Vertex): readonly Vertex[] {
    let found: Vertex[] | null = null;
    for (let i = 0; i < v.sources.length; i++) {
      const s = v.sources[i]!;
      if (s.op === 'const' || s.size === 0 || this.#isInput(s) || v.sources.indexOf(s) < i) continue;
      found ??= [];
      found.push(s);
    }
    return found ?? none;
  }

  /** Puts a region together anew if something in it has been stored since. */
  #refresh(v: Vertex): void {
    const region = this.#of[v.id]!;
    for (let i = region.version; i < this.#late.length; i++) {
      if (!region.body.has(this.#late[i]!)) continue;
      this.#rebuild(v);
      return;
    }
    region.version = this.#late.length;
  }

  #rebuild(v: Vertex): Region {
    const seen = new Set<Vertex>([v]);
    for (const u of seen) for (const s of this.#computed(u)) seen.add(s);
    for (const u of [...seen].sort((p, q) => p.id - q.id)) {
      this.#build(u, false);
      this.#sizes[u.id] = this.#of[u.id]!.at.size;
      this.#costs[u.id] = this.#of[u.id]!.cost;
    }
    const region = this.#of[v.id]!;
    for (const u of seen) if (u !== v && this.#awaited[u.id]! <= 0) this.#of[u.id] = undefined;
    return region;
  }

  /** `last`: regions of sources that nobody else waits for may be taken apart. */
  #build(v: Vertex, last: boolean): void {
    const computed = this.#computed(v);
    let largest: Vertex | null = null;
    for (const s of computed) if (!largest || this.#weightOf(largest) < this.#weightOf(s)) largest = s;
    const taken = largest && last && this.#awaited[largest.id] === 1 ? this.#of[largest.id]! : null;
    const region: Region = {
      inputs: taken ? taken.inputs : new Set(),
      reduces: this.#reduces(v, computed),
      body: taken ? taken.body : new Set(),
      weight: taken ? taken.weight : 0,
      at: taken && keepsPlace(v, largest!) ? taken.at : new Set(),
      moved: false,
      cost: 0,
      version: this.#late.length,
    };
    if (taken && region.at === taken.at) [region.moved, region.cost] = [taken.moved, taken.cost];
    for (let i = 0; i < v.sources.length; i++) {
      const s = v.sources[i]!;
      if (s.size === 0) continue;
      if (s.op === 'const') this.#constant(region, v, i);
      else if (this.#isInput(s)) region.inputs.add(s);
      else this.#join(region, v, i, this.#of[s.id]!);
    }
    for (const s of computed) for (const r of this.#of[s.id]!.reduces) if (!region.reduces.has(r)) region.inputs.add(r);
    addTo(region, v);
    this.#put(region, v.id, 0);
    this.#of[v.id] = region;
  }

  /** A constant that a vertex reads is part of its region. */
  #constant(region: Region, v: Vertex, source: number): void {
    const s = v.sources[source]!;
    addTo(region, s);
    if (v.op !== 'reduce') this.#put(region, s.id, keepsPlace(v, s) ? 0 : this.#ways.through(v, source, 0));
  }

  #reduces(v: Vertex, computed: readonly Vertex[]): ReadonlySet<Vertex> {
    if (v.op === 'reduce') return new Set([v]);
    let found: Set<Vertex> | null = null;
    if (!follows.has(v.op)) return nothing;
    for (const s of computed)
      for (const r of this.#of[s.id]!.reduces) if (r.size === v.size) found = (found ?? new Set()).add(r);
    return found ?? nothing;
  }

  readonly #weightOf = (v: Vertex): number => this.#of[v.id]!.body.size;

  #join(region: Region, v: Vertex, source: number, part: Region): void {
    if (part.inputs !== region.inputs) for (const i of part.inputs) region.inputs.add(i);
    if (part.body !== region.body) for (const b of part.body) addTo(region, b);
    // What a reduction reads is computed in its loop, whoever reads the reduction.
    if (part.at === region.at || v.op === 'reduce') return;
    const stays = keepsPlace(v, v.sources[source]!);
    if (stays && !part.moved) {
      for (const at of part.at) this.#put(region, at % this.#stride, Math.floor(at / this.#stride));
      return;
    }
    let [from, to] = [-1, -1];
    for (const at of part.at) {
      const way = Math.floor(at / this.#stride);
      if (way !== from) [from, to] = [way, stays ? way : this.#ways.through(v, source, way)];
      this.#put(region, at % this.#stride, to);
    }
  }

  #put(region: Region, id: number, way: number): void {
    const at = way * this.#stride + id;
    if (region.at.has(at)) return;
    region.at.add(at);
    region.cost += ownCost(this.#byId[id]!);
    if (way !== 0) region.moved = true;
  }
}

function addTo(region: Region, v: Vertex): void {
  if (region.body.has(v)) return;
  region.body.add(v);
  region.weight += codeWeight(v);
}

const none: readonly Vertex[] = [];

const inPlace = new Set<Vertex['op']>(['alu', 'cast', 'bitcast', 'first']);

/** Ops that keep every element at its linear position: they can follow a reduction in its kernel. */
export const follows: ReadonlySet<Vertex['op']> = new Set(['alu', 'cast', 'bitcast', 'reshape']);

const views = new Set<Vertex['op']>(['slice', 'expand', 'reshape', 'permute', 'roll']);

/** Whether a vertex only shows elements of another one. */
export const isView = (v: Vertex): boolean => views.has(v.op);

const nothing: ReadonlySet<Vertex> = new Set();

/** Whether a vertex reads a source where it is computed itself. One of rank 0 serves every position. */
const keepsPlace = (v: Vertex, source: Vertex): boolean =>
  source.shape.length === v.shape.length &&
  (inPlace.has(v.op) || (v.op === 'gather' && v.arg === args.look && v.sources[0] !== source));

/** Ways from a vertex down to others, as numbers; 0 is the way to itself. */
class Ways {
  readonly #numbers = new Map<string, number>();
  /** Of ways that begin with a roll: its shifts, its shape and the rest. */
  readonly #rolls = new Map<
    number,
    { readonly shifts: readonly number[]; readonly shape: string; readonly rest: number }
  >();
  /** Ways that end at one place wherever they begin. */
  readonly #fixed = new Set<number>();

  /** The way that goes through source number `source` of `v` and then on. */
  through(v: Vertex, source: number, rest: number): number {
    if (this.#fixed.has(rest)) return rest;
    const s = v.sources[source]!;
    if (s.size === 1) return this.#fix(`one ${s.shape.length}|${rest}`);
    if (v.op === 'roll' && v.slot < 0) return this.#rolled(args.listOf(v), v.shape.join(), rest);
    // Where the elements go depends on an index, on how large the other parts are, or on numbers of the launch.
    const own =
      v.op === 'gather' || v.op === 'takeAlong' || v.op === 'concat' || v.slot >= 0 ? `${v.id}.${source}` : '';
    return this.#number(`${v.op}${own} ${v.arg.id} ${s.shape} ${v.shape}|${rest}`);
  }

  #rolled(shifts: readonly number[], shape: string, rest: number): number {
    const next = this.#rolls.get(rest);
    if (next?.shape === shape) {
      const sizes = shape.split(',').map(Number);
      const sum = shifts.map((s, i) => (s + next.shifts[i]!) % sizes[i]!);
      return sum.every((s) => s === 0) ? next.rest : this.#rolled(sum, shape, next.rest);
    }
    const way = this.#number(`roll ${shifts} ${shape}|${rest}`);
    this.#rolls.set(way, { shifts, shape, rest });
    return way;
  }

  #fix(key: string): number {
    const way = this.#number(key);
    this.#fixed.add(way);
    return way;
  }

  #number(key: string): number {
    let way = this.#numbers.get(key);
    if (way === undefined) this.#numbers.set(key, (way = this.#numbers.size + 1));
    return way;
  }
}
