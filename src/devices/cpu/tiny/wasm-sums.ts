// Long sums of neighbouring f32, and of products of two such rows, by WebAssembly: as `folds.ts` takes them, in the same order and in double
// precision, so with the same bits. The sums of tiny matrix products (wasm-lines.ts) are in the same module.
//
// One module serves all lengths. It is compiled when so much was summed up that this pays: who sums once waits for no compiler.

import type { TypedArray } from '../../../base/dtype.ts';
import type { CpuMemory } from '../memory.ts';
import { type Func, WasmModule } from '../wasm/module.ts';
import { isSum32, longSum } from './folds.ts';
import { emitLineSums, type LineSums } from './wasm-lines.ts';

/** Elements after which compiling has cost as much as summing them up did. */
const hotElements = 1 << 16;

interface Exports {
  readonly sum: (at: number, count: number) => number;
  readonly products: (at: number, other: number, count: number) => number;
  readonly f32: LineSums;
  readonly f64: LineSums;
}

export class WasmSums {
  readonly #memory: CpuMemory;
  #summed = 0;
  #exports: Exports | null = null;
  /** The memory the instance is bound to. */
  #boundTo: WebAssembly.Memory | null = null;

  constructor(memory: CpuMemory) {
    this.#memory = memory;
  }

  /** Sums of rows at an address, or of their products with rows at another one, stored from `first` on; false if they are left to the interpreter. */
  sums(at: number, other: number | null, rows: number, length: number, out: TypedArray, first: number): boolean {
    if (length < longSum || !this.#isHot(rows * length)) return false;
    const { sum, products } = this.#bound();
    const bytes = 4 * length;
    for (let r = 0; r < rows; r++) {
      const from = at + r * bytes;
      const value = other === null ? sum(from, length) : products(from, other + r * bytes, length);
      if (!isSum32(value)) return false;
      out[first + r] = value;
    }
    return true;
  }

  /** The sums of so many products of lines; null if they are left to the interpreter. */
  lines(type: 'f32' | 'f64', products: number): LineSums | null {
    return this.#isHot(products) ? this.#bound()[type] : null;
  }

  /** Lets go of the memory; the next sum binds the module to the one that there is then. */
  unbind(): void {
    this.#exports = null;
    this.#boundTo = null;
  }

  #isHot(elements: number): boolean {
    if (this.#summed >= hotElements) return true;
    this.#summed += elements;
    return false;
  }

  #bound(): Exports {
    const { memory } = this.#memory;
    if (this.#exports !== null && this.#boundTo === memory) return this.#exports;
    const module = new WebAssembly.Module(render(this.#memory.shared));
    this.#boundTo = memory;
    return (this.#exports = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Exports);
  }
}

function render(shared: boolean): Uint8Array<ArrayBuffer> {
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  emitSum(module.func(['i32', 'i32'], ['f64'], 'sum'), null);
  emitSum(module.func(['i32', 'i32', 'i32'], ['f64'], 'products'), 1);
  emitLineSums(module, 'f32');
  emitLineSums(module, 'f64');
  return module.bytes();
}

/** Eight sums side by side, two in a vector. `other`: the parameter with the address of the second factors. */
function emitSum(f: Func, other: number | null): void {
  const c = f.code;
  const at = 0;
  const count = f.params.length - 1;
  const [end, apart] = [f.local('i32'), f.local('i32')];
  const four = f.local('v128');
  const sums = [0, 1, 2, 3].map(() => f.local('v128'));
  const total = f.local('f64');
  for (const s of sums) c.f64(0).op('f64x2.splat').set(s);
  if (other !== null) c.get(other).get(at).op('i32.sub').set(apart);
  c.get(at).get(count).i32(-8).op('i32.and').i32(2).ops('i32.shl', 'i32.add').set(end);
  const top = c.loop();
  for (const half of [0, 1]) {
    c.get(at).mem('v128.load', 16 * half, 2);
    if (other !== null)
      c.get(at)
        .get(apart)
        .op('i32.add')
        .mem('v128.load', 16 * half, 2)
        .op('f32x4.mul');
    c.set(four);
    const [low, high] = [sums[2 * half]!, sums[2 * half + 1]!];
    c.get(low).get(four).ops('f64x2.promote_low_f32x4', 'f64x2.add').set(low);
    c.get(high).get(four).get(four).shuffle([8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]);
    c.ops('f64x2.promote_low_f32x4', 'f64x2.add').set(high);
  }
  c.get(at).i32(32).op('i32.add').tee(at).get(end).op('i32.lt_u').brIf(top).end();
  const pair = (s: number): void => {
    c.get(s).lane('f64x2.extract_lane', 0).get(s).lane('f64x2.extract_lane', 1).op('f64.add');
  };
  pair(sums[0]!);
  pair(sums[1]!);
  c.op('f64.add');
  pair(sums[2]!);
  pair(sums[3]!);
  c.ops('f64.add', 'f64.add').set(total);
  // One by one: fewer than eight are left.
  c.get(end).get(count).i32(7).op('i32.and').i32(2).ops('i32.shl', 'i32.add').set(end);
  const exit = c.block();
  const next = c.loop();
  c.get(at).get(end).op('i32.eq').brIf(exit);
  c.get(total).get(at).mem('f32.load');
  if (other !== null) c.get(at).get(apart).op('i32.add').mem('f32.load').op('f32.mul');
  c.ops('f64.promote_f32', 'f64.add').set(total);
  c.get(at).i32(4).op('i32.add').set(at);
  c.br(next).end().end();
  c.get(total);
}
