// Vertices that share a buffer: which one's elements, in the same order, are those of another.

import type { Vertex } from './canonical.ts';

/** The vertex whose buffer holds this one's elements in the same order. */
export function storedAs(v: Vertex): Vertex {
  while (isAlias(v)) v = v.sources[0]!;
  return v;
}

// Sorts and transforms have two results, which two vertices name: the routine's own buffer holds the first.
function isAlias(v: Vertex): boolean {
  if (v.op === 'first') return true;
  return (v.op === 'reshape' || v.op === 'expand') && v.sources[0]!.size === v.size && v.sources[0]!.op !== 'const';
}
