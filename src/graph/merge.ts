// Kernels over one index space that share an input, or of which one reads the other's result element by element, become one kernel
// with several outputs. So do reductions over one space whose results one kernel reads.
//
// Only kernels that touch the same buffers are compared, the nearest first, and what a merged kernel computes is worked out only
// where that could fail: if one of the two reads the other, or in the end.

import type { Vertex } from './canonical.ts';
import { type Group, isRoutine, type Limits, maxWeight } from './fuse.ts';
import { type LoweredGroup, tryLower } from './kernels.ts';
import { Reach } from './reach.ts';
import { codeWeight } from './regions.ts';
import { routineSources } from './routines.ts';

/** A kernel to be, as far as it must be known to merge it with others. It grows while others become part of it. */
interface Piece {
  group: Group;
  inputs: Set<Vertex>;
  body: Set<Vertex>;
  /** Of the body; see `codeWeight`. */
  weight: number;
  /** Null if it was merged from others that do not read each other. */
  lowered: LoweredGroup | null;
  /** How often it had no room for another one. */
  refusals: number;
}

/** Readers of one buffer that a kernel is compared with: the last ones that have room, as far as is known. */
const mostNeighbours = 48;
/** A kernel that had no room so often is taken to be full. */
const mostRefusals = 48;

export function merge(
  all: readonly LoweredGroup[],
  live: readonly Vertex[],
  stored: ReadonlySet<Vertex>,
  limits: Limits,
): LoweredGroup[] {
  if (all.length < 2) return [...all];
  const web = new Web(all.map(pieceOf), live);
  const done = new Set<Piece>();
  for (const next of web.pieces) {
    let result = next;
    let [candidates, at] = [web.neighbours(next, done), 0];
    while (at < candidates.length) {
      const other = candidates[at++]!;
      const joined = join(other, result, web, stored, limits);
      if (!joined) continue;
      done.delete(other);
      const tried = new Set(candidates.slice(0, at));
      result = joined;
      [candidates, at] = [web.neighbours(result, done).filter((c) => !tried.has(c)), 0];
    }
    done.add(result);
    if (result === next) web.considered(next);
  }
  return [...done].map((p) => p.lowered ?? tryLower(p.group, stored)!);
}

function pieceOf(lowered: LoweredGroup): Piece {
  const body = new Set(lowered.evaluations.keys());
  let weight = 0;
  for (const v of body) weight += codeWeight(v);
  return { group: lowered.group, inputs: new Set(lowered.inputs), body, weight, lowered, refusals: 0 };
}

/** Makes one kernel of two if that is possible. What is merged counts as one kernel from then on: its results wait for all of its inputs. */
function join(a: Piece, b: Piece, web: Web, stored: ReadonlySet<Vertex>, limits: Limits): Piece | undefined {
  if (!sameNest(a.group, b.group)) return;
  if (!fits(a, b, limits)) {
    a.refusals++;
    return;
  }
  const roots = new Set([...a.group.roots, ...b.group.roots]);
  if (web.waitsForItself(roots, a.inputs, b.inputs)) return;
  const apart = !meets(a.inputs, roots) && !meets(b.inputs, roots);
  if (apart && a.group.reduces.length === 0) return web.absorb(a, b);
  const group: Group = {
    roots: [...roots],
    reduces: [...new Set([...a.group.reduces, ...b.group.reduces])],
    members: new Set([...a.group.members, ...b.group.members]),
    space: a.group.space,
  };
  const lowered = tryLower(group, stored);
  return lowered && web.replace(a, b, pieceOf(lowered));
}

function fits(a: Piece, b: Piece, { maxBuffers }: Limits): boolean {
  const written = a.group.roots.length + b.group.roots.length;
  // Cheap to see, and most of the time the answer.
  if (written + Math.max(a.inputs.size, b.inputs.size) > maxBuffers) return false;
  if (written + a.inputs.size + missing(b.inputs, a.inputs) > maxBuffers) return false;
  return a.weight + missingWeight(b.body, a.body) <= maxWeight;
}

