// Few long rows: radix sort of one row at a time by all threads.
//
// The row is cut into blocks. Each pass counts one byte of the keys per block, turns the counts into the place where each
// block's share of each bucket begins, and moves the elements there, block by block: stable, and the same for any number
// of threads. Key and position travel as one element, so a move is one write. Values come back from their keys without
// looking at the input again, unless the row holds a NaN or -0, whose bits a key does not keep.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import { stage, unstage } from '../../arguments.ts';
import type { CpuBuffer } from '../../buffer.ts';
import { WasmCode, type WasmEngine } from '../../engine.ts';
import { argsAddress } from '../../memory.ts';
import type { CpuProgram } from '../../program.ts';
import { WasmModule } from '../../wasm/module.ts';
import { moduleText } from '../../wasm/text.ts';
import { address, machines, rising } from '../emit.ts';
import { emitKey, emitValue, keys } from './keys.ts';

const longRow = 1 << 15;
const fewRows = 32;
const minimumBlock = 1 << 13;
const mostBlocks = 64;
const buckets = 256;

export const isLong = (r: Sort): boolean => r.columns >= longRow && r.rows <= fewRows;

/** Words of the argument block. */
const arg = {
  input: 0,
  values: 1,
  positions: 2,
  from: 3,
  to: 4,
  counts: 5,
  starts: 6,
  flags: 7,
  phase: 8,
  shift: 9,
  exact: 10,
};
const phase = { keys: 0, count: 1, move: 2, write: 3 };

