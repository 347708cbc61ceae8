// Running sums of integers that are narrower than their sums, where the device widens them as it reads them: the cast before the scan goes.

import type { DType } from '../base/dtype.ts';
import { stridesOf } from '../base/shape.ts';
import type { Capabilities } from '../devices/device.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';

const narrow: ReadonlySet<DType> = new Set(['u8', 'i32', 'u32']);
const wide: ReadonlySet<DType> = new Set(['i64', 'u64']);
/** Shorter rows are not worth a program of their own. */
const shortest = 64;

export function widenInScans(graph: Graph, caps: Pick<Capabilities, 'widensScans'>): void {
  if (!caps.widensScans) return;
  const outputs = new Set(graph.outputs);
  for (const v of graph.vertices) {
    if (v.op !== 'scan' || !wide.has(v.dtype)) continue;
    const [cast] = v.sources as [Vertex];
    const from = cast.sources[0];
    if (cast.op !== 'cast' || !from || !narrow.has(from.dtype) || outputs.has(cast) || cast.users.length > 1) continue;
    const { combine, axis, reverse } = args.scanOf(v);
    if (combine !== 'sum' || reverse || stridesOf(v.shape)[axis] !== 1 || v.shape[axis]! < shortest) continue;
    Object.assign(v, { sources: [from] } satisfies Partial<Vertex>);
    from.users = from.users.map((user) => (user === cast ? v : user));
    cast.held = false;
    cast.users = [];
  }
}
