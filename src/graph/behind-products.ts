// Elementwise work between a product and windows over it, as in layers of convolutions: bias and activation, then the next stencil.
//
// A stencil would compute such work again at each of its positions, or store it in a kernel of its own. Behind a product it costs nothing:
// the product stores that instead of itself (epilogue.ts).

import type { Vertex } from './canonical.ts';
import { storedAs } from './stored-as.ts';

const inPlace = new Set<Vertex['op']>(['alu', 'cast', 'reshape']);

/** The values to be stored instead of the products they are made of. */
export function behindProducts(live: readonly Vertex[]): Vertex[] {
  return live.flatMap((v) => {
    if (v.op !== 'matmul') return [];
    let last = v;
    for (let user = only(last); user && inPlace.has(user.op) && user.size === v.size; user = only(last)) last = user;
    const stored = storedAs(last);
    return stored !== v && readByWindows(last) ? [stored] : [];
  });
}

const only = (v: Vertex): Vertex | null => (v.users.length === 1 ? v.users[0]! : null);

/** Whether windows are all that reads a value, also through padding. */
const readByWindows = (v: Vertex): boolean =>
  v.users.length > 0 && v.users.every((u) => u.op === 'window' || (u.op === 'pad' && readByWindows(u)));
