// Matrix products: a plain loop when tiny, a system BLAS when large and present, the built-in kernel otherwise.
//
// f16, bf16, u8 and bool are computed in a wider type: the operands are converted first and the product is converted
// back, by ordinary kernels. Integers wrap, so u8 may be computed modulo 2^32; a bool product is whether any pair was true.

import { byteSize, type DType } from '../../../base/dtype.ts';
import { asReduction } from '../../../kernel/dot.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Blas } from '../blas.ts';
import type { CpuBuffer } from '../buffer.ts';
import { WasmCode, type WasmEngine } from '../engine.ts';
import { KernelProgram } from '../kernel-program.ts';
import type { CpuProgram } from '../program.ts';
import { viewOf } from '../views.ts';
import { moduleText } from '../wasm/text.ts';
import { BlasMatmul } from './blas-matmul.ts';
import { CodeProgram } from './code-program.ts';
import { renderGemm } from './gemm.ts';
import type { GemmShape } from './gemm-plan.ts';
import { relaxedSimd } from './relaxed.ts';
import { renderThin, type ThinPlan, thinPlan } from './thin.ts';
import { Widened } from './widened.ts';

/** Multiplications below which a loop in JavaScript is done before WebAssembly has started. */
const tinyProducts = 2048;

/** Depth from which on a product with few results is a reduction: no block of columns would keep the threads busy. */
const longDepth = 65536;

/** The type products are computed in, and the one whose instructions do it. */
const computeTypes: Readonly<Record<DType, { readonly type: DType; readonly machine: GemmShape['type'] }>> = {
  f32: { type: 'f32', machine: 'f32' },
  f64: { type: 'f64', machine: 'f64' },
  f16: { type: 'f32', machine: 'f32' },
  bf16: { type: 'f32', machine: 'f32' },
  i32: { type: 'i32', machine: 'i32' },
  u32: { type: 'u32', machine: 'i32' },
  i64: { type: 'i64', machine: 'i64' },
  u64: { type: 'u64', machine: 'i64' },
  u8: { type: 'i32', machine: 'i32' },
  bool: { type: 'i32', machine: 'i32' },
};

export function prepareMatmul(routine: Matmul, engine: WasmEngine, blas: Blas | null): CpuProgram {
  const { type } = computeTypes[routine.type];
  if (type !== routine.type) {
    const wide: Matmul = { ...routine, type };
    return new Widened(prepareMatmul(wide, engine, blas), routine.type, type, elementsOf(routine), 2, engine);
  }
  if (routine.batch * routine.m * routine.n * routine.k <= tinyProducts) {
    return new TinyMatmul(routine, engine);
  }
  // A product with few rows waits for memory: a library that packs its operands first only makes it wait longer.
  const thin = thinPlan(shapeOf(routine));
  if (!thin && (type === 'f32' || type === 'f64') && blas?.serves({ ...routine, type })) {
    return new BlasMatmul(routine, type, sizes(routine), engine, blas);
  }
  return builtIn(routine, thin, engine);
}

const elementsOf = (r: Matmul): readonly number[] => [r.batchA * r.m * r.k, r.batchB * r.k * r.n, r.batch * r.m * r.n];
const sizes = (r: Matmul): readonly number[] => elementsOf(r).map((n) => n * byteSize(r.type));

const shapeOf = (r: Matmul): GemmShape => ({ ...r, type: computeTypes[r.type].machine });

function builtIn(r: Matmul, thin: ThinPlan | null, engine: WasmEngine): CpuProgram {
  const dots = asReduction(r, longDepth);
  if (dots) return new KernelProgram(dots, engine, 0);
  const { shared } = engine.memory;
  const gemm = thin ? renderThin(thin, shared) : renderGemm(shapeOf(r), shared, relaxedSimd(), engine.threads);
  const code = new WasmCode(r.name, gemm.bytes, () => moduleText(gemm.bytes));
  const products = r.batch * r.m * r.n * r.k;
  return new CodeProgram(
    {
      code,
      needs: sizes(r),
      inputs: 2,
      items: gemm.items,
      grain: 1,
      // Thin products wait for memory, others for arithmetic.
      nanoseconds: (products * byteSize(r.type)) / (thin ? 20 : 50),
      scratchBytes: gemm.scratchBytes,
    },
    engine,
  );
}

