// From kernels and routines to what the cost model needs to know of them.

import type { OperationType } from '../../base/operations.ts';
import { sizeOf } from '../../base/shape.ts';
import type { Expr } from '../../kernel/expr.ts';
import type { Kernel, Routine, RoutineOp } from '../../kernel/kernel.ts';
import { below } from '../../kernel/walk.ts';
import type { KernelClass, Operation, WorkItem } from './types.ts';

/** Additions per element from which a kernel's arithmetic, not its memory traffic, is what takes the time. */
const heavyFlops = 12;

export const workOf = (steps: readonly (Kernel | Routine)[]): readonly WorkItem[] => steps.map(itemOf);

function itemOf(step: Kernel | Routine): WorkItem {
  const { flops, bytesRead, bytesWritten } = step.estimate;
  const bytes = bytesRead + bytesWritten;
  if (step.kind === 'routine') return { class: routineClasses[step.op], flops, bytes, elements: routineElements(step) };
  const elements = sizeOf(step.space) * sizeOf(step.reduced);
  const gathers = gathersOf(step);
  const cls = step.accumulators.length > 0 ? 'reduce' : flops >= heavyFlops * elements ? 'heavy' : 'map';
  return gathers > 0 ? { class: cls, flops, bytes, elements, gathers } : { class: cls, flops, bytes, elements };
}

/** Attention is products, a transform arithmetic; compaction counts as it goes; rows, and those whose first elements are found, are read as for a reduction. */
const routineClasses: Readonly<Record<RoutineOp, WorkItem['class']>> = {
  matmul: 'matmul',
  products: 'matmul',
  attention: 'matmul',
  rows: 'reduce',
  topk: 'reduce',
  sort: 'sort',
  scan: 'scan',
  scatter: 'scatter',
  compact: 'scan',
  fourier: 'heavy',
  raw: 'raw',
};

/** How many loads have an index that depends on data. */
function gathersOf(k: Kernel): number {
  let count = 0;
  for (const e of below([...k.outputs, ...k.accumulators].map((o) => o.value)))
    if (e.kind === 'load' && loads(e.index)) count++;
  return count;
}

function loads(index: Expr): boolean {
  for (const e of below([index])) if (e.kind === 'load') return true;
  return false;
}

function routineElements(r: Routine): number {
  switch (r.op) {
    case 'matmul':
      return r.batchA * r.m * r.k;
    case 'attention':
      return r.batchQ * r.queries * r.depth;
    case 'products':
      return r.count * routineElements(r.product);
    case 'sort':
      return r.rows * r.columns;
    case 'scan':
      return r.outer * r.length * r.inner;
    case 'scatter':
      return r.outer * Math.max(r.length, r.count) * r.inner;
    case 'rows':
    case 'topk':
      return r.rows * r.columns;
    case 'compact':
      return r.length;
    case 'fourier':
      return r.rows * r.length;
    case 'raw':
      return r.outputs.reduce((n, o) => n + o.elements, 0);
    default:
      return r satisfies never;
  }
}

/** What a program is called: the name its caller gave it, else the class of its costliest kernel. */
export function operationOf(work: readonly WorkItem[], declared: OperationType | null = null): Operation {
  if (declared) return declared;
  let main: WorkItem | undefined;
  let most = -1;
  for (const item of work) {
    const rank = item.flops + item.bytes;
    if (rank > most) {
      most = rank;
      main = item;
    }
  }
  return main?.class ?? 'unknown';
}

interface Shape {
  readonly class: KernelClass;
  /** Per element. */
  readonly flops: number;
  readonly bytes: number;
  readonly gathers?: number;
  readonly parallel: boolean;
  readonly depends: boolean;
}

const shapeOf: Readonly<Record<OperationType, Shape>> = {
  matrix_multiply: { class: 'matmul', flops: 0, bytes: 12, parallel: true, depends: false },
  matrix_add: { class: 'map', flops: 1, bytes: 12, parallel: true, depends: false },
  element_wise: { class: 'map', flops: 2, bytes: 8, parallel: true, depends: false },
  reduction: { class: 'reduce', flops: 1, bytes: 4, parallel: true, depends: false },
  transform: { class: 'map', flops: 1, bytes: 8, parallel: true, depends: false },
  graph_algorithm: { class: 'map', flops: 1, bytes: 12, gathers: 1, parallel: false, depends: true },
  random_generation: { class: 'heavy', flops: 60, bytes: 4, parallel: true, depends: false },
  lattice_creation: { class: 'map', flops: 2, bytes: 4, parallel: true, depends: false },
  path_finding: { class: 'reduce', flops: 2, bytes: 16, gathers: 1, parallel: false, depends: true },
  unknown: { class: 'map', flops: 1, bytes: 8, parallel: true, depends: false },
};

/** The work of an operation of which only the name and the size are known. */
export function typicalWork(op: OperationType, elements: number): WorkItem {
  const s = shapeOf[op];
  // A square product: two operations for each of side³ terms.
  const flops = op === 'matrix_multiply' ? 2 * elements ** 1.5 : s.flops * elements;
  return { class: s.class, flops, bytes: s.bytes * elements, elements, gathers: s.gathers ?? 0 };
}

export const traitsOf = (op: OperationType): Shape => shapeOf[op];

/** Elements of the largest item. */
export function largest(work: readonly WorkItem[]): number {
  let most = 0;
  for (let i = 0; i < work.length; i++) most = Math.max(most, work[i]!.elements);
  return most;
}
