// Matrix products through cuBLASLt, where the machine has it.
//
// cuBLASLt is column-major: a row-major C = A·B is the column-major Cᵀ = Bᵀ·Aᵀ, so the operands change places and their
// bytes are used as they lie. One descriptor set per program; the algorithm is the first that the library's own heuristic
// gives. f32 is computed in true f32 unless tf32 was asked for. A bias along the rows of an f32 product is added by the library;
// its other epilogues round or limit differently from our ops, so they stay ours.

import type { DType } from '../../../base/dtype.ts';
import { ForgeError } from '../../../errors.ts';
import type { Epilogue, Matmul } from '../../../kernel/kernel.ts';
import type { Driver } from '../driver.ts';
import type { ForeignFunction, ForeignType } from '../ffi/port.ts';
import type { Located } from '../step.ts';
import type { LibraryProgram } from './index.ts';

const u = 'u64';
const table = {
  cublasLtCreate: [u],
  cublasLtGetVersion: [],
  cublasLtMatmulDescCreate: [u, 'i32', 'i32'],
  cublasLtMatmulDescSetAttribute: [u, 'i32', u, u],
  cublasLtMatrixLayoutCreate: [u, 'i32', u, u, u],
  cublasLtMatrixLayoutSetAttribute: [u, 'i32', u, u],
  cublasLtMatmulPreferenceCreate: [u],
  cublasLtMatmulPreferenceSetAttribute: [u, 'i32', u, u],
  cublasLtMatmulAlgoGetHeuristic: [u, u, u, u, u, u, u, 'i32', u, u],
  cublasLtMatmul: [u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u],
} as const satisfies Record<string, readonly ForeignType[]>;

type Name = keyof typeof table;

const names = [
  'libcublasLt.so.13',
  'libcublasLt.so.12',
  'libcublasLt.so.11',
  'libcublasLt.so',
  '/usr/local/cuda/lib64/libcublasLt.so',
  'cublasLt64_13.dll',
  'cublasLt64_12.dll',
];

/** cudaDataType_t */
const dataType: Readonly<Partial<Record<DType, number>>> = { f32: 0, f64: 1, f16: 2, bf16: 14 };
const computeTypes = { f32: 68, tf32: 77, f64: 70, bf16: 75 } as const;
const layoutAttribute = { batchCount: 5, stridedBatchOffset: 6 } as const;
const descAttribute = { transA: 3, transB: 4, epilogue: 7, biasPointer: 8 } as const;
const biasEpilogue = 4;
const maxWorkspace = 1;
const workspaceBytes = 32 * 2 ** 20;
// cublasLtMatmulHeuristicResult_t: algo (64 bytes), workspaceSize (8), state (4), wavesCount (4), reserved (16).
const resultBytes = 96;

export class CublasLt {
  readonly version: number;
  readonly #driver: Driver;
  readonly #call: Readonly<Record<Name, ForeignFunction>>;
  readonly #handle: number;
  readonly #out = new DataView(new ArrayBuffer(64));
  readonly #outAddress: number;

  private constructor(driver: Driver, call: Readonly<Record<Name, ForeignFunction>>) {
    this.#driver = driver;
    this.#call = call;
    this.#outAddress = driver.ffi.address(this.#out);
    this.version = Number(call.cublasLtGetVersion());
    this.#check(call.cublasLtCreate(this.#outAddress), 'cublasLtCreate');
    this.#handle = this.#u64();
  }

  /** Null where the library is missing, incomplete or refuses to start: our own kernels are used then. */
  static open(driver: Driver, candidates: readonly string[] = names): LazyCublasLt {
    return new LazyCublasLt(() => {
      try {
        const library = driver.ffi.open(candidates);
        const call: Partial<Record<Name, ForeignFunction>> = {};
        for (const name of Object.keys(table) as Name[]) {
          const bound = library.bind(name, name === 'cublasLtGetVersion' ? 'u64' : 'i32', table[name]);
          if (!bound) return null;
          call[name] = bound;
        }
        return new CublasLt(driver, call as Record<Name, ForeignFunction>);
      } catch {
        return null;
      }
    });
  }

