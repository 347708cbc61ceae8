// Every function on the CPU device, over many more arguments than the tests of the decompositions take: bits of all kinds, where
// functions bend, and where their arguments are reduced. In `npm run test:all` thirty times as many.
//
// The truth is Math in double precision: exact enough for f32, within one or two units for f64.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DType } from '../../src/base/dtype.ts';
import { type CpuDevice, createCpuDevice } from '../../src/devices/cpu/device.ts';
import { accuracy, decompose } from '../../src/kernel/decompose/index.ts';
import { type AluOp, aluOps } from '../../src/kernel/ops.ts';
import { meaning } from '../../src/kernel/semantics.ts';
import { elementwise, random, runOn } from '../support/cpu.ts';
import { ulps } from '../support/decompose.ts';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';

type Op = keyof typeof accuracy;
const ops: readonly Op[] = (Object.keys(accuracy) as Op[]).filter((op) => op !== 'mod');
const count = all ? 1 << 20 : 1 << 15;

let device: CpuDevice;
beforeAll(async () => {
  device = await createCpuDevice({ threads: 1, blas: false });
});
afterAll(() => device.close());

/** Arguments of several kinds, taking turns. */
function argumentsOf(type: 'f32' | 'f64', n: number, next: () => number): Float32Array | Float64Array {
  const bits = new Uint32Array(2);
  const any = type === 'f32' ? new Float32Array(bits.buffer, 0, 1) : new Float64Array(bits.buffer);
  const kinds = [
    // Any bits.
    () => {
      bits[0] = next() * 2 ** 32;
      bits[1] = next() * 2 ** 32;
      return any[0]!;
    },
    () => next() * 8 - 4,
    () => next() * 2 - 1,
    () => (next() - 0.5) * 520,
    () => (next() - 0.5) * 1500,
    () => (next() < 0.5 ? -1 : 1) * 2 ** (next() * 40 - 30),
  ];
  const make = (_: unknown, i: number): number => kinds[i % kinds.length]!();
  return type === 'f32' ? Float32Array.from({ length: n }, make) : Float64Array.from({ length: n }, make);
}

/** The worst error, and where. */
function worst(op: Op, type: 'f32' | 'f64'): { error: number; at: string } {
  const next = random(seed + Object.keys(accuracy).indexOf(op));
  const arity = aluOps[op as AluOp].arity;
  const inputs = Array.from({ length: arity }, () => argumentsOf(type, count, next));
  if (op === 'pow') {
    // Where powers are neither 0 nor infinite, but for some.
    const [x, y] = inputs as [Float32Array, Float32Array];
    const limit = type === 'f32' ? 140 : 1060;
    y.forEach((_, i) => {
      if (i % 8) y[i] = (limit / Math.log2(Math.abs(x[i]!))) * (2 * next() - 1);
      if (i % 8 && i % 8 < 7) x[i] = Math.abs(x[i]!);
    });
  }
  const types = new Array<DType>(arity).fill(type);
  const kernel = elementwise(count, types, type, (b, loads) => b.alu(op, ...loads));
  const bytes = count * (type === 'f32' ? 4 : 8);
  const [out] = runOn(device, decompose(kernel, device.caps.native), inputs, [bytes]);
  const got =
    type === 'f32' ? new Float32Array(out!.buffer, out!.byteOffset, count) : new Float64Array(out!.slice().buffer);
  const truth = meaning(op as AluOp, 'f64')!;
  let [error, at] = [0, ''];
  for (let i = 0; i < count; i++) {
    const [x, y] = [inputs[0]![i]!, inputs[1]?.[i] ?? 0];
    const want = truth(x, y, 0) as number;
    if (got[i] === want) continue;
    const e = ulps(type, got[i]!, want);
    if (e > error)
      [error, at] = [e, `${op}(${arity === 2 ? `${x}, ${y}` : x}) = ${got[i]}, should be ${want}, seed ${seed}`];
  }
  return { error, at };
}

describe('functions on the CPU device', () => {
  it.each(ops)('%s of f32 is within its stated error', (op) => {
    const { error, at } = worst(op, 'f32');
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f32);
    expect(error).toBeGreaterThan(0.3);
  });

  // erf of the definitions is off by more than the function itself: f64.test.ts has true values.
  it.each(ops.filter((op) => op !== 'erf'))('%s of f64 is within its stated error and what Math may be off', (op) => {
    const { error, at } = worst(op, 'f64');
    expect(error, at).toBeLessThanOrEqual(accuracy[op].f64 + 1.5);
  });
});
