// What is right of the diagonal of a square matrix, to the left of it as well: squares of a vector's lanes are transposed by WebAssembly.

import type { CpuMemory } from '../memory.ts';
import type { Code } from '../wasm/code.ts';
import type { Func, WasmModule } from '../wasm/module.ts';

/** By type: mirrors the matrix at an address, of so many rows, but for the squares on its diagonal and what is below the last of them. */
type Exports = Readonly<Record<'f32' | 'f64', (at: number, rows: number) => void>>;

/** Squares of a tile, along each side: the lines of a tile stay in the cache while it is mirrored. */
const tile = 4;

const lanesOf = { f32: 4, f64: 2 } as const;

/** Mirrors n×n matrices in the memory. `Module`: given, so that this file shares no other with what pages load. */
export class Mirrors {
  #exports: Exports | null = null;
  /** The memory the instance is bound to. */
  #boundTo: WebAssembly.Memory | null = null;

  /** The matrix at an address. */
  run(memory: CpuMemory, Module: typeof WasmModule, type: 'f32' | 'f64', address: number, n: number): void {
    const lanes = lanesOf[type];
    this.#bound(memory, Module)[type](address, n);
    // What is left to do: squares on the diagonal, and what is below the last of them.
    const c = memory.views[type];
    const at = address / (16 / lanes);
    const whole = n - (n % lanes);
    for (let j = 0; j < n; j++)
      for (let i = j < whole ? j - (j % lanes) : 0; i < j; i++) c[at + j * n + i] = c[at + i * n + j]!;
  }

  /** Lets go of the memory. */
  unbind(): void {
    this.#exports = null;
    this.#boundTo = null;
  }

  #bound({ memory, shared }: CpuMemory, Module: typeof WasmModule): Exports {
    if (this.#exports !== null && this.#boundTo === memory) return this.#exports;
    const module = new Module({ module: 'env', name: 'memory', shared });
    for (const type of ['f32', 'f64'] as const) emitMirror(module.func(['i32', 'i32'], [], type), lanesOf[type]);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.bytes()), { env: { memory } });
    this.#boundTo = memory;
    return (this.#exports = exports as unknown as Exports);
  }
}

/** Squares beside the diagonal: those of rows from `top` and columns from `left` on, a tile of them at a time. */
function emitMirror(f: Func, lanes: 2 | 4): void {
  const c = f.code;
  const [at, n] = [0, 1];
  const bytes = 16 / lanes;
  const l = f.named('i32', 'whole', 'top', 'left', 'bottom', 'right', 'i', 'j', 'apart', 'from', 'to');
  const step = tile * lanes;
  const turns = (i: number, first: number | null, end: number, by: number, body: () => void): void => {
    if (first === null) c.i32(0).set(i);
    else c.get(first).set(i);
    const exit = c.block();
    const next = c.loop();
    c.get(i).get(end).op('i32.ge_u').brIf(exit);
    body();
    c.get(i).i32(by).op('i32.add').set(i).br(next).end().end();
  };
  const endOf = (first: number, end: number): void => {
    c.get(first).i32(step).op('i32.add').tee(end).get(l.whole);
    c.get(end).get(l.whole).ops('i32.lt_u', 'select').set(end);
  };
  const address = (row: number, column: number): Code =>
    c.get(row).get(n).op('i32.mul').get(column).op('i32.add').i32(bytes).op('i32.mul').get(at).op('i32.add');
  c.get(n).i32(-lanes).op('i32.and').set(l.whole);
  c.get(n).i32(bytes).op('i32.mul').set(l.apart);
  turns(l.top, null, l.whole, step, () => {
    endOf(l.top, l.bottom);
    turns(l.left, l.top, l.whole, step, () => {
      endOf(l.left, l.right);
      turns(l.i, l.top, l.bottom, lanes, () =>
        turns(l.j, l.left, l.right, lanes, () => {
          // On the diagonal and below it nothing is to be done.
          const skip = c.block();
          c.get(l.j).get(l.i).op('i32.le_u').brIf(skip);
          address(l.i, l.j).set(l.from);
          address(l.j, l.i).set(l.to);
          emitSquare(f, lanes, l);
          c.end();
        }),
      );
    });
  });
}

const orders = {
  2: [
    [0, 2],
    [1, 3],
  ],
  4: [
    [0, 4, 1, 5],
    [2, 6, 3, 7],
  ],
} as const;

/** One square from `from` to `to`, whose rows are `apart`, transposed. */
function emitSquare(f: Func, lanes: 2 | 4, l: { readonly from: number; readonly to: number; readonly apart: number }) {
  const c = f.code;
  const bytes = 16 / lanes;
  const onwards = (local: number): Code => c.get(local).get(l.apart).op('i32.add').set(local);
  const vector = (): number => f.local('v128');
  // Rows in turns, and for four lanes pairs of them once more.
  const zipped = (a: number, b: number, low: number, high: number): void => {
    [low, high].forEach((to, half) => {
      const order = orders[lanes][half]!.flatMap((lane) => Array.from({ length: bytes }, (_, i) => lane * bytes + i));
      c.get(a).get(b).shuffle(order).set(to);
    });
  };
  let rows = Array.from({ length: lanes }, vector);
  for (const row of rows) {
    c.get(l.from).mem('v128.load', 0, 2).set(row);
    onwards(l.from);
  }
  const made = rows.map(vector);
  const half = lanes / 2;
  for (let turn = 0; turn < half; turn++) {
    const into = turn % 2 === 0 ? made : Array.from({ length: lanes }, vector);
    for (let i = 0; i < half; i++) zipped(rows[i]!, rows[i + half]!, into[2 * i]!, into[2 * i + 1]!);
    rows = into;
  }
  for (const row of rows) {
    c.get(l.to).get(row).mem('v128.store', 0, 2);
    onwards(l.to);
  }
}
