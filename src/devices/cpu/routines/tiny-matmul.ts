// Tiny matrix products: loops in JavaScript, which are done before WebAssembly has started.
//
// Every sum is taken in the order of k, those of f32 in double precision and rounded when they are stored. Four sums that share an element of
// one operand are taken side by side: of four columns, or of four rows where there are fewer columns. That changes no sum. Once there were
// many, those of floats are left to WebAssembly, which takes them in the same order.

import { byteSize, type DType } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { CpuBuffer } from '../buffer.ts';
import type { WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import type { LineSums } from '../tiny/wasm-lines.ts';
import { viewOf } from '../views.ts';

/** Elements of the operands and of the product. */
export const elementsOf = (r: Matmul): readonly number[] => [
  r.batchA * r.m * r.k,
  r.batchB * r.k * r.n,
  r.batch * r.m * r.n,
];
export const sizes = (r: Matmul): readonly number[] => elementsOf(r).map((n) => n * byteSize(r.type));

export class TinyMatmul implements CpuProgram {
  readonly name: string;
  readonly source: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #engine: WasmEngine;
  readonly #type: DType;
  readonly #shift: number;
  readonly #sums: Sums;
  /** The type, if it is a float. */
  readonly #float: 'f32' | 'f64' | null;
  readonly #products: number;
  readonly #batches: readonly Walk[];

  constructor(routine: Matmul, engine: WasmEngine) {
    this.name = routine.name;
    this.needs = sizes(routine);
    this.#engine = engine;
    this.#type = routine.type;
    this.#shift = Math.log2(byteSize(routine.type));
    this.#sums = sumsOf[routine.type]!;
    this.#float = routine.type === 'f32' || routine.type === 'f64' ? routine.type : null;
    this.#products = routine.batch * routine.m * routine.n * routine.k;
    this.#batches = walksOf(routine);
    this.source = `;; interpreted: ${routine.batch} × ${routine.m}×${routine.k} · ${routine.k}×${routine.n}\n`;
  }

  run(buffers: readonly CpuBuffer[]): void {
    const [a, b, c] = buffers as [CpuBuffer, CpuBuffer, CpuBuffer];
    const { views } = this.#engine.memory;
    const isThere = a.small === null && b.small === null && c.small === null;
    const lines = isThere && this.#float !== null ? this.#engine.sums.lines(this.#float, this.#products) : null;
    if (lines !== null) {
      for (const walk of this.#batches) {
        const [first, second] = walk.swapped ? [b, a] : [a, b];
        this.#byCode(lines, walk, first.address, second.address, c.address);
      }
      return;
    }
    const view = viewOf[this.#type];
    const [x, y, into] = [view(a.small ?? views), view(b.small ?? views), view(c.small ?? views)];
    // Shifts, not quotients: a loop over positions that the engine holds as doubles takes several times as long.
    const shift = this.#shift;
    const [atA, atB, atC] = [a.address >>> shift, b.address >>> shift, c.address >>> shift];
    for (const walk of this.#batches) {
      if (walk.swapped) this.#sums(walk, y as never, atB, x as never, atA, into as never, atC);
      else this.#sums(walk, x as never, atA, y as never, atB, into as never, atC);
    }
  }

  #byCode(lines: LineSums, walk: Walk, atFirst: number, atSecond: number, to: number): void {
    const shift = this.#shift;
    const { first, second, apart } = walk;
    lines(
      atFirst + (first.at << shift),
      atSecond + (second.at << shift),
      to + (walk.at << shift),
      first.count,
      first.apart << shift,
      first.step << shift,
      second.count,
      second.apart << shift,
      second.step << shift,
      apart[0] << shift,
      apart[1] << shift,
      walk.depth,
    );
  }

  dispose(): void {}
}

/** The sums of one product: one for each line of the first operand and each of the second. Four lines of the second are walked along at once. */
interface Walk {
  /** The first operand is B. */
  readonly swapped: boolean;
  /** Where operands and result begin, and how far apart their lines and the elements of a line are. */
  readonly first: Lines;
  readonly second: Lines;
  readonly at: number;
  /** How far apart sums are in the result: of neighbouring lines of the first operand, and of the second. */
  readonly apart: readonly [number, number];
  readonly depth: number;
}

interface Lines {
  readonly at: number;
  readonly count: number;
  readonly apart: number;
  readonly step: number;
}

const side = 4;

function walksOf(r: Matmul): readonly Walk[] {
  const { m, n, k } = r;
  const [rowA, depthA] = r.transposeA ? [1, m] : [k, 1];
  const [depthB, columnB] = r.transposeB ? [1, k] : [n, 1];
  const swapped = n < side && m > n;
  return Array.from({ length: r.batch }, (_, batch): Walk => {
    const a: Lines = { at: r.batchA === 1 ? 0 : batch * m * k, count: m, apart: rowA, step: depthA };
    const b: Lines = { at: r.batchB === 1 ? 0 : batch * k * n, count: n, apart: columnB, step: depthB };
    const at = batch * m * n;
    return swapped
      ? { swapped, first: b, second: a, at, apart: [1, n], depth: k }
      : { swapped, first: a, second: b, at, apart: [n, 1], depth: k };
  });
}

type Sums<A = never> = (walk: Walk, p: A, atP: number, q: A, atQ: number, to: A, atTo: number) => void;

const sumsOfFloats: Sums<Float32Array | Float64Array> = (walk, p, atP, q, atQ, to, atTo) => {
  const { first, second, depth } = walk;
  const [alongFirst, alongSecond] = walk.apart;
  const { count, apart, step } = second;
  const onwards = first.step;
  for (let i = 0; i < first.count; i++) {
    const line = atP + first.at + i * first.apart;
    let into = atTo + walk.at + i * alongFirst;
    let j = 0;
    for (; j + side <= count; j += side) {
      let s = 0;
      let t = 0;
      let u = 0;
      let v = 0;
      let at = line;
      let a = atQ + second.at + j * apart;
      let b = a + apart;
      let c = b + apart;
      let d = c + apart;
      for (let x = 0; x < depth; x++) {
        const value = p[at]!;
        s += value * q[a]!;
        t += value * q[b]!;
        u += value * q[c]!;
        v += value * q[d]!;
        at += onwards;
        a += step;
        b += step;
        c += step;
        d += step;
      }
      to[into] = s;
      to[into + alongSecond] = t;
      to[into + 2 * alongSecond] = u;
      to[into + 3 * alongSecond] = v;
      into += side * alongSecond;
    }
    for (; j < count; j++) {
      let sum = 0;
      let at = line;
      let a = atQ + second.at + j * apart;
      for (let x = 0; x < depth; x++) {
        sum += p[at]! * q[a]!;
        at += onwards;
        a += step;
      }
      to[into] = sum;
      into += alongSecond;
    }
  }
};

/** Sums one by one. `add` adds a product to a sum. */
const oneByOne =
  <A extends { [i: number]: V }, V>(zero: V, add: (sum: V, a: V, b: V) => V): Sums<A> =>
  (walk, p, atP, q, atQ, to, atTo) => {
    const { first, second, apart, depth } = walk;
    for (let i = 0; i < first.count; i++)
      for (let j = 0; j < second.count; j++) {
        let sum = zero;
        let at = atP + first.at + i * first.apart;
        let other = atQ + second.at + j * second.apart;
        for (let x = 0; x < depth; x++, at += first.step, other += second.step) sum = add(sum, p[at]!, q[other]!);
        to[atTo + walk.at + i * apart[0] + j * apart[1]] = sum;
      }
  };

const sumsOfWords = oneByOne<Int32Array | Uint32Array, number>(0, (sum, a, b) => (sum + Math.imul(a, b)) | 0);
const sumsOfLongs = oneByOne<BigInt64Array | BigUint64Array, bigint>(0n, (sum, a, b) =>
  BigInt.asUintN(64, sum + a * b),
);

const sumsOf: Readonly<Partial<Record<DType, Sums>>> = {
  f32: sumsOfFloats as Sums,
  f64: sumsOfFloats as Sums,
  i32: sumsOfWords as Sums,
  u32: sumsOfWords as Sums,
  i64: sumsOfLongs as Sums,
  u64: sumsOfLongs as Sums,
};
