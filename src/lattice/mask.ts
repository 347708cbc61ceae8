// Which vertices are blocked: one byte each, or null where none is.

import { LatticeConfigError, LatticeTooLargeError, VertexBlockedError, VertexRangeError } from './errors.ts';
import type { Grid } from './grid.ts';

export type Blocked = Iterable<number> | Uint8Array;

/** The most vertices that one array of the host can tell apart. */
const mostVertices = 2 ** 31 - 1;

export class Mask {
  /** 1 where a vertex is blocked. */
  readonly bytes: Uint8Array;
  readonly blocked: number;

  private constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.blocked = bytes.reduce((sum, b) => sum + b, 0);
  }

  /** A copy of what the caller gave; null if nothing is blocked. */
  static of(grid: Grid, blocked: Blocked | null | undefined, where: string): Mask | null {
    if (blocked === undefined || blocked === null) return null;
    if (blocked instanceof Uint8Array && blocked.length !== grid.vertices) {
      throw new LatticeConfigError({
        where,
        problem: `the mask has ${blocked.length} bytes, the lattice ${grid} has ${grid.vertices} vertices`,
        fix: 'Give one byte per vertex, or a list of the blocked vertices.',
      });
    }
    if (typeof blocked !== 'object' || !(Symbol.iterator in blocked)) {
      throw new LatticeConfigError({
        where,
        problem: `blocked is ${String(blocked)}`,
        fix: 'Give a list of vertices, or a Uint8Array with one byte per vertex.',
      });
    }
    if (grid.vertices > mostVertices) {
      throw new LatticeTooLargeError({
        where,
        problem: `a mask of the lattice ${grid} takes ${grid.vertices} bytes, more than the ${mostVertices} of one array`,
        fix: 'Use a smaller lattice, or none of its vertices blocked.',
      });
    }
    const bytes =
      blocked instanceof Uint8Array
        ? blocked.map((b) => (b ? 1 : 0))
        : marked(grid, blocked as Iterable<number>, where);
    const mask = new Mask(bytes);
    return mask.blocked > 0 ? mask : null;
  }

  /** Refuses a vertex that is blocked. */
  static free(mask: Mask | null, vertex: number, where: string): number {
    if (!mask?.bytes[vertex]) return vertex;
    throw new VertexBlockedError({
      where,
      problem: `vertex ${vertex} is blocked`,
      fix: 'Use a vertex that is not blocked, or change what is blocked with setBlocked().',
    });
  }
}

function marked(grid: Grid, list: Iterable<number>, where: string): Uint8Array {
  const bytes = new Uint8Array(grid.vertices);
  for (const v of list) {
    if (!Number.isSafeInteger(v) || v < 0 || v >= grid.vertices) {
      throw new VertexRangeError({
        where,
        problem: `the mask blocks ${String(v)}, which is no vertex of the lattice ${grid}`,
        fix: `Use whole numbers from 0 to ${grid.vertices - 1}.`,
      });
    }
    bytes[v] = 1;
  }
  return bytes;
}

/** Ascending. */
export function freeVertices({ bytes }: Mask): number[] {
  const free: number[] = [];
  bytes.forEach((blocked, v) => {
    if (!blocked) free.push(v);
  });
  return free;
}
