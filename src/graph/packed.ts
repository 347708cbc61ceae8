// Rows of flags, where the device packs what they stand for: how many there are, where they are, the values there.
//
// Three patterns of `tensor/compact.ts`, which writes them for every device: the last of a running count is how many there are, and a
// scatter that packs is a compaction. A tensor may hold the running count: if it is read later it is computed then.

import type { Capabilities } from '../devices/device.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';

export function packFlags(graph: Graph, caps: Pick<Capabilities, 'routines'>): void {
  if (!caps.routines.has('compact')) return;
  for (const v of graph.vertices) {
    if (v.op !== 'slice' || v.slot >= 0 || v.shape.length !== 1) continue;
    const { starts, steps } = args.sliceOf(v);
    const [of] = v.sources as [Vertex];
    if (of.op === 'scan' && v.size === 1 && starts[0] === of.size - 1) countOf(v, of);
    else if (of.op === 'scatter' && args.packs(of) && starts[0] === 0 && steps[0] === 1 && v.size === of.size - 1)
      packedBy(v, of);
  }
}

/** The last of a running count is how many flags are true. */
function countOf(v: Vertex, scan: Vertex): void {
  const { combine, reverse } = args.scanOf(scan);
  const [counted] = scan.sources as [Vertex];
  const flags = counted.sources[0];
  if (combine !== 'sum' || reverse || scan.dtype !== 'i32' || counted.op !== 'cast' || flags?.dtype !== 'bool') return;
  scan.held = false;
  become(v, 'count', [flags]);
}

function packedBy(v: Vertex, scatter: Vertex): void {
  const [, at, updates] = scatter.sources as [Vertex, Vertex, Vertex];
  if (at.op !== 'alu' || args.aluOf(at) !== 'where') return;
  const flags = at.sources[0]!;
  if (updates.op === 'iota') become(v, 'positions', [flags]);
  else become(v, 'values', [flags, updates]);
}

function become(v: Vertex, what: 'count' | 'positions' | 'values', sources: readonly Vertex[]): void {
  Object.assign(v, { op: 'compact', arg: args.compact(what), sources } satisfies Partial<Vertex>);
  for (const { users } of sources) if (!users.includes(v)) users.push(v);
}
