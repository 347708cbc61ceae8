// From routine vertices to the routines devices implement, and the buffers they read.

import { stridesOf } from '../base/shape.ts';
import { estimateRoutine } from '../kernel/estimate.ts';
import { workingLength } from '../kernel/fourier.ts';
import type { BufferParam, Routine } from '../kernel/kernel.ts';
import { args } from './args.ts';
import type { Vertex } from './canonical.ts';
import type { FusedEpilogue } from './epilogue.ts';
import { storedAs } from './stored-as.ts';

export interface RoutineSource {
  /** The vertex whose buffer is read. */
  readonly vertex: Vertex;
  /** Read as the transpose of its last two axes. */
  readonly transposed: boolean;
}

/** What a routine reads. Transposes of matmul operands are seen through instead of copied, and so is one update that is spread over all. */
export function routineSources(v: Vertex): RoutineSource[] {
  return v.sources.map((s, i) => {
    if (v.op === 'scatter' && i === 2) return { vertex: storedAs(oneUpdate(s) ?? s), transposed: false };
    if (v.op === 'matmul') {
      const inner = s.op === 'permute' && swapsLastTwo(args.listOf(s)) ? s.sources[0]! : undefined;
      if (inner) return { vertex: storedAs(inner), transposed: true };
    }
    return { vertex: storedAs(s), transposed: false };
  });
}

const spreads = new Set<Vertex['op']>(['expand', 'reshape', 'permute']);

/** The one element that all updates of a scatter are, if that can be seen. */
function oneUpdate(updates: Vertex): Vertex | null {
  let v = updates;
  while (v.size > 1 && spreads.has(v.op)) v = v.sources[0]!;
  return v.size === 1 && v.op !== 'const' ? v : null;
}

function swapsLastTwo(order: readonly number[]): boolean {
  const rank = order.length;
  return (
    rank >= 2 && order.every((from, to) => from === (to === rank - 1 ? rank - 2 : to === rank - 2 ? rank - 1 : to))
  );
}

const param = (v: Vertex): BufferParam => ({ type: v.dtype, elements: v.size });

const transformNames = { complex: 'fft', real: 'rfft', hermitian: 'irfft' } as const;

