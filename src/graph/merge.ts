// Kernels over one index space that share an input, or of which one reads the other's result element by element, become one kernel
// with several outputs. So do reductions over one space whose results one kernel reads.
//
// Only kernels that touch the same buffers are compared, the nearest first, and what a merged kernel computes is worked out only
// where that could fail: if one of the two reads the other, or in the end.

import type { Vertex } from './canonical.ts';
import { fitsOneKernel, type Group, isRoutine, type Limits } from './fuse.ts';
import { type LoweredGroup, tryLower } from './kernels.ts';
import { Reach } from './reach.ts';
import { routineSources } from './routines.ts';

/** A kernel to be, as far as it must be known to merge it with others. */
interface Piece {
  readonly group: Group;
  readonly inputs: readonly Vertex[];
  readonly body: ReadonlySet<Vertex>;
  /** Null if it was merged from others that do not read each other. */
  readonly lowered: LoweredGroup | null;
}

/** Readers of one buffer that a kernel is compared with: the last ones. */
const mostNeighbours = 48;

export function merge(
  all: readonly LoweredGroup[],
  live: readonly Vertex[],
  stored: ReadonlySet<Vertex>,
  limits: Limits,
): LoweredGroup[] {
  if (all.length < 2) return [...all];
  const web = new Web(
    all.map((l) => ({ group: l.group, inputs: l.inputs, body: new Set(l.evaluations.keys()), lowered: l })),
    live,
  );
  const done = new Set<Piece>();
  for (const next of web.pieces) {
    let result = next;
    let [candidates, at] = [web.neighbours(next, done), 0];
    while (at < candidates.length) {
      const other = candidates[at++]!;
      const joined = join(other, result, web, stored, limits);
      if (!joined) continue;
      // What is merged already counts as one kernel: its results wait for all of its inputs.
      web.replace(other, result, joined);
      done.delete(other);
      const tried = new Set(candidates.slice(0, at));
      result = joined;
      [candidates, at] = [web.neighbours(result, done).filter((c) => !tried.has(c)), 0];
    }
    done.add(result);
  }
  return [...done].map((p) => p.lowered ?? tryLower(p.group, stored)!);
}

function join(a: Piece, b: Piece, web: Web, stored: ReadonlySet<Vertex>, limits: Limits): Piece | undefined {
  if (!sameNest(a.group, b.group)) return undefined;
  const roots = new Set([...a.group.roots, ...b.group.roots]);
  const inputs = new Set([...a.inputs, ...b.inputs]);
  if (inputs.size + roots.size > limits.maxBuffers) return undefined;
  if (!fitsOneKernel(a.body, b.body)) return undefined;
  if (web.waitsForItself(roots, inputs)) return undefined;
  const group: Group = {
    roots: [...roots],
    reduces: [...new Set([...a.group.reduces, ...b.group.reduces])],
    members: new Set([...a.group.members, ...b.group.members]),
    space: a.group.space,
  };
  const apart = a.inputs.every((v) => !roots.has(v)) && b.inputs.every((v) => !roots.has(v));
  if (apart && group.reduces.length === 0)
    return { group, inputs: [...inputs], body: new Set([...a.body, ...b.body]), lowered: null };
  const lowered = tryLower(group, stored);
  return lowered && { group, inputs: lowered.inputs, body: new Set(lowered.evaluations.keys()), lowered };
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
  readonly #reach = new Reach<Unit>((u) => this.#users(u));

  constructor(pieces: readonly Piece[], live: readonly Vertex[]) {
    this.pieces = pieces;
    const units: Unit[] = [...pieces, ...live.filter((v) => isRoutine(v) || v.op === 'positions')];
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
    for (const v of [...piece.inputs, ...piece.group.roots]) {
      add(this.#writer.get(v));
      const readers = this.#readers.get(v) ?? none;
      for (let i = readers.length - 1, left = mostNeighbours; i >= 0 && left > 0; i--) {
        if (this.#merged.has(readers[i]!)) continue;
        left--;
        add(readers[i]);
      }
    }
    return [...found];
  }

  replace(a: Piece, b: Piece, by: Piece): void {
    this.#merged.add(a).add(b);
    this.#wire(by);
    this.#place(by, Math.max(this.#reach.of(a), this.#reach.of(b)));
  }

  /** Whether anything that is read depends on what is written through another kernel or routine. */
  waitsForItself(written: ReadonlySet<Vertex>, inputs: Iterable<Vertex>): boolean {
    let lowest = Number.POSITIVE_INFINITY;
    for (const v of written) lowest = Math.min(lowest, v.id);
    const seen = new Set<Vertex>();
    const stack: Vertex[] = [];
    for (const v of inputs) if (!written.has(v)) stack.push(v);
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
    for (const v of inputsOf(unit)) {
      const readers = this.#readers.get(v);
      if (readers) readers.push(unit);
      else this.#readers.set(v, [unit]);
    }
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

const rootsOf = (u: Unit): readonly Vertex[] => ('group' in u ? u.group.roots : [u]);

function inputsOf(u: Unit): readonly Vertex[] {
  if ('group' in u) return u.inputs;
  return u.op === 'positions' ? u.sources : routineSources(u).map((s) => s.vertex);
}
