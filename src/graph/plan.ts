// A plan: the launches of one program on one kind of device, with every buffer's life decided.
//
// Buffers of a plan are numbered: first the leaves, then what the plan makes. Each made buffer is allocated right before
// the step that writes it and released right after the last step that reads it, unless it is a result.

import { byteSize, type DType } from '../base/dtype.ts';
import type { Capabilities } from '../devices/device.ts';
import { decompose, decomposeEpilogue } from '../kernel/decompose/index.ts';
import type { Estimate, Kernel, Routine } from '../kernel/kernel.ts';
import { args } from './args.ts';
import { canonicalize, type Reduced, type Vertex } from './canonical.ts';
import { reservedBuffers } from './fuse.ts';
import type { Node } from './node.ts';
import type { Patterns } from './patterns.ts';
import { routineOf, routineSources } from './routines.ts';
import { type ScheduledWork, schedule } from './schedule.ts';
import { storedAs } from './stored-as.ts';
import type { Trace } from './trace.ts';
import { writtenOut } from './write-out.ts';

export interface LaunchStep {
  readonly work: Kernel | Routine;
  /** The kernel as fused, before functions were decomposed for the device: what `explain` shows. */
  readonly fused: Kernel | Routine;
  /** Plan buffers, inputs then outputs. */
  readonly buffers: readonly number[];
  readonly outputs: number;
  readonly scalars: readonly number[];
  /** Plan buffers that nobody reads after this step. */
  readonly frees: readonly number[];
  /** A plan buffer that ends with this step and whose bytes become the output's; -1 if there is none. */
  readonly reuse: number;
}

export interface Made {
  readonly bytes: number;
  readonly type: DType;
}

export interface Plan {
  readonly leaves: number;
  readonly made: readonly Made[];
  readonly steps: readonly LaunchStep[];
  /** Per requested output the plan buffer that holds it; -1 for an empty tensor. */
  readonly outputs: readonly number[];
  /** Computed values that tensors hold although they were not asked for: trace number and plan buffer. */
  readonly kept: readonly { readonly number: number; readonly buffer: number }[];
  readonly dtypes: ReadonlySet<DType>;
  readonly estimate: Estimate;
}

/** Routines for patterns of several ops or launches: where a device has one of them, plans are made with `patterns.ts`. */
export const patternRoutines = ['rows', 'products', 'attention'] as const;
/** Those for which `selections.ts` is enough. */
export const selectionRoutines = ['topk', 'compact'] as const;

/** `keeps`: what tensors hold is kept where it is computed on the way. */
export function makePlan(
  trace: Trace,
  outputs: readonly Node[],
  caps: Capabilities,
  patterns: Patterns | null = null,
  keeps = true,
): Plan {
  const reduced: Reduced = (what, add) => {
    const out = writtenOut(what, add);
    return out === what && patterns?.reduced ? patterns.reduced(what, add, caps) : out;
  };
  const graph = canonicalize(trace, outputs, caps.maxBuffers - reservedBuffers, keeps, reduced);
  patterns?.fuse(graph, caps);
  const work = schedule(graph, caps);
  const ids = new Map<Vertex, number>();
  const made: Made[] = [];
  for (const v of graph.vertices) if (v.op === 'leaf') ids.set(v, v.slot);
  const leaves = ids.size;
  const make = (v: Vertex, type: DType = v.dtype): number => {
    const id = leaves + made.length;
    made.push({ bytes: v.size * byteSize(type), type });
    ids.set(v, id);
    return id;
  };
  const halves = patterns?.inHalves?.(graph, caps);
  const draft = work.map((w) => draftStep(w, ids, make, made, leaves, caps, halves));
  const results = graph.outputs.map((v) => (v.size === 0 ? -1 : ids.get(storedAs(v))!));
  const asked = new Set(outputs.map((o) => o.number));
  const kept = graph.vertices.flatMap((v) => {
    if (!v.held || v.size === 0 || v.op === 'leaf' || v.op === 'const') return none;
    const buffer = ids.get(storedAs(v));
    if (buffer === undefined || buffer < leaves) return none;
    return v.numbers.filter((n) => !asked.has(n)).map((number) => ({ number, buffer }));
  });
  const lasting = new Set([...results, ...kept.map((k) => k.buffer)]);
  const launches = patterns?.join(draft, lasting, caps) ?? draft;
  const lastUse = new Map<number, number>();
  launches.forEach((s, i) => {
    for (const b of s.buffers) lastUse.set(b, i);
  });
  const steps = launches.map((s, i) => {
    const ends = s.buffers.filter((b) => b >= leaves && lastUse.get(b) === i && !lasting.has(b));
    const frees = ends.length > 1 ? [...new Set(ends)] : ends;
    const reuse = reusable(s, frees, made, leaves);
    const { work, fused, buffers, outputs, scalars } = s;
    // Written out: whatever the work, steps have one layout.
    return { work, fused, buffers, outputs, scalars, frees: frees.filter((b) => b !== reuse), reuse };
  });
  return {
    leaves,
    made,
    steps,
    outputs: results,
    kept,
    dtypes: new Set(graph.vertices.filter((v) => v.op !== 'const').map((v) => v.dtype)),
    estimate: total(steps.map((s) => s.fused.estimate)),
  };
}

