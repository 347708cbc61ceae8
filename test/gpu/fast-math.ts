// fastMath: what its approximate instructions may be off by, over the arguments they are meant for.
//
// The bounds are those of the instructions as the PTX manual gives them (ex2 and lg2: 2 ulp and 2^-22 absolute near 1; sin and cos:
// 2^-20.5 absolute in -pi … pi; tanh: 2^-11 relative; division: 2 ulp; square root: 1 ulp), plus the rounding of the scaling around them.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import type { AluOp } from '../../src/kernel/ops.ts';
import { KernelBuilder } from './build.ts';
import { assert, type Report } from './check.ts';
import { Random } from './data.ts';

interface Bound {
  readonly op: AluOp;
  readonly from: number;
  readonly to: number;
  readonly exact: (x: number, y: number) => number;
  /** Allowed error: relative to the result, plus absolute. */
  readonly relative: number;
  readonly absolute: number;
}

const ulp = 2 ** -23;

export const bounds: readonly Bound[] = [
  // The argument times log2(e) is rounded: its error grows with the argument.
  { op: 'exp', from: -80, to: 80, exact: Math.exp, relative: (2 + 80) * ulp, absolute: 0 },
  { op: 'exp2', from: -100, to: 100, exact: (x) => 2 ** x, relative: 3 * ulp, absolute: 0 },
  { op: 'log', from: 1e-6, to: 1e6, exact: Math.log, relative: 4 * ulp, absolute: 2 ** -21 },
  { op: 'log2', from: 1e-6, to: 1e6, exact: Math.log2, relative: 3 * ulp, absolute: 2 ** -21 },
  { op: 'log10', from: 1e-6, to: 1e6, exact: Math.log10, relative: 4 * ulp, absolute: 2 ** -21 },
  { op: 'sin', from: -Math.PI, to: Math.PI, exact: Math.sin, relative: 0, absolute: 2 ** -20 },
  { op: 'cos', from: -Math.PI, to: Math.PI, exact: Math.cos, relative: 0, absolute: 2 ** -20 },
  { op: 'tanh', from: -10, to: 10, exact: Math.tanh, relative: 2 ** -10.9, absolute: 2 ** -24 },
  { op: 'div', from: 0.01, to: 1000, exact: (x, y) => x / y, relative: 2 * ulp, absolute: 0 },
  { op: 'sqrt', from: 0, to: 1e6, exact: Math.sqrt, relative: 2 * ulp, absolute: 0 },
];

export async function fastMathTests(fast: CudaDevice, accurate: CudaDevice, report: Report): Promise<void> {
  report.group('fastMath, stated errors');
  const n = 200_000;
  const random = new Random(7);
  for (const b of bounds) {
    await report.test(`${b.op} of f32`, () => {
      const kernel = (): ReturnType<KernelBuilder['done']> => {
        const k = new KernelBuilder([n]);
        const x = k.whole('f32');
        k.output(k.b.raw(b.op, b.op === 'div' ? [x, k.whole('f32')] : [x]));
        return k.done(`fast_${b.op}`);
      };
      assert(fast.caps.native.f32!.has(b.op), `${b.op} is not native with fastMath`);
      const program = fast.prepare(kernel());
      assert(
        /\.approx|div\.full/.test(program.source),
        `${b.op} is not approximate:\n${program.source.slice(0, 2000)}`,
      );
      const operands = [0, 1].map(() =>
        Float32Array.from({ length: n }, () => b.from + (b.to - b.from) * random.unit()),
      );
      const used = b.op === 'div' ? operands : operands.slice(0, 1);
      const buffers = used.map((v) => {
        const made = fast.allocate(4 * n);
        fast.write(made, new Uint8Array(v.buffer));
        return made;
      });
      const out = fast.allocate(4 * n);
      fast.launch(program, [...buffers, out], []);
      const got = new Float32Array(fast.readSync(out).slice().buffer);
      let worst = 0;
      for (let i = 0; i < n; i++) {
        const want = b.exact(operands[0]![i]!, operands[1]![i]!);
        const error = Math.abs(got[i]! - want);
        const allowed = b.relative * Math.abs(want) + b.absolute;
        assert(
          error <= allowed,
          `${b.op}(${operands[0]![i]}): ${got[i]} is off ${want} by ${error}, allowed ${allowed}`,
        );
        worst = Math.max(worst, error / allowed);
      }
      console.log(`  ${b.op}: at most ${(100 * worst).toFixed(0)} % of the allowed error`);
      for (const x of [...buffers, out]) fast.release(x);
    });
  }
  await report.test('without it nothing is approximate', () => {
    assert(!accurate.caps.native.f32!.has('tanh'), 'tanh is native');
    const k = new KernelBuilder([n]);
    k.output(k.op('sqrt', k.op('div', k.whole('f32'), k.b.const('f32', 3))));
    const { source } = accurate.prepare(k.done('accurate'));
    assert(source.includes('div.rn.f32'), source.slice(0, 2000));
    // A root begins with an approximation and ends rounded correctly: roots.ts looks at those of all floats.
    const others = source.replaceAll('rsqrt.approx.ftz.f32', '');
    assert(others !== source && !/approx|div\.full/.test(others), 'approximate instructions');
  });
}
