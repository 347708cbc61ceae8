// A system BLAS for large matrix products, where one is installed.
//
// Found and loaded through `koffi` when first wanted, synchronously; until then, and where there is none, the built-in
// WebAssembly kernels do the work. Matrices are passed as views of the device's memory: nothing is copied. A reference
// BLAS would be slower than the built-in kernels, so a library counts only if it can say how many threads it may use. Its threads
// shall sleep soon after a product: the device's own workers need their cores next.

import { byteSize } from '../../base/dtype.ts';
import type { Matmul } from '../../kernel/kernel.ts';
import type { WasmEngine } from './engine.ts';
import type { ThreadHost } from './host.ts';
import type { CpuProgram } from './program.ts';
import { BlasMatmul, type Staging } from './routines/blas-matmul.ts';
import { Mirrors } from './routines/mirror.ts';

/** C = A · B, row-major; a transposed operand is given as it lies. */
export interface Product {
  readonly type: 'f32' | 'f64';
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

type Gemm = (...args: readonly (number | ArrayBufferView)[]) => void;

interface Library {
  readonly name: string;
  readonly f32: Gemm;
  readonly f64: Gemm;
  /** A matrix times its own transpose: half of the result. Null where the library has no such functions. */
  readonly half: { readonly f32: Gemm; readonly f64: Gemm } | null;
}

interface Koffi {
  load(path: string): { func(prototype: string): (...args: readonly unknown[]) => unknown };
}

interface Candidate {
  readonly name: string;
  readonly paths: readonly string[];
  /** The function that sets the number of threads; Accelerate has none and chooses by itself. */
  readonly threads: string | null;
  /** Variables that it reads when it is loaded. */
  readonly variables?: Readonly<Record<string, string>>;
}

const candidates: readonly Candidate[] = [
  {
    name: 'Accelerate',
    paths: ['/System/Library/Frameworks/Accelerate.framework/Accelerate'],
    threads: null,
  },
  { name: 'MKL', paths: ['libmkl_rt.so.2', 'libmkl_rt.so', 'mkl_rt.2.dll'], threads: 'MKL_Set_Num_Threads' },
  {
    name: 'OpenBLAS',
    paths: ['libopenblas.so.0', 'libopenblas.so', 'libblas.so.3', 'libopenblas.dylib', 'libopenblas.dll'],
    threads: 'openblas_set_num_threads',
    // Threads that have nothing to do stay awake for 2^16 cycles: from one product to the next. The default is a hundredth of a second and more.
    variables: { OPENBLAS_THREAD_TIMEOUT: '16' },
  },
  { name: 'BLIS', paths: ['libblis.so.4', 'libblis.so', 'libblas.so.3'], threads: 'bli_thread_set_num_threads' },
];

const gemmPrototype = (name: string, scalar: string): string =>
  `void ${name}(int order, int ta, int tb, int m, int n, int k, ${scalar} alpha, void *a, int lda, void *b, int ldb, ` +
  `${scalar} beta, void *c, int ldc)`;

const halfPrototype = (name: string, scalar: string): string =>
  `void ${name}(int order, int uplo, int trans, int n, int k, ${scalar} alpha, void *a, int lda, ${scalar} beta, void *c, int ldc)`;

/**
 * A right operand that stays where the processor is quickest: many rows are taken through it as fast as they come, where a library packs them
 * first (100,000×16 · 16×16 in f32: 0.95 ms of one thread, 1.17 by OpenBLAS; 20,000×10 · 10×20: 0.16 and 0.54).
 */
const fewBytes = 1024;

const rowMajor = 101;
const upper = 121;
const asItIs = 111;
const transposed = 112;
const intLimit = 2 ** 31;

function halfOf(library: ReturnType<Koffi['load']>): Library['half'] {
  try {
    return {
      f32: library.func(halfPrototype('cblas_ssyrk', 'float')) as Gemm,
      f64: library.func(halfPrototype('cblas_dsyrk', 'double')) as Gemm,
    };
  } catch {
    return null;
  }
}

export class Blas {
  /** What completes the results of `runHalf`. */
  readonly mirrors = new Mirrors();
  readonly #host: ThreadHost;
  readonly #wanted: boolean | string;
  readonly #threads: number;
  #library: Library | null | undefined;