export class LongSort implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars = 0;
  readonly #routine: Sort;
  readonly #engine: WasmEngine;
  readonly #code: WasmCode;
  readonly #blockItems: number;
  readonly #blocks: number;
  readonly #elementBytes: 8 | 16;
  readonly #pointers: number[] = [];

  constructor(routine: Sort, engine: WasmEngine) {
    this.name = routine.name;
    this.#routine = routine;
    this.#engine = engine;
    const { rows, columns, type } = routine;
    const values = rows * columns * byteSize(type);
    this.needs = [values, values, rows * columns * 4];
    this.#blockItems = Math.max(minimumBlock, Math.ceil(columns / mostBlocks));
    this.#blocks = Math.ceil(columns / this.#blockItems);
    this.#elementBytes = keys[type].word === 'i64' ? 16 : 8;
    const bytes = render(routine, this.#blockItems, engine.memory.shared);
    this.#code = new WasmCode(routine.name, bytes, () => moduleText(bytes));
  }

  get source(): string {
    return this.#code.text;
  }

  run(given: readonly CpuBuffer[]): void {
    const { rows, columns, type } = this.#routine;
    const { memory } = this.#engine;
    const elements = columns * this.#elementBytes;
    const counts = this.#blocks * buckets * 4;
    const scratch = memory.take(2 * elements + 2 * counts + this.#blocks * 4 + 64, this.name);
    try {
      stage(memory, given, 1, this.#pointers);
      const a = scratch.address;
      const at = {
        elements: [a, a + elements],
        counts: a + 2 * elements,
        starts: a + 2 * elements + counts,
        flags: a + 2 * elements + 2 * counts,
      };
      const size = byteSize(type);
      for (let row = 0; row < rows; row++) {
        const u32 = memory.views.u32;
        const word = argsAddress >>> 2;
        u32[word + arg.input] = this.#pointers[0]! + row * columns * size;
        u32[word + arg.values] = this.#pointers[1]! + row * columns * size;
        u32[word + arg.positions] = this.#pointers[2]! + row * columns * 4;
        u32[word + arg.counts] = at.counts;
        u32[word + arg.starts] = at.starts;
        u32[word + arg.flags] = at.flags;
        this.#sortRow(word, at);
      }
      unstage(memory, given, 1, this.#pointers);
    } finally {
      this.#engine.release(scratch);
    }
  }

  dispose(): void {
    this.#engine.drop(this.#code);
  }

  /** Asked for anew after each run: one that wakes workers may grow the memory. */
  get #words(): Uint32Array {
    return this.#engine.memory.views.u32;
  }

  #sortRow(
    word: number,
    at: {
      readonly elements: readonly number[];
      readonly counts: number;
      readonly starts: number;
      readonly flags: number;
    },
  ): void {
    const { digits } = keys[this.#routine.type];
    let from = 0;
    digits.forEach((digit, i) => {
      this.#words[word + arg.from] = at.elements[from]!;
      this.#words[word + arg.to] = at.elements[1 - from]!;
      this.#words[word + arg.shift] = 8 * digit;
      // Making the keys counts the first digit on the way.
      this.#run(word, i === 0 ? phase.keys : phase.count);
      if (!this.#place(at.counts >>> 2, at.starts >>> 2)) return;
      this.#run(word, phase.move);
      from = 1 - from;
    });
    this.#words[word + arg.from] = at.elements[from]!;
    let exact = 1;
    for (let b = 0; b < this.#blocks; b++) if (this.#words[(at.flags >>> 2) + b]) exact = 0;
    this.#words[word + arg.exact] = exact;
    this.#run(word, phase.write);
  }

  #run(word: number, what: number): void {
    this.#words[word + arg.phase] = what;
    const nanoseconds = this.#routine.columns * 3;
    this.#engine.run({ code: this.#code, items: this.#blocks, grain: 1, nanoseconds, finish: false, repeatable: true });
  }

  /** Where each block's elements of each bucket go. False if all elements are in one bucket. */
  #place(counts: number, starts: number): boolean {
    const u32 = this.#words;
    let next = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const first = next;
      for (let block = 0; block < this.#blocks; block++) {
        const i = block * buckets + bucket;
        u32[starts + i] = next;
        next += u32[counts + i]!;
      }
      if (next - first === this.#routine.columns) return false;
    }
    return true;
  }
}

function render(r: Sort, blockItems: number, shared: boolean): Uint8Array {
  const { word } = keys[r.type];
  const wide = word === 'i64';
  const elementBytes = wide ? 16 : 8;
  const machine = machines[r.type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const c = f.code;
  const [args, item, end] = [0, 1, 2];
  const local = (): number => f.local('i32');
  const [input, values, positions, from, to, counts, shift, which] = Array.from({ length: 8 }, local) as number[] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [i, stop, place, dirty, at] = Array.from({ length: 5 }, local) as number[] as [
    number,
    number,
    number,
    number,
    number,
  ];
  const bits = f.local(word);
  const key = f.local(word);
  const element = f.local(wide ? 'v128' : 'i64');

  const each = (body: () => void): void => {
    c.get(item).i32(blockItems).op('i32.mul').set(i);
    rising(c, i, () => c.get(stop), 1, body);
  };
  const load = (): void => {
    address(c, from, i, elementBytes)
      .mem(wide ? 'v128.load' : 'i64.load')
      .set(element);
  };
  /** The key of the element, in `key`. */
  const keyOf = (): void => {
    if (wide) c.get(element).lane('i64x2.extract_lane', 0).set(key);
    else c.get(element).i64(32n).ops('i64.shr_u', 'i32.wrap_i64').set(key);
  };
  const positionOf = (): void => {
    if (wide) c.get(element).lane('i32x4.extract_lane', 2);
    else c.get(element).op('i32.wrap_i64');
  };
  /** Address of the key's bucket. */
  const bucket = (): void => {
    c.get(counts).get(key).get(shift);
    if (wide) c.ops('i64.extend_i32_u', 'i64.shr_u', 'i32.wrap_i64');
    else c.op('i32.shr_u');
    c.i32(255).op('i32.and').i32(2).ops('i32.shl', 'i32.add');
  };
  const count = (): void => {
    bucket();
    c.tee(at).get(at).mem('i32.load').i32(1).op('i32.add').mem('i32.store');
  };
  const clear = (): void => {
    c.get(counts)
      .i32(0)
      .i32(buckets * 4)
      .memoryFill();
  };

  const phases: Readonly<Record<number, () => void>> = {
    [phase.keys]: () => {
      clear();
      c.i32(0).set(dirty);
      each(() => {
        emitKey(c, r, { input, i, bits });
        c.set(key);
        address(c, from, i, elementBytes);
        if (wide)
          c.get(key).op('i64x2.splat').get(i).op('i64.extend_i32_u').lane('i64x2.replace_lane', 1).mem('v128.store');
        else
          c.get(key)
            .op('i64.extend_i32_u')
            .i64(32n)
            .op('i64.shl')
            .get(i)
            .ops('i64.extend_i32_u', 'i64.or')
            .mem('i64.store');
        count();
        if (keys[r.type].kind === 'float') {
          // NaN has the largest key; zeros may have lost their sign.
          c.get(dirty).get(key);
          if (wide) c.i64(-1n).op('i64.eq').get(bits).op('i64.eqz');
          else c.i32(-1).op('i32.eq').get(bits).op('i32.eqz');
          c.ops('i32.or', 'i32.or').set(dirty);
        }
      });
      c.get(args)
        .mem('i32.load', arg.flags * 4)
        .get(item)
        .i32(4)
        .ops('i32.mul', 'i32.add')
        .get(dirty)
        .mem('i32.store');
    },
    [phase.count]: () => {
      clear();
      each(() => {
        load();
        keyOf();
        count();
      });
    },
    [phase.move]: () => {
      // The counts become running places, so that the starts stay as they are if the block has to be done again.
      c.get(counts);
      c.get(args)
        .mem('i32.load', arg.starts * 4)
        .get(item)
        .i32(buckets * 4)
        .ops('i32.mul', 'i32.add');
      c.i32(buckets * 4).memoryCopy();
      each(() => {
        load();
        keyOf();
        bucket();
        c.tee(at).get(at).mem('i32.load').tee(place).i32(1).op('i32.add').mem('i32.store');
        address(c, to, place, elementBytes)
          .get(element)
          .mem(wide ? 'v128.store' : 'i64.store');
      });
    },
    [phase.write]: () => {
      each(() => {
        load();
        address(c, positions, i, 4);
        positionOf();
        c.tee(place).mem('i32.store');
        c.get(args).mem('i32.load', arg.exact * 4);
        c.if();
        keyOf();
        address(c, values, i, machine.bytes);
        emitValue(c, r, key);
        c.mem(
          machine.bytes === 1 ? 'i32.store8' : machine.bytes === 2 ? 'i32.store16' : wide ? 'i64.store' : 'i32.store',
        );
        c.else();
        address(c, values, i, machine.bytes);
        address(c, input, place, machine.bytes).mem(machine.load).mem(machine.store);
        c.end();
      });
    },
  };

  for (const [slot, into] of [
    [arg.input, input],
    [arg.values, values],
    [arg.positions, positions],
    [arg.from, from],
    [arg.to, to],
    [arg.shift, shift],
    [arg.phase, which],
  ] as const) {
    c.get(args)
      .mem('i32.load', slot * 4)
      .set(into);
  }
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(args)
        .mem('i32.load', arg.counts * 4)
        .get(item)
        .i32(buckets * 4)
        .ops('i32.mul', 'i32.add')
        .set(counts);
      c.get(item).i32(1).op('i32.add').i32(blockItems).op('i32.mul').tee(stop);
      c.i32(r.columns).get(stop).i32(r.columns).ops('i32.lt_u', 'select').set(stop);
      for (const [number, emit] of Object.entries(phases)) {
        c.get(which).i32(Number(number)).op('i32.eq');
        c.if();
        emit();
        c.end();
      }
    },
  );
  return module.bytes();
}
