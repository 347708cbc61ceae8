// Small products of one shape that do not need each other become one launch, where the device takes lists of them.
//
// A small product leaves most of a device idle, and its launch costs as much as its work. Each keeps its operands where they are, its own
// result and the order of its sums.

import { canonical } from '../kernel/canonical.ts';
import type { Matmul, Products } from '../kernel/kernel.ts';
import type { Draft } from './plan.ts';

/** Multiplications of one product: larger ones fill a device by themselves, and their results should not have to wait for each other. */
const mostMultiplications = 2 ** 27;

export function joinProducts(steps: readonly Draft[], maxBuffers: number): Draft[] {
  const done: Draft[] = [];
  for (let i = 0; i < steps.length; ) {
    const run = runFrom(steps, i, Math.floor(maxBuffers / 3));
    done.push(run.length > 1 ? joined(run) : steps[i]!);
    i += Math.max(1, run.length);
  }
  return done;
}

/** The steps from one on that are the same product of other operands. */
function runFrom(steps: readonly Draft[], at: number, most: number): Draft[] {
  const run: Draft[] = [];
  const made = new Set<number>();
  let key: string | null = null;
  for (let i = at; i < steps.length && run.length < most; i++) {
    const step = steps[i]!;
    const product = smallProduct(step);
    if (!product || step.buffers.some((b) => made.has(b))) break;
    const own = canonical(product);
    if (key !== null && own !== key) break;
    key = own;
    run.push(step);
    made.add(step.buffers[2]!);
  }
  return run;
}

function smallProduct({ work }: Draft): Matmul | null {
  if (work.kind !== 'routine' || work.op !== 'matmul' || work.epilogue || work.batch !== 1) return null;
  const multiplications = work.m * work.n * work.k;
  return multiplications > 0 && multiplications <= mostMultiplications ? work : null;
}

function joined(run: readonly Draft[]): Draft {
  const product = run[0]!.work as Matmul;
  const count = run.length;
  const { flops, bytesRead, bytesWritten } = product.estimate;
  const work: Products = {
    kind: 'routine',
    op: 'products',
    name: product.name.replace('matmul', `matmul_${count}of`),
    count,
    product,
    estimate: { flops: count * flops, bytesRead: count * bytesRead, bytesWritten: count * bytesWritten },
  };
  const buffers = [0, 1, 2].flatMap((part) => run.map((s) => s.buffers[part]!));
  return { work, fused: work, buffers, outputs: count, scalars: [] };
}
