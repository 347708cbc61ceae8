// Where a graph is narrow: a vertex through which nearly all that is computed below another one goes.
//
// A kernel that grows too long is best cut there. One value is stored, little is computed on both sides, and the steps of a loop
// that was written out are all cut at the same place: they become one program, compiled once.

import type { Vertex } from './canonical.ts';
import { codeWeight, isView, type Region } from './regions.ts';

export interface Room {
  readonly weight: number;
  readonly inputs: number;
}

/** What a cut may have computed on both sides, as a share of a kernel's code: comparisons of a divisor with zero, say. */
const repeatedShare = 1 / 16;

/** How far down a better waist than the first is looked for, as a share of a kernel's code: what is below it has that much less. */
const searchedShare = 5 / 8;

/**
 * A narrow vertex below `v`, if what is left above it has room in one kernel; null if there is none. Of several near the top the one
 * that most others use: they all overflow the kernel next.
 */
export function waistBelow(v: Vertex, region: Region, room: Room): Vertex | null {
  const above = new Part(region);
  const pending = new Set<Vertex>([v]);
  let best: Vertex | null = null;
  // Sources have lower numbers than their users: the highest one that is left has no user left.
  for (let w = v; ; w = highest(pending)) {
    pending.delete(w);
    if (w !== v && worthStoring(w, v) && above.holdsToo(pending, room)) best = moreUsed(best, w);
    if (w !== v && w.op === 'reduce') return best;
    for (const s of above.take(w)) pending.add(s);
    const share = best ? searchedShare : 1;
    if (pending.size === 0 || above.weight > room.weight * share || above.inputs.size >= room.inputs) return best;
  }
}

const moreUsed = (a: Vertex | null, b: Vertex): Vertex => (a && a.users.length >= b.users.length ? a : b);

const worthStoring = (w: Vertex, v: Vertex): boolean => !isView(w) && w.op !== 'iota' && w.size <= v.size;

function highest(vertices: ReadonlySet<Vertex>): Vertex {
  let found: Vertex | undefined;
  for (const v of vertices) if (!found || found.id < v.id) found = v;
  return found!;
}

/** A part of a region: what it computes and what it reads. */
class Part {
  readonly #region: Region;
  readonly #body = new Set<Vertex>();
  readonly inputs = new Set<Vertex>();
  weight = 0;

  constructor(region: Region) {
    this.#region = region;
  }

  /** Adds a vertex; returns its sources that the region computes. */
  take(v: Vertex): Vertex[] {
    this.#add(v);
    const computed: Vertex[] = [];
    for (const s of v.sources) {
      if (s.op === 'const') this.#add(s);
      else if (this.#region.body.has(s)) computed.push(s);
      else if (s.size > 0) this.inputs.add(s);
    }
    return computed;
  }

  /** Whether there is room for some more vertices and all below them, and for one more input; they must be few. */
  holdsToo(vertices: ReadonlySet<Vertex>, room: Room): boolean {
    const others = new Part(this.#region);
    const seen = new Set(vertices);
    const most = Math.min(room.weight - this.weight, room.weight * repeatedShare);
    for (const v of seen) {
      if (v.op === 'reduce') return false;
      for (const s of others.take(v)) seen.add(s);
      if (others.weight > most) return false;
    }
    return new Set([...this.inputs, ...others.inputs]).size < room.inputs;
  }

  #add(v: Vertex): void {
    if (this.#body.has(v)) return;
    this.#body.add(v);
    this.weight += codeWeight(v);
  }
}