/** How many of some vertices are not among others. */
function missing(some: ReadonlySet<Vertex>, others: ReadonlySet<Vertex>): number {
  let n = 0;
  for (const v of some) if (!others.has(v)) n++;
  return n;
}

function missingWeight(some: ReadonlySet<Vertex>, others: ReadonlySet<Vertex>): number {
  let weight = 0;
  for (const v of some) if (!others.has(v)) weight += codeWeight(v);
  return weight;
}

function meets(some: ReadonlySet<Vertex>, others: ReadonlySet<Vertex>): boolean {
  for (const v of some) if (others.has(v)) return true;
  return false;
}

function sameNest(a: Group, b: Group): boolean {
  const same = (p: readonly number[], q: readonly number[]) => p.length === q.length && p.every((d, i) => d === q[i]);
  if (a.reduces.length > 0 !== b.reduces.length > 0 || !same(a.space, b.space)) return false;
  const [x, y] = [a.reduces[0], b.reduces[0]];
  return (
    !x || !y || (same(x.sources[0]!.shape, y.sources[0]!.shape) && same(x.arg.values.slice(1), y.arg.values.slice(1)))
  );
}

type Unit = Piece | Vertex;

/** Who writes and who reads each buffer. */
class Web {
  readonly pieces: readonly Piece[];
  readonly #writer = new Map<Vertex, Unit>();
  readonly #readers = new Map<Vertex, Unit[]>();
  /** Kernels that have become part of others; the lists of readers still name them. */
  readonly #merged = new Set<Unit>();
  /** The readers of each buffer that others are compared with, in the order in which they were made: single kernels, and merged ones. */
  readonly #single = new Map<Vertex, Piece[]>();
  readonly #joined = new Map<Vertex, Piece[]>();
  readonly #reach = new Reach<Unit>((u) => this.#users(u));

  constructor(pieces: readonly Piece[], live: readonly Vertex[]) {
    this.pieces = pieces;
    const units: Unit[] = [...pieces, ...live.filter((v) => isRoutine(v) || v.op === 'second')];
    for (const u of units) this.#wire(u);
    const highest = new Map(units.map((u) => [u, Math.max(...rootsOf(u).map((r) => r.id))]));
    units.sort((p, q) => highest.get(p)! - highest.get(q)!);
    for (const u of units) this.#place(u, highest.get(u)!);
  }