  /** Null for types the library does not multiply, and where it knows no algorithm. */
  program(r: Matmul): LibraryProgram | null {
    const type = dataType[r.type];
    const bias = r.epilogue !== null && isBias(r, r.epilogue);
    if (type === undefined || r.k === 0 || (r.epilogue && !bias)) return null;
    const compute =
      r.type === 'f64'
        ? computeTypes.f64
        : r.type === 'f32' && r.precision !== 'exact'
          ? computeTypes[r.precision]
          : computeTypes.f32;
    const scale = r.type === 'f64' ? 1 : 0;
    const { call, out } = { call: this.#call, out: this.#outAddress };
    this.#check(call.cublasLtMatmulDescCreate(out, compute, scale), 'cublasLtMatmulDescCreate');
    const desc = this.#u64();
    // Operands change places; a stored transpose (k×m for A) is the plain column-major matrix.
    this.#set(call.cublasLtMatmulDescSetAttribute, desc, descAttribute.transA, r.transposeB ? 1 : 0, 4);
    this.#set(call.cublasLtMatmulDescSetAttribute, desc, descAttribute.transB, r.transposeA ? 1 : 0, 4);
    if (bias) this.#set(call.cublasLtMatmulDescSetAttribute, desc, descAttribute.epilogue, biasEpilogue, 4);
    const first = this.#layout(type, r.transposeB ? [r.k, r.n] : [r.n, r.k], r.batch, r.batchB);
    const second = this.#layout(type, r.transposeA ? [r.m, r.k] : [r.k, r.m], r.batch, r.batchA);
    const result = this.#layout(type, [r.n, r.m], r.batch, r.batch);
    this.#check(call.cublasLtMatmulPreferenceCreate(out), 'cublasLtMatmulPreferenceCreate');
    const preference = this.#u64();
    this.#set(call.cublasLtMatmulPreferenceSetAttribute, preference, maxWorkspace, workspaceBytes, 8);
    const found = new DataView(new ArrayBuffer(resultBytes));
    const foundAddress = this.#driver.ffi.address(found);
    const code = call.cublasLtMatmulAlgoGetHeuristic(
      this.#handle,
      desc,
      first,
      second,
      result,
      result,
      preference,
      1,
      foundAddress,
      out,
    );
    if (code !== 0 || this.#out.getInt32(0, true) === 0 || found.getInt32(72, true) !== 0) return null;
    const workspace = Number(found.getBigUint64(64, true));
    const scalars = new DataView(new ArrayBuffer(16));
    if (r.type === 'f64') scalars.setFloat64(0, 1, true);
    else scalars.setFloat32(0, 1, true);
    const one = this.#driver.ffi.address(scalars);
    const handle = this.#handle;
    // The descriptors never change but for the address of a bias, which is mostly the same as the last time.
    let biasAt = -1;
    const step = {
      // Read by the library through their addresses: they live as long as the step.
      keeps: [found, scalars],
      run: (stream: number, buffers: readonly Located[], borrowed: number) => {
        const c = buffers[buffers.length - 1]!.address;
        if (bias && buffers[2]!.address !== biasAt) {
          const { address } = buffers[2]!;
          this.#set(call.cublasLtMatmulDescSetAttribute, desc, descAttribute.biasPointer, address, 8);
          biasAt = address;
        }
        const status = call.cublasLtMatmul(
          handle,
          desc,
          one,
          buffers[1]!.address,
          first,
          buffers[0]!.address,
          second,
          one + 8,
          c,
          result,
          c,
          result,
          foundAddress,
          borrowed,
          workspace,
          stream,
        );
        if (status !== 0) this.#check(status, r.name);
      },
    };
    const shape = `${r.type} ${r.batch}x[${r.m}, ${r.k}]x[${r.k}, ${r.n}]${bias ? ' + bias' : ''}`;
    const source = `cublasLtMatmul (cuBLASLt ${this.version}) ${shape}`;
    return { source, steps: [step], borrowedBytes: workspace };
  }

  #layout(type: number, [rows, columns]: readonly [number, number] | number[], batch: number, stored: number): number {
    const call = this.#call;
    this.#check(
      call.cublasLtMatrixLayoutCreate(this.#outAddress, type, rows!, columns!, rows!),
      'cublasLtMatrixLayoutCreate',
    );
    const layout = this.#u64();
    if (batch > 1) {
      this.#set(call.cublasLtMatrixLayoutSetAttribute, layout, layoutAttribute.batchCount, batch, 4);
      const stride = stored === 1 ? 0 : rows! * columns!;
      this.#set(call.cublasLtMatrixLayoutSetAttribute, layout, layoutAttribute.stridedBatchOffset, stride, 8);
    }
    return layout;
  }

  #set(call: ForeignFunction, object: number, attribute: number, value: number, bytes: 4 | 8): void {
    this.#out.setBigUint64(32, BigInt(value), true);
    this.#check(call(object, attribute, this.#outAddress + 32, bytes), 'cublasLt attribute');
  }

  #u64(): number {
    return Number(this.#out.getBigUint64(0, true));
  }

  #check(code: number, where: string): void {
    if (code === 0) return;
    throw new ForgeError({
      code: `CUBLAS_STATUS_${code}`,
      message: `${where}: cuBLASLt status ${code}`,
      fix: 'Open the device with cublas: false to use the built-in matrix product.',
      where,
    });
  }
}

/** The product plus one value per column, in f32: the library's sum rounds as ours does. */
function isBias(r: Matmul, { output, inputs, scalars }: Epilogue): boolean {
  const { value } = output;
  if (r.type !== 'f32' || output.type !== 'f32' || inputs.length !== 1 || scalars.length > 0) return false;
  if (value.kind !== 'alu' || value.op !== 'add') return false;
  const product = value.src.find((e) => e.kind === 'acc');
  const other = value.src.find((e) => e.kind === 'load');
  if (!product || !other || other.gate || inputs[0]!.elements !== r.n) return false;
  return other.index.kind === 'axis' && other.index.axis === 2;
}

/** The library is opened at the first matrix product: loading it takes tens of milliseconds. */
export class LazyCublasLt {
  readonly #open: () => CublasLt | null;
  #opened: CublasLt | null | undefined;

  constructor(open: () => CublasLt | null) {
    this.#open = open;
  }

  get(): CublasLt | null {
    if (this.#opened === undefined) this.#opened = this.#open();
    return this.#opened;
  }
}
