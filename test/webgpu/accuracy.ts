// The largest error of every decomposed function on an adapter, in units in the last place, over numbers of all exponents.

import { seededRandom } from '../../src/base/seeded.ts';
import type { Device } from '../../src/devices/device.ts';
import { accuracy, decompose } from '../../src/kernel/decompose/index.ts';
import { type AluOp, aluOps } from '../../src/kernel/ops.ts';
import { meaning } from '../../src/kernel/semantics.ts';
import { ulps } from '../support/decompose.ts';
import { bytesOf, Exprs, kernelOf, runOn, valuesOf } from './support.ts';

export interface Accuracy {
  readonly op: string;
  readonly ulps: number;
  readonly bound: number;
  readonly at: string;
}

/** Half of them of every size (but so small that parts of the result are subnormal), half where the functions bend. */
function argumentsOf(n: number, seed: number): number[] {
  const next = seededRandom(seed);
  return Array.from({ length: n }, (_, i) => {
    const sign = next() < 0.5 ? -1 : 1;
    const wide = (1 + next()) * 2 ** Math.floor(next() * 226 - 100);
    return Math.fround(sign * (i % 2 ? wide : next() * (i % 4 ? 110 : 4)));
  });
}

export async function measureAccuracy(device: Device, n: number, report: (a: Accuracy) => void): Promise<void> {
  const first = argumentsOf(n, 7);
  const powers = first.map((x) => Math.fround((120 / Math.log2(Math.abs(x) + 2)) * Math.sin(x)));
  const others = argumentsOf(n, 8);
  for (const op of Object.keys(accuracy) as (keyof typeof accuracy)[]) {
    const binary = aluOps[op as AluOp].arity === 2;
    const second = op === 'pow' ? powers : others;
    const b = new Exprs();
    const load = (slot: number) => b.load('f32', slot, b.axis(0, n));
    const input = { type: 'f32', elements: n } as const;
    const kernel = kernelOf({
      name: `${op}_accuracy`,
      space: [n],
      inputs: binary ? [input, input] : [input],
      outputs: [{ type: 'f32', value: b.alu(op, ...(binary ? [load(0), load(1)] : [load(0)])) }],
    });
    const data = binary ? [bytesOf('f32', first), bytesOf('f32', second)] : [bytesOf('f32', first)];
    const got = valuesOf('f32', (await runOn(device, decompose(kernel, device.caps.native), data))[0]!);
    const truth = meaning(op as AluOp, 'f32')!;
    let [worst, at] = [0, ''];
    got.forEach((g, i) => {
      const [x, y] = [first[i]!, binary ? second[i]! : 0];
      const want = truth(x, y, 0) as number;
      // Adapters may flush subnormal results.
      if (Math.abs(want) < 2 ** -126 && Math.abs(g) <= 2 ** -126) return;
      const error = ulps('f32', g, want);
      if (error > worst) [worst, at] = [error, `${op}(${binary ? `${x}, ${y}` : x}) = ${g}, should be ${want}`];
    });
    report({ op, ulps: worst, bound: Math.ceil(accuracy[op].f32) + 1, at });
  }
}
