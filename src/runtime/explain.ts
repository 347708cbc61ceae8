// What will run, in words: the kernels of a tensor, their work, and the device.

import { show } from '../base/shape.ts';
import type { Prediction } from '../governor/routing/types.ts';
import type { Node } from '../graph/node.ts';
import type { Kernel, Routine } from '../kernel/kernel.ts';
import { printKernel } from '../kernel/print.ts';
import type { Engine } from './engine.ts';
import { anywhere } from './want.ts';

export interface Explanation {
  /** The device, and why this one. */
  readonly device: string;
  readonly reason: string;
  /** What it would cost on each device that could do it; empty if there was no choice. */
  readonly predictions: readonly Prediction[];
  /** Those it takes, or those that have computed it; empty for data from outside. */
  readonly kernels: readonly {
    readonly name: string;
    readonly flops: number;
    readonly bytes: number;
    readonly body: string;
  }[];
  /** Bytes of intermediate results. */
  readonly temporaryBytes: number;
  toString(): string;
}

export function explain(engine: Engine, node: Node, why: (device: string) => string): Explanation {
  if (node.storage) {
    const device = node.storage.place?.id ?? 'host';
    const reason = `already computed: ${node.storage.bytes} bytes on ${device}`;
    const { by } = node.storage;
    const kernels = by ? by.steps.map(({ fused }) => kernelOf(fused, by.name)) : [];
    const made = kernels.length > 0 ? `, by ${count(kernels.length, 'kernel')}` : '';
    const text = [`${title(node)}: ${reason}${made}`, ...linesOf(kernels)].join('\n');
    return { device, reason, predictions: [], kernels, temporaryBytes: 0, toString: () => text };
  }
  const { plan, place, decision } = engine.plan([node], { ...anywhere, awaits: true });
  const predictions = decision?.predictions ?? [];
  const kernels = plan.steps.map(({ fused }) => kernelOf(fused, null));
  const results = new Set(plan.outputs.map((b) => b - plan.leaves));
  const temporaryBytes = plan.made.reduce((sum, m, i) => sum + (results.has(i) ? 0 : m.bytes), 0);
  const reason = decision?.reason ?? why(place.id);
  const head = `${title(node)} on ${place.id} (${reason}): ${count(kernels.length, 'kernel')}, ${bytes(temporaryBytes)} of temporaries`;
  return {
    device: place.id,
    reason,
    predictions,
    kernels,
    temporaryBytes,
    toString: () => [head, ...linesOf(kernels)].join('\n'),
  };
}

type ExplainedKernel = Explanation['kernels'][number];

const kernelOf = (work: Kernel | Routine, name: string | null): ExplainedKernel => ({
  name: name ?? work.name,
  flops: work.estimate.flops,
  bytes: work.estimate.bytesRead + work.estimate.bytesWritten,
  body: describe(work),
});

const linesOf = (kernels: readonly ExplainedKernel[]): string[] =>
  kernels.flatMap((k, i) => [
    `  ${i + 1}. ${k.name}   ${count(k.flops, 'flop')}, ${bytes(k.bytes)} moved`,
    ...k.body.split('\n').map((l) => `       ${l}`),
  ]);

const title = (node: Node): string => `${node.dtype} ${show(node.shape.values)}`;

function describe(work: Kernel | Routine): string {
  if (work.kind === 'kernel') return printKernel(work);
  if (work.op === 'rows') {
    const head = `${work.rows} rows of ${work.columns}, each kept on the chip`;
    return [head, ...work.stages.map((s) => printKernel(s.kernel))].join('\n');
  }
  if (work.op === 'attention') {
    const { batch, queries, keys, depth, width, type } = work;
    return `${batch} × ${queries} queries of ${keys} keys, heads of ${depth} and ${width}, ${type}; scores stay on the chip`;
  }
  if (work.op === 'products') return `${work.count} × ${describe(work.product)}`;
  return `${work.op} of ${work.op === 'raw' ? work.language : work.type}`;
}

const units = ['', ' thousand', ' million', ' billion', ' trillion'];

function count(n: number, what: string): string {
  let k = 0;
  while (n >= 10_000 && k < units.length - 1) {
    n /= 1000;
    k++;
  }
  const text = k === 0 ? `${n}` : `${n.toFixed(n < 100 ? 1 : 0)}${units[k]}`;
  return `${text} ${what}${n === 1 && k === 0 ? '' : 's'}`;
}

function bytes(n: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let k = 0;
  while (n >= 1024 && k < names.length - 1) {
    n /= 1024;
    k++;
  }
  return `${k === 0 ? n : n.toFixed(1)} ${names[k]}`;
}