  constructor(host: ThreadHost, wanted: boolean | string, threads: number) {
    this.#host = host;
    this.#wanted = wanted;
    this.#threads = threads;
  }

  /** The library in use, looked for now if it was not before; null if there is none. */
  get name(): string | null {
    return this.#open()?.name ?? null;
  }

  /** Whether this product should go to the library. */
  serves(p: Product): boolean {
    // Below about 64³ the call itself costs more than the faster kernel saves.
    return (
      p.m * p.n * p.k >= 262_144 &&
      p.k * p.n * byteSize(p.type) > fewBytes &&
      Math.max(p.m, p.n, p.k) < intLimit &&
      this.#wanted !== false &&
      this.#open() !== null
    );
  }

  /** The program of a product; `needs`: bytes of its buffers. Made here, so that pages, which have no library, do not load it. */
  program(
    routine: Matmul,
    type: 'f32' | 'f64',
    needs: readonly number[],
    engine: WasmEngine,
    staging: Staging,
  ): CpuProgram {
    return new BlasMatmul(routine, type, needs, { engine, blas: this, staging });
  }

  run(p: Product, a: ArrayBufferView, b: ArrayBufferView, c: ArrayBufferView): void {
    const gemm = this.#open()![p.type];
    const [ta, tb] = [p.transposeA ? transposed : asItIs, p.transposeB ? transposed : asItIs];
    gemm(rowMajor, ta, tb, p.m, p.n, p.k, 1, a, p.transposeA ? p.m : p.k, b, p.transposeB ? p.k : p.n, 0, c, p.n);
  }

  /** Whether the library has `runHalf`. */
  get halves(): boolean {
    return this.#open()?.half != null;
  }

  /** The product of a matrix and its own transpose, but only its diagonal and what is right of it. */
  runHalf(p: Product, a: ArrayBufferView, c: ArrayBufferView): void {
    const trans = p.transposeA ? transposed : asItIs;
    this.#open()!.half![p.type](rowMajor, upper, trans, p.n, p.k, 1, a, p.transposeA ? p.n : p.k, 0, c, p.n);
  }

  #open(): Library | null {
    if (this.#library === undefined) this.#library = this.#wanted === false ? null : this.#find();
    return this.#library;
  }

  #find(): Library | null {
    let koffi: Koffi;
    try {
      if (!this.#host.require) return null;
      koffi = this.#host.require('koffi') as Koffi;
    } catch {
      return null;
    }
    const asked = this.#wanted;
    const list =
      typeof asked === 'string' ? candidates.map((c) => ({ ...c, name: asked, paths: [asked] })) : candidates;
    for (const candidate of list) {
      for (const path of candidate.paths) {
        try {
          return this.#load(koffi, candidate, path);
        } catch {
          // Not installed, or without the functions that are needed: the next one.
        }
      }
    }
    return null;
  }

  #load(koffi: Koffi, candidate: Candidate, path: string): Library {
    const load = (): ReturnType<Koffi['load']> => koffi.load(path);
    const { withVariables } = this.#host;
    const library = candidate.variables && withVariables ? withVariables(candidate.variables, load) : load();
    const f32 = library.func(gemmPrototype('cblas_sgemm', 'float')) as Gemm;
    const f64 = library.func(gemmPrototype('cblas_dgemm', 'double')) as Gemm;
    if (candidate.threads) library.func(`void ${candidate.threads}(int n)`)(this.#threads);
    return { name: `${candidate.name} (${path})`, f32, f64, half: halfOf(library) };
  }
}