const none: Plan['kept'] = [];

/** A launch before it is known what ends with it. */
export type Draft = Omit<LaunchStep, 'frees' | 'reuse'>;

/** An input that may be overwritten in place: it ends here, is as large as the output, and is read element by element. */
function reusable(s: Draft, frees: readonly number[], made: readonly Made[], leaves: number): number {
  if (s.work.kind !== 'kernel' || s.outputs !== 1) return -1;
  const out = made[s.buffers[s.buffers.length - 1]! - leaves]!;
  const found = s.work.inPlace
    .map((slot) => s.buffers[slot]!)
    .find((b) => frees.includes(b) && made[b - leaves]!.bytes === out.bytes);
  return found ?? -1;
}

function draftStep(
  w: ScheduledWork,
  ids: Map<Vertex, number>,
  make: (v: Vertex, type?: DType) => number,
  made: Made[],
  leaves: number,
  caps: Capabilities,
  halves: ReadonlySet<Vertex> | undefined,
): Draft {
  if (w.kind === 'kernel') {
    const { kernel, group, inputs, scalars } = w.lowered;
    const buffers = [...inputs.map((v) => ids.get(v)!), ...group.roots.map((r) => make(r))];
    return {
      work: decompose(kernel, caps.native, { ...caps, inHalves: group.roots.map((r) => halves?.has(r) === true) }),
      fused: kernel,
      buffers,
      outputs: group.roots.length,
      scalars,
    };
  }
  const { vertex, fused } = w;
  const routine = routineOf(vertex, fused);
  const buffers = [...routineSources(vertex).map((s) => s.vertex), ...(fused?.inputs ?? [])].map((v) => ids.get(v)!);
  buffers.push(make(fused?.root ?? vertex));
  if (fused && routine.op === 'matmul') {
    const work = { ...routine, epilogue: decomposeEpilogue(fused.epilogue, caps.native, caps) };
    return { work, fused: routine, buffers, outputs: 1, scalars: fused.scalars };
  }
  if (routine.op === 'attention') {
    const work = { ...routine, scores: decomposeEpilogue(routine.scores, caps.native, caps) };
    return { work, fused: routine, buffers, outputs: 1, scalars: vertex.attention!.scalars };
  }
  const second = vertex.users.find((u) => u.op === 'second');
  if (routine.op === 'sort' && !second && caps.valueSorts) {
    const work = { ...routine, name: `${routine.name}_values`, valuesOnly: true };
    return { work, fused: work, buffers, outputs: 1, scalars: [] };
  }
  let outputs = 1;
  const secondType = secondTypeOf(vertex);
  if (secondType) {
    // A `second` vertex names the second result. Most devices write it even if nobody reads it.
    if (second) buffers.push(make(second, secondType));
    else {
      buffers.push(leaves + made.length);
      made.push({ bytes: vertex.size * byteSize(secondType), type: secondType });
    }
    outputs = 2;
  }
  return { work: routine, fused: routine, buffers, outputs, scalars: [] };
}

/** The type of a routine's second result: positions of sorted values, imaginary parts. Null if it has one result. */
function secondTypeOf(v: Vertex): DType | null {
  if (v.op === 'sort' || v.op === 'topk') return 'i32';
  return v.op === 'fourier' && !args.backOf(v) ? v.dtype : null;
}

function total(parts: readonly Estimate[]): Estimate {
  return parts.reduce(
    (a, e) => ({
      flops: a.flops + e.flops,
      bytesRead: a.bytesRead + e.bytesRead,
      bytesWritten: a.bytesWritten + e.bytesWritten,
    }),
    { flops: 0, bytesRead: 0, bytesWritten: 0 },
  );
}