  /** Kernels that read what this one reads, or write it, or read what it writes. */
  neighbours(piece: Piece, among: ReadonlySet<Piece>): Piece[] {
    const found = new Set<Piece>();
    const add = (u: Unit | undefined): void => {
      if (u && u !== piece && among.has(u as Piece)) found.add(u as Piece);
    };
    // Reductions that one kernel reads: in one loop they are one launch instead of several.
    if (piece.group.reduces.length > 0) {
      for (const v of piece.group.roots)
        for (const reader of (this.#readers.get(v) ?? none).slice(-mostNeighbours))
          for (const other of inputsOf(reader)) add(this.#writer.get(other));
    }
    const near = (v: Vertex): void => {
      add(this.#writer.get(v));
      this.#last(this.#single, v, this.#last(this.#joined, v, mostNeighbours, add), add);
    };
    piece.inputs.forEach(near);
    piece.group.roots.forEach(near);
    return [...found];
  }

  /** Shows the last readers of a buffer in a list, at most so many; returns how many more there may be. */
  #last(lists: ReadonlyMap<Vertex, Piece[]>, v: Vertex, most: number, show: (p: Piece) => void): number {
    const list = lists.get(v);
    let left = most;
    let stale = 0;
    for (let i = list ? list.length - 1 : -1; i >= 0 && left > 0; i--) {
      const reader = list![i]!;
      if (!this.#open(reader)) {
        stale++;
        continue;
      }
      left--;
      show(reader);
    }
    // What has become part of others, or is full, is looked at a few times, not for ever.
    if (stale > mostNeighbours) filter(list!, (p) => this.#open(p));
    return left;
  }

  #open(piece: Piece): boolean {
    return piece.refusals < mostRefusals && !this.#merged.has(piece);
  }

  /** A kernel could not be merged with those before it; others may be merged with it. */
  considered(piece: Piece): void {
    for (const v of piece.inputs) append(this.#single, v, piece);
  }

  /** Two kernels become another one. */
  replace(a: Piece, b: Piece, by: Piece): Piece {
    this.#merged.add(a).add(b);
    this.#wire(by);
    for (const v of by.inputs) append(this.#joined, v, by);
    this.#place(by, Math.max(this.#reach.of(a), this.#reach.of(b)));
    return by;
  }

  /** A kernel becomes part of another one that reads none of its results, nor the other way round. */
  absorb(a: Piece, b: Piece): Piece {
    this.#merged.add(b);
    for (const v of b.inputs) if (!a.inputs.has(v)) append(this.#readers, v, a);
    for (const r of b.group.roots) this.#writer.set(r, a);
    if (a.lowered) a.group = { ...a.group, roots: [...a.group.roots], members: new Set(a.group.members) };
    a.lowered = null;
    a.group.roots.push(...b.group.roots);
    for (const m of b.group.members) a.group.members.add(m);
    for (const v of b.inputs) a.inputs.add(v);
    a.weight += missingWeight(b.body, a.body);
    for (const v of b.body) a.body.add(v);
    for (const v of a.inputs) if (this.#joined.get(v)?.at(-1) !== a) append(this.#joined, v, a);
    this.#place(a, Math.max(this.#reach.of(a), this.#reach.of(b)));
    for (const u of this.#users(b)) this.#reach.raise(u, this.#reach.of(a));
    return a;
  }

  /** Whether anything that is read depends on what is written through another kernel or routine. */
  waitsForItself(written: ReadonlySet<Vertex>, ...inputs: readonly ReadonlySet<Vertex>[]): boolean {
    let lowest = Number.POSITIVE_INFINITY;
    for (const v of written) lowest = Math.min(lowest, v.id);
    const seen = new Set<Vertex>();
    const stack: Vertex[] = [];
    for (const list of inputs) for (const v of list) if (!written.has(v)) stack.push(v);
    for (let v = stack.pop(); v; v = stack.pop()) {
      if (written.has(v)) return true;
      const unit = this.#writer.get(v);
      if (!unit || seen.has(v) || this.#reach.of(unit) < lowest) continue;
      seen.add(v);
      for (const s of inputsOf(unit)) stack.push(s);
    }
    return false;
  }

  #wire(unit: Unit): void {
    for (const r of rootsOf(unit)) this.#writer.set(r, unit);
    for (const v of inputsOf(unit)) append(this.#readers, v, unit);
  }

  #place(unit: Unit, least: number): void {
    let top = least;
    for (const v of inputsOf(unit)) {
      const writer = this.#writer.get(v);
      if (writer) top = Math.max(top, this.#reach.of(writer));
    }
    this.#reach.raise(unit, top);
  }

  /** Of what was placed so far; what comes later looks at its writers itself. */
  *#users(unit: Unit): Generator<Unit> {
    for (const r of rootsOf(unit)) {
      for (const u of this.#readers.get(r) ?? none)
        if (u !== unit && !this.#merged.has(u) && this.#reach.of(u) >= 0) yield u;
    }
  }
}

const none: readonly Unit[] = [];

function append<T>(lists: Map<Vertex, T[]>, v: Vertex, item: T): void {
  const list = lists.get(v);
  if (list) list.push(item);
  else lists.set(v, [item]);
}

/** Leaves out what does not fit, in place. */
function filter<T>(list: T[], fits: (item: T) => boolean): void {
  let n = 0;
  for (const item of list) if (fits(item)) list[n++] = item;
  list.length = n;
}

const rootsOf = (u: Unit): readonly Vertex[] => ('group' in u ? u.group.roots : [u]);

function inputsOf(u: Unit): Iterable<Vertex> {
  if ('group' in u) return u.inputs;
  return u.op === 'second' ? u.sources : routineSources(u).map((s) => s.vertex);
}
