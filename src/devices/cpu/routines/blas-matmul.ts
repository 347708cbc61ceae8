// Matrix products by a system BLAS. The product of a matrix and its own transpose, as covariances are, is half the work.

import { byteSize } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { stage, unstage } from '../arguments.ts';
import type { Blas } from '../blas.ts';
import type { CpuBuffer } from '../buffer.ts';
import type { WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import type { WasmModule } from '../wasm/module.ts';

/** What copies small buffers in and out, and makes modules: given, so that this file shares no other with what pages load. */
export interface Staging {
  readonly stage: typeof stage;
  readonly unstage: typeof unstage;
  readonly WasmModule: typeof WasmModule;
}

export class BlasMatmul implements CpuProgram {
  readonly name: string;
  readonly source: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #routine: Matmul & { readonly type: 'f32' | 'f64' };
  readonly #engine: WasmEngine;
  readonly #blas: Blas;
  readonly #staging: Staging;
  readonly #mayHalve: boolean;
  readonly #pointers: number[] = [];
  /** Views of the operands of the last run: products of the same operands are common, and making a view takes longer than looking at it. */
  readonly #views: Uint8Array[] = [];

  constructor(
    routine: Matmul,
    type: 'f32' | 'f64',
    needs: readonly number[],
    { engine, blas, staging }: { readonly engine: WasmEngine; readonly blas: Blas; readonly staging: Staging },
  ) {
    this.name = routine.name;
    this.needs = needs;
    this.#routine = { ...routine, type };
    this.#engine = engine;
    this.#blas = blas;
    this.#staging = staging;
    this.#mayHalve = blas.halves && isOwnTranspose(routine);
    const letter = type === 'f32' ? 's' : 'd';
    const half = this.#mayHalve ? `, cblas_${letter}syrk if both operands are one matrix,` : '';
    this.source = `;; cblas_${letter}gemm${half} of ${blas.name}\n`;
  }

  run(buffers: readonly CpuBuffer[]): void {
    const r = this.#routine;
    const { memory } = this.#engine;
    this.#staging.stage(memory, buffers, 2, this.#pointers);
    this.#engine.rest();
    const [a, b, c] = this.#pointers as [number, number, number];
    const size = byteSize(r.type);
    const halves = this.#mayHalve && buffers[0] === buffers[1];
    for (let batch = 0; batch < r.batch; batch++) {
      const left = this.#view(0, a + (r.batchA === 1 ? 0 : batch * r.m * r.k * size), r.m * r.k * size);
      const at = c + batch * r.m * r.n * size;
      const result = this.#view(2, at, r.m * r.n * size);
      if (halves) {
        this.#blas.runHalf(r, left, result);
        this.#blas.mirrors.run(memory, this.#staging.WasmModule, r.type, at, r.n);
        continue;
      }
      const right = this.#view(1, b + (r.batchB === 1 ? 0 : batch * r.k * r.n * size), r.k * r.n * size);
      this.#blas.run(r, left, right, result);
    }
    this.#staging.unstage(memory, buffers, 2, this.#pointers);
  }

  /** OpenBLAS asks for no alignment beyond the element's; views say where an operand ends. */
  #view(slot: number, at: number, bytes: number): Uint8Array {
    const { buffer } = this.#engine.memory.views;
    const last = this.#views[slot];
    if (last && last.byteOffset === at && last.buffer === buffer) return last;
    return (this.#views[slot] = new Uint8Array(buffer, at, bytes));
  }

  dispose(): void {
    this.#views.length = 0;
    this.#blas.mirrors.unbind();
  }
}

/** Whether both operands may be one matrix, once as it is and once transposed: half of the results are then the other half. */
const isOwnTranspose = (r: Matmul): boolean => r.m === r.n && r.transposeA !== r.transposeB && r.batchA === r.batchB;
