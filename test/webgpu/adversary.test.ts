// What shaders compute must not depend on how a compiler regroups their arithmetic.

import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/seeded.ts';
import { render } from '../../src/devices/webgpu/render.ts';
import { nativeOps } from '../../src/devices/webgpu/wgsl/ops.ts';
import { accuracy, decompose } from '../../src/kernel/decompose/index.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import { type AluOp, aluOps } from '../../src/kernel/ops.ts';
import { meaning } from '../../src/kernel/semantics.ts';
import { ulps } from '../support/decompose.ts';
import { compileFreely, type Freedom } from './adversary.ts';
import { Exprs, kernelOf } from './support.ts';

const native = nativeOps(new Set(['f32', 'i32', 'u32', 'u8', 'bool']));
const traits = {
  cpu: false,
  f16: false,
  subgroup: 0,
  maxWorkgroupsPerDimension: 65535,
  maxInvocations: 256,
  workgroupBytes: 16384,
  exactDivision: true,
  keepsNaN: false,
};

/** The shader of an expression over two loads. */
function shaderOf(build: (b: Exprs, x: Expr, y: Expr) => Expr): string {
  const b = new Exprs();
  const at = b.const('index', 0);
  const value = build(b, b.load('f32', 0, at), b.load('f32', 1, at));
  const input = { type: 'f32', elements: 1 } as const;
  const kernel = kernelOf({ space: [1], inputs: [input, input], outputs: [{ type: 'f32', value }] });
  return render(decompose(kernel, native), traits).passes[0]!.source;
}

const functionShader = (op: AluOp): string =>
  shaderOf((b, x, y) => b.alu(op, ...(aluOps[op].arity === 2 ? [x, y] : [x])));

const unveiled = (source: string): string => source.replaceAll(/bitcast<f32>\(bitcast<u32>\((.*)\) \^ veil\)/g, '$1');

const next = seededRandom(11);
const arguments_ = [
  ...[
    0.5, 1, 2, 3, 10, 0.1, 1e-3, 1e-6, 20, 50, 80, 88, 100, 200, 255, 1000, 1e5, 1e10, 0.99, 1.01, 0.7, 1.4, 6.28, 1.57,
  ],
  ...Array.from({ length: 60 }, () => next() * 8),
  ...Array.from({ length: 40 }, () => next() * 100),
  ...Array.from({ length: 40 }, () => (1 + next()) * 2 ** Math.floor(next() * 60 - 30)),
]
  .flatMap((v) => [v, -v])
  .map(Math.fround);

function worst(op: AluOp, source: string, freedom: Freedom): { error: number; at: string } {
  const run = compileFreely(source, freedom);
  const truth = meaning(op, 'f32')!;
  let [error, at] = [0, ''];
  arguments_.forEach((x, i) => {
    const y = aluOps[op].arity === 2 ? Math.fround(arguments_[(i * 31 + 7) % arguments_.length]! / 20) : 0;
    const want = Math.fround(truth(x, y, 0) as number);
    if (Math.abs(want) < 2 ** -126) return;
    const got = run(x, y);
    const e = Object.is(got, want) ? 0 : ulps('f32', got, want);
    if (e > error) [error, at] = [e, `${op}(${x}, ${y}) is ${got} instead of ${want}`];
  });
  return { error, at };
}

const names = Object.keys(accuracy) as (keyof typeof accuracy)[];

describe.each(['merged', 'unrounded'] as const)('a compiler that leaves sums %s', (freedom) => {
  it.each(names)('computes %s all the same', (op) => {
    const { error, at } = worst(op, functionShader(op), freedom);
    // One unit beside the bound for the reorderings that are left to it.
    expect(error, at).toBeLessThanOrEqual(Math.ceil(accuracy[op].f32) + 1);
  });
});

describe('the same compiler without the veil', () => {
  // So the test above can fail: exp(1) was 2 on a real driver.
  it.each(['exp', 'expm1', 'sin', 'cos', 'tan', 'sinh', 'cosh', 'erf', 'exp2', 'pow'] as const)('ruins %s', (op) => {
    expect(worst(op, unveiled(functionShader(op)), 'merged').error).toBeGreaterThan(1000);
  });

  it('gives exp(1) = 2', () => {
    expect(compileFreely(unveiled(functionShader('exp')), 'merged')(1)).toBeCloseTo(2, 5);
    expect(compileFreely(functionShader('exp'), 'merged')(1)).toBeCloseTo(Math.E, 6);
  });
});

describe('sums that users write', () => {
  const c = (b: Exprs, v: number): Expr => b.const('f32', v);
  const cases: Record<string, [(b: Exprs, x: Expr, y: Expr) => Expr, readonly [number, number], number]> = {
    '(x + c) - c': [(b, x) => b.raw('sub', [b.raw('add', [x, c(b, 12582912)]), c(b, 12582912)]), [2.3, 0], 2],
    'c - (c - x)': [(b, x) => b.raw('sub', [c(b, 4), b.raw('sub', [c(b, 4), x])]), [1e-9, 0], 0],
    '(x + y) - x': [(b, x, y) => b.raw('sub', [b.raw('add', [x, y]), x]), [1e9, 1], 0],
    'the error of x + y': [
      (b, x, y) => {
        const s = b.raw('add', [x, y]);
        return b.raw('sub', [y, b.raw('sub', [s, x])]);
      },
      [1e9, 1],
      1,
    ],
    x·c·c: [
      (b, x) => b.raw('mul', [b.raw('mul', [x, c(b, 1e30)]), c(b, 1e30)]),
      [1e-30, 0],
      Math.fround(Math.fround(1e30) * Math.fround(Math.fround(1e-30) * Math.fround(1e30))),
    ],
    '(x·y)/y': [(b, x, y) => b.raw('div', [b.raw('mul', [x, y]), y]), [1e30, 1e30], Number.POSITIVE_INFINITY],
    'x - x': [(b, x) => b.raw('sub', [x, x]), [Number.POSITIVE_INFINITY, 0], Number.NaN],
    x·0: [(b, x) => b.raw('mul', [x, c(b, 0)]), [Number.NaN, 0], Number.NaN],
  };
  it.each(Object.keys(cases))('%s rounds as written', (name) => {
    const [build, [x, y], want] = cases[name]!;
    for (const freedom of ['merged', 'unrounded'] as const)
      expect(compileFreely(shaderOf(build), freedom)(Math.fround(x), Math.fround(y)), freedom).toBe(want);
  });

  it('leaves polynomials and sums of independent values to the compiler', () => {
    const poly = shaderOf((b, x) => {
      const inner = b.raw('add', [b.raw('mul', [x, c(b, 0.3)]), c(b, 0.2)]);
      return b.raw('add', [b.raw('mul', [inner, x]), c(b, 0.1)]);
    });
    const plain = shaderOf((b, x, y) => b.raw('add', [b.raw('mul', [x, c(b, 2)]), b.raw('mul', [y, c(b, 3)])]));
    expect(`${poly}${plain}`).not.toContain('veil');
  });
});