class TinyMatmul implements CpuProgram {
  readonly name: string;
  readonly source: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #routine: Matmul;
  readonly #engine: WasmEngine;
  readonly #loop: TinyLoop<never>;

  constructor(routine: Matmul, engine: WasmEngine) {
    this.name = routine.name;
    this.needs = sizes(routine);
    this.#routine = routine;
    this.#engine = engine;
    this.#loop = tinyLoops[routine.type]!;
    this.source = `;; interpreted: ${routine.batch} × ${routine.m}×${routine.k} · ${routine.k}×${routine.n}\n`;
  }

  run(buffers: readonly CpuBuffer[]): void {
    const r = this.#routine;
    const { views } = this.#engine.memory;
    const [a, b, c] = buffers as [CpuBuffer, CpuBuffer, CpuBuffer];
    const view = viewOf[r.type];
    const size = byteSize(r.type);
    const into = view(c.small ?? views);
    const [x, y] = [view(a.small ?? views), view(b.small ?? views)];
    this.#loop(r, x as never, a.address / size, y as never, b.address / size, into as never, c.address / size);
  }

  dispose(): void {}
}

type TinyLoop<A> = (r: Matmul, a: A, atA: number, b: A, atB: number, c: A, atC: number) => void;

/** Sums in the order of k, each in `sum`; those of f32 in double precision, rounded when they are stored. */
const loop =
  <A extends { [i: number]: V }, V>(sum: SumOf<A, V>): TinyLoop<A> =>
  (r, a, atA, b, atB, c, atC) => {
    const { m, n, k } = r;
    const [rowA, depthA] = r.transposeA ? [1, m] : [k, 1];
    const [depthB, columnB] = r.transposeB ? [1, k] : [n, 1];
    for (let batch = 0; batch < r.batch; batch++) {
      const a0 = atA + (r.batchA === 1 ? 0 : batch * m * k);
      const b0 = atB + (r.batchB === 1 ? 0 : batch * k * n);
      for (let i = 0; i < m; i++)
        for (let j = 0; j < n; j++) c[atC++] = sum(a, a0 + i * rowA, depthA, b, b0 + j * columnB, depthB, k);
    }
  };

/** The sum of k products of elements that lie some distance apart. One function a type: each becomes machine code of its own. */
type SumOf<A, V> = (a: A, ia: number, depthA: number, b: A, ib: number, depthB: number, k: number) => V;

const sumOfFloats: SumOf<Float32Array | Float64Array, number> = (a, ia, depthA, b, ib, depthB, k) => {
  let sum = 0;
  for (let x = 0; x < k; x++, ia += depthA, ib += depthB) sum += a[ia]! * b[ib]!;
  return sum;
};

const sumOfWords: SumOf<Int32Array | Uint32Array, number> = (a, ia, depthA, b, ib, depthB, k) => {
  let sum = 0;
  for (let x = 0; x < k; x++, ia += depthA, ib += depthB) sum = (sum + Math.imul(a[ia]!, b[ib]!)) | 0;
  return sum;
};

const sumOfLongs: SumOf<BigInt64Array | BigUint64Array, bigint> = (a, ia, depthA, b, ib, depthB, k) => {
  let sum = 0n;
  for (let x = 0; x < k; x++, ia += depthA, ib += depthB) sum = BigInt.asUintN(64, sum + a[ia]! * b[ib]!);
  return sum;
};

const tinyLoops: Readonly<Partial<Record<DType, TinyLoop<never>>>> = {
  f32: loop<Float32Array, number>(sumOfFloats),
  f64: loop<Float64Array, number>(sumOfFloats),
  i32: loop<Int32Array, number>(sumOfWords),
  u32: loop<Uint32Array, number>(sumOfWords),
  i64: loop<BigInt64Array, bigint>(sumOfLongs),
  u64: loop<BigUint64Array, bigint>(sumOfLongs),
};
