// Functions WGSL lacks or only approximates, as they reach the device: decomposed into its native ops.
//
// The bound is that of the decomposition, plus what a fused or flushing adapter may add; special values must be exact.

import { seededRandom } from '../../../src/base/seeded.ts';
import { accuracy, decompose } from '../../../src/kernel/decompose/index.ts';
import { type AluOp, aluOps } from '../../../src/kernel/ops.ts';
import {
  assert,
  bytesOf,
  type Check,
  check,
  Exprs,
  expected,
  kernelOf,
  runOn,
  specialsOf,
  ulps,
  valuesOf,
} from '../support.ts';

/** Values of every size and both signs. */
function wide(n: number, seed: number): number[] {
  const next = seededRandom(seed);
  return Array.from({ length: n }, () =>
    Math.fround((next() < 0.5 ? -1 : 1) * (1 + next()) * 2 ** Math.floor(next() * 60 - 40)),
  );
}

const inputs = [...specialsOf('f32'), ...wide(3000, 5), ...Array.from({ length: 1000 }, (_, i) => (i - 500) / 40)];
const seconds = inputs.map((_, i) => inputs[(i * 31 + 7) % inputs.length]!);

export const functions: Check[] = (Object.keys(accuracy) as (keyof typeof accuracy)[]).map((op) =>
  check(`${op} of f32, decomposed`, async (device) => {
    const n = inputs.length;
    const b = new Exprs();
    const [x, y] = [b.load('f32', 0, b.axis(0, n)), b.load('f32', 1, b.axis(0, n))];
    const binary = aluOps[op as AluOp].arity === 2;
    const small = op === 'pow' || op === 'mod';
    const first = small ? inputs.map((v) => (Math.abs(v) > 1e6 ? v / 1e9 : v)) : inputs;
    const kernel = kernelOf({
      name: `${op}_f32`,
      space: [n],
      inputs: [
        { type: 'f32', elements: n },
        { type: 'f32', elements: n },
      ],
      outputs: [{ type: 'f32', value: b.alu(op, ...(binary ? [x, y] : [x])) }],
    });
    const data = [bytesOf('f32', first), bytesOf('f32', seconds)];
    const [got] = (await runOn(device, decompose(kernel, device.caps.native), data)).map((o) => valuesOf('f32', o));
    const [want] = expected(kernel, data).map((o) => valuesOf('f32', o));
    const bound = Math.ceil(accuracy[op].f32) + 1;
    want!.forEach((w, i) => {
      const g = got![i]!;
      if (Object.is(w, g) || (Math.abs(w) < 2 ** -126 && Math.abs(g) <= 2 ** -126)) return;
      const at = `${op}(${Math.fround(first[i]!)}${binary ? `, ${Math.fround(seconds[i]!)}` : ''}) is ${g} instead of ${w}`;
      assert(!Number.isNaN(w) && !Number.isNaN(g) && !(w === 0 && g === 0), at);
      assert(ulps(w, g) <= bound, `${at} (${ulps(w, g)} ulp, at most ${bound})`);
    });
  }),
);
