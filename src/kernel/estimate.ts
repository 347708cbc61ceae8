// The work of a kernel, counted from its expressions.

import { byteSize, type DType } from '../base/dtype.ts';
import { sizeOf } from '../base/shape.ts';
import type { Expr } from './expr.ts';
import type { BufferParam, Estimate, Kernel } from './kernel.ts';
import { aluOps } from './ops.ts';
import { operands } from './walk.ts';

/** The cost of computing an expression once, in additions; positions and loads count nothing. */
export function costOf(roots: readonly Expr[]): number {
  const seen = new Set<Expr>();
  const stack = [...roots];
  let cost = 0;
  for (let e = stack.pop(); e; e = stack.pop()) {
    if (seen.has(e) || e.type === 'index') continue;
    seen.add(e);
    if (e.kind === 'alu') cost += aluOps[e.op].cost;
    if (e.kind !== 'load') stack.push(...operands(e));
  }
  return cost;
}

export function estimateKernel(k: Omit<Kernel, 'estimate' | 'name' | 'kind'>): Estimate {
  const outputs = sizeOf(k.space);
  const iterations = outputs * sizeOf(k.reduced);
  const flops =
    costOf(k.outputs.map((o) => o.value)) * outputs +
    (k.accumulators.length > 0 ? (costOf(k.accumulators.map((a) => a.value)) + k.accumulators.length) * iterations : 0);
  return {
    flops,
    bytesRead: k.inputs.reduce((n, i) => n + bytes(i.type, Math.min(i.elements, iterations)), 0),
    bytesWritten: k.outputs.reduce((n, o) => n + bytes(o.type, outputs), 0),
  };
}

/** An estimate for a routine from its operation count and its buffers. */
export function estimateRoutine(
  flops: number,
  read: readonly BufferParam[],
  written: readonly BufferParam[],
): Estimate {
  const total = (list: readonly BufferParam[]) => list.reduce((n, p) => n + bytes(p.type, p.elements), 0);
  return { flops, bytesRead: total(read), bytesWritten: total(written) };
}

const bytes = (type: DType, elements: number): number => byteSize(type) * elements;