export function routineOf(v: Vertex, fused: FusedEpilogue | null = null): Routine {
  const dims = v.shape.join('x');
  switch (v.op) {
    case 'matmul': {
      const [a, b] = v.sources as [Vertex, Vertex];
      const [sa, sb] = routineSources(v);
      const rank = v.shape.length;
      const [m, n, k] = [v.shape[rank - 2]!, v.shape[rank - 1]!, a.shape[a.shape.length - 1]!];
      const batch = v.size / (m * n);
      const name = `matmul_${v.dtype}_${batch > 1 ? `${batch}x` : ''}${m}x${k}x${n}`;
      const extra = fused?.epilogue.inputs ?? [];
      return {
        kind: 'routine',
        op: 'matmul',
        name: fused ? `${name}_${fused.name}` : name,
        type: v.dtype,
        batch,
        batchA: a.size / (m * k),
        batchB: b.size / (k * n),
        m,
        n,
        k,
        transposeA: sa!.transposed,
        transposeB: sb!.transposed,
        precision: args.matmulOf(v),
        epilogue: fused?.epilogue ?? null,
        estimate: estimateRoutine(
          2 * batch * m * n * k + (fused?.cost ?? 0) * v.size,
          [param(a), param(b), ...extra],
          [param(fused?.root ?? v)],
        ),
      };
    }
    case 'attention':
      return v.attention!.routine;
    case 'sort': {
      const columns = v.shape[v.shape.length - 1]!;
      const positions: BufferParam = { type: 'i32', elements: v.size };
      return {
        kind: 'routine',
        op: 'sort',
        name: `sort_${v.dtype}_${dims}`,
        type: v.dtype,
        rows: v.size / columns,
        columns,
        descending: args.sortOf(v),
        estimate: estimateRoutine(v.size * Math.ceil(Math.log2(columns + 1)), [param(v)], [param(v), positions]),
      };
    }
    case 'topk': {
      const [source] = v.sources as [Vertex];
      const columns = source.shape[source.shape.length - 1]!;
      const count = v.shape[v.shape.length - 1]!;
      const first = v.first ?? 0;
      const descending = args.sortOf(v);
      const positions: BufferParam = { type: 'i32', elements: v.size };
      return {
        kind: 'routine',
        op: 'topk',
        name: `${descending ? 'largest' : 'smallest'}${first > 0 ? `${first}to` : ''}${first + count}_${v.dtype}_${source.shape.join('x')}`,
        type: v.dtype,
        rows: v.size / count,
        columns,
        first,
        count,
        descending,
        estimate: estimateRoutine(4 * source.size, [param(source)], [param(v), positions]),
      };
    }
    case 'compact': {
      const [flags, values] = v.sources as [Vertex, Vertex | undefined];
      const what = args.compactOf(v);
      return {
        kind: 'routine',
        op: 'compact',
        name: `${what === 'count' ? 'count' : `pack_${what === 'values' ? v.dtype : what}`}_${flags.size}`,
        what,
        type: v.dtype,
        length: flags.size,
        count: v.size,
        estimate: estimateRoutine(flags.size, values ? [param(flags), param(values)] : [param(flags)], [param(v)]),
      };
    }
    case 'scan': {
      const { combine, axis, reverse } = args.scanOf(v);
      const inner = stridesOf(v.shape)[axis]!;
      const length = v.shape[axis]!;
      const [source] = v.sources as [Vertex];
      const narrow = source.dtype !== v.dtype;
      return {
        kind: 'routine',
        op: 'scan',
        name: `cum${combine}_${narrow ? `${source.dtype}_as_` : ''}${v.dtype}_${dims}`,
        type: v.dtype,
        ...(narrow ? { from: source.dtype } : {}),
        combine: combine as Exclude<typeof combine, 'set'>,
        outer: v.size / (inner * length),
        length,
        inner,
        reverse,
        estimate: estimateRoutine(v.size, [param(source)], [param(v)]),
      };
    }
    case 'scatter': {
      const { combine, axis, perElement, clips } = args.scatterOf(v);
      const [base, at, updates] = v.sources as [Vertex, Vertex, Vertex];
      const inner = stridesOf(v.shape)[axis]!;
      const length = v.shape[axis]!;
      const outer = v.size / (inner * length);
      const one = oneUpdate(updates);
      return {
        kind: 'routine',
        op: 'scatter',
        name: `scatter_${combine}_${v.dtype}_${dims}`,
        type: v.dtype,
        combine,
        outer,
        length,
        inner,
        count: updates.size / (outer * inner),
        perElement,
        clips,
        uniform: one !== null,
        estimate: estimateRoutine(updates.size, [param(base), param(at), param(one ?? updates)], [param(v)]),
      };
    }
    case 'fourier': {
      const [rows, made] = v.shape as readonly [number, number];
      const given = v.sources[0]!.shape[1]!;
      const form = args.backOf(v) ? 'hermitian' : v.sources.length === 2 ? 'complex' : 'real';
      const [length, frequencies] = form === 'hermitian' ? [made, given] : [given, made];
      const size = workingLength(length);
      const flops = (form === 'complex' ? 5 : 2.5) * rows * size * Math.ceil(Math.log2(size + 1));
      return {
        kind: 'routine',
        op: 'fourier',
        name: `${transformNames[form]}_${v.dtype}_${rows}x${length}`,
        type: v.dtype,
        rows,
        length,
        form,
        frequencies,
        estimate: estimateRoutine(
          flops,
          v.sources.map(param),
          form === 'hermitian' ? [param(v)] : [param(v), param(v)],
        ),
      };
    }
    default:
      throw new Error(`${v.op} is not a routine`);
  }
}
