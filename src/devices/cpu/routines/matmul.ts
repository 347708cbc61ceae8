// Matrix products: a plain loop when tiny, a system BLAS when large and present, the built-in kernel otherwise.
//
// f16, bf16, u8 and bool are computed in a wider type: the operands are converted first and the product is converted
// back, by ordinary kernels. Integers wrap, so u8 may be computed modulo 2^32; a bool product is whether any pair was true.

import { byteSize, type DType } from '../../../base/dtype.ts';
import { asReduction } from '../../../kernel/dot.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import { stage, unstage } from '../arguments.ts';
import type { Blas } from '../blas.ts';
import { WasmCode, type WasmEngine } from '../engine.ts';
import { KernelProgram } from '../kernel-program.ts';
import type { CpuProgram } from '../program.ts';
import { WasmModule } from '../wasm/module.ts';
import { moduleText } from '../wasm/text.ts';
import { CodeProgram } from './code-program.ts';
import { renderGemm } from './gemm.ts';
import type { GemmShape } from './gemm-plan.ts';
import { relaxedSimd } from './relaxed.ts';
import { renderThin, type ThinPlan, thinPlan } from './thin.ts';
import { elementsOf, sizes, TinyMatmul } from './tiny-matmul.ts';
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

const staging = { stage, unstage, WasmModule };

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
    return blas.program(routine, type, sizes(routine), engine, staging);
  }
  return builtIn(routine, thin, engine);
}

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
