// The steps of compact.ts as a WebAssembly module.

import type { Compact } from '../../../kernel/kernel.ts';
import type { Code } from '../wasm/code.ts';
import { type Func, WasmModule } from '../wasm/module.ts';
import { machines, rising } from './emit.ts';

/** Words of the argument block. `counts`: of each block how many flags are true, or where its share begins and ends. */
export const arg = { step: 0, flags: 1, values: 2, output: 3, counts: 4, table: 5 } as const;

/** Items are blocks. */
export const step = { count: 0, write: 1 } as const;

/** For every set of eight flags: which of them are true, one byte each. */
export const positionTable = Uint8Array.from({ length: 256 * 8 }, (_, i) => {
  const [set, nth] = [i >>> 3, i & 7];
  return [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (set >>> bit) & 1)[nth] ?? 0;
});

/** Flags that are skipped at once where none is true. */
const stretch = 64;
const zero = new Uint8Array(16);

export function renderCompact(r: Compact, blockItems: number, shared: boolean): Uint8Array {
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const steps = new Steps(f, r, blockItems);
  const c = f.code;
  rising(
    c,
    1,
    () => c.get(2),
    1,
    () => {
      steps.block();
      steps.given('step').i32(step.count).op('i32.eq').if();
      steps.count();
      c.else();
      if (r.what !== 'count') steps.write(r.what);
      c.end();
    },
  );
  return module.bytes();
}

/**
 * Addresses: `at`, the flag that is looked at, up to `end`, in stretches up to `whole`; `first`, the row's first flag; `to`, where the next
 * result goes, up to `last`; `from`, what the flag stands for.
 */
const locals = ['at', 'end', 'whole', 'first', 'to', 'last', 'from', 'notes', 'table', 'mask', 'i'] as const;
type Local = (typeof locals)[number];

/** The code of one block, and the locals it works in. */
class Steps {
  readonly #f: Func;
  readonly #r: Compact;
  readonly #blockItems: number;
  readonly #l: Readonly<Record<Local, number>>;
  readonly #eightLocal: number;
  readonly #baseLocal: number;

  constructor(f: Func, r: Compact, blockItems: number) {
    this.#f = f;
    this.#r = r;
    this.#blockItems = blockItems;
    this.#l = f.named('i32', ...locals);
    this.#eightLocal = f.local('v128');
    this.#baseLocal = f.local('v128');
  }

  given(name: keyof typeof arg): Code {
    return this.#f.code.get(0).mem('i32.load', arg[name] * 4);
  }

  /** Where the block's flags and its counts lie. */
  block(): void {
    const c = this.#f.code;
    const { at, end, notes } = this.#l;
    this.given('counts').get(1).i32(3).ops('i32.shl', 'i32.add').set(notes);
    c.get(1).i32(this.#blockItems).op('i32.mul').tee(at).i32(this.#blockItems).op('i32.add').tee(end);
    c.i32(this.#r.length).get(end).i32(this.#r.length).ops('i32.lt_u', 'select').set(end);
    this.given('flags').get(at).op('i32.add').set(at);
    this.given('flags').get(end).op('i32.add').set(end);
  }

  count(): void {
    const c = this.#f.code;
    const { at, end, notes, i } = this.#l;
    const sum = this.#eightLocal;
    c.i32(0).set(i).v128(zero).set(sum);
    this.#whole(stretch);
    this.#while(stretch, () => {
      // Comparisons are -1 where they hold: four of them fit a byte, and bytes are added in pairs.
      for (let k = 0; k < stretch; k += 16) {
        c.get(at).mem('v128.load', k, 0).v128(zero).op('i8x16.ne');
        if (k > 0) c.op('i8x16.add');
      }
      c.ops('i16x8.extadd_pairwise_i8x16_s', 'i32x4.extadd_pairwise_i16x8_s').get(sum).op('i32x4.add').set(sum);
    });
    for (let lane = 0; lane < 4; lane++) c.get(i).get(sum).lane('i32x4.extract_lane', lane).op('i32.sub').set(i);
    rising(
      c,
      at,
      () => c.get(end),
      1,
      () => c.get(at).mem('i32.load8_u').i32(0).op('i32.ne').get(i).op('i32.add').set(i),
    );
    c.get(notes).get(i).mem('i32.store');
  }

  write(what: 'positions' | 'values'): void {
    const c = this.#f.code;
    const { bytes } = machines[this.#r.type];
    const { at, notes, first, to, last, mask, table } = this.#l;
    for (const [offset, into] of [
      [0, to],
      [4, last],
    ] as const) {
      this.given('output').get(notes).mem('i32.load', offset).i32(bytes).ops('i32.mul', 'i32.add').set(into);
    }
    this.given('flags').set(first);
    this.given('table').set(table);
    // As long as all that is written stays within the block's share.
    this.#whole(stretch);
    const full = c.block();
    const top = c.loop();
    c.get(at).get(this.#l.whole).op('i32.ge_u').brIf(full);
    for (let i = 0; i < stretch; i += 16) {
      c.get(at).mem('v128.load', i, 0);
      if (i > 0) c.op('v128.or');
    }
    c.op('v128.any_true').if();
    c.get(last)
      .get(to)
      .op('i32.sub')
      .i32(stretch * bytes)
      .op('i32.lt_u')
      .brIf(full);
    this.#from();
    for (let i = 0; i < stretch; i += 16) {
      if (what === 'values') for (let k = i; k < i + 16; k++) this.#overwritten(k);
      else {
        this.#flags(i).set(mask);
        this.#eight(i, () => c.get(mask).i32(255).op('i32.and'));
        this.#eight(i + 8, () => c.get(mask).i32(8).op('i32.shr_u'));
      }
    }
    c.end();
    c.get(at).i32(stretch).op('i32.add').set(at).br(top).end().end();
    this.#rest();
  }

  /** What is left of a block, one true flag after the other, until its share is full. */
  #rest(): void {
    const c = this.#f.code;
    const { at, end, to, last, mask } = this.#l;
    const done = c.block();
    const each = (): void => {
      const next = c.loop();
      c.get(mask).if();
      c.get(to).get(last).op('i32.ge_u').brIf(done);
      this.#from();
      this.#one();
      c.get(mask).get(mask).i32(1).ops('i32.sub', 'i32.and').set(mask).br(next).end().end();
    };
    this.#whole(16);
    this.#while(16, () => {
      this.#flags().set(mask);
      each();
    });
    rising(
      c,
      at,
      () => c.get(end),
      1,
      () => {
        c.get(at).mem('i32.load8_u').i32(0).op('i32.ne').set(mask);
        each();
      },
    );
    c.end();
  }

  /** What the flag at `at` stands for: the address of its value, or its position. */
  #from(): void {
    const c = this.#f.code;
    const { at, first, from } = this.#l;
    if (this.#r.what === 'values') {
      this.given('values').get(at).get(first).op('i32.sub').i32(machines[this.#r.type].bytes);
      c.ops('i32.mul', 'i32.add').set(from);
    } else c.get(at).get(first).op('i32.sub').set(from);
  }

  /** Writes what the lowest flag of the mask stands for. */
  #one(): void {
    const c = this.#f.code;
    const { bytes, load, store } = machines[this.#r.type];
    const { from, mask, to } = this.#l;
    c.get(to).get(from).get(mask).op('i32.ctz');
    if (this.#r.what === 'values') c.i32(bytes).ops('i32.mul', 'i32.add').mem(load).mem(store);
    else c.op('i32.add').mem('i32.store');
    c.get(to).i32(bytes).op('i32.add').set(to);
  }

  /** Writes a value whether its flag is true or not; the next one is written behind it if it is, else in its place. */
  #overwritten(offset: number): void {
    const c = this.#f.code;
    const { bytes, load, store } = machines[this.#r.type];
    const { at, from, to } = this.#l;
    c.get(to)
      .get(from)
      .mem(load, offset * bytes)
      .mem(store);
    c.get(at).mem('i32.load8_u', offset).i32(0).op('i32.ne').i32(bytes).op('i32.mul').get(to).op('i32.add').set(to);
  }

  /** Writes the positions of the true ones among eight flags, and anything behind them up to eight. */
  #eight(offset: number, set: () => Code): void {
    const c = this.#f.code;
    const { from, to, table, i } = this.#l;
    const [eight, base] = [this.#eightLocal, this.#baseLocal];
    set().set(i);
    c.get(from).i32(offset).op('i32.add').op('i32x4.splat').set(base);
    c.get(table).get(i).i32(3).ops('i32.shl', 'i32.add').mem('v128.load8x8_u').set(eight);
    for (const [half, extend] of [
      [0, 'i32x4.extend_low_i16x8_u'],
      [16, 'i32x4.extend_high_i16x8_u'],
    ] as const) {
      c.get(to).get(eight).op(extend).get(base).op('i32x4.add').mem('v128.store', half, 2);
    }
    c.get(i).op('i32.popcnt').i32(2).ops('i32.shl').get(to).op('i32.add').set(to);
  }

  /** A bit for each of sixteen flags. */
  #flags(offset = 0): Code {
    return this.#f.code.get(this.#l.at).mem('v128.load', offset, 0).v128(zero).ops('i8x16.ne', 'i8x16.bitmask');
  }

  /** How far whole stretches go. */
  #whole(items: number): void {
    const { at, end, whole } = this.#l;
    this.#f.code.get(end).get(at).op('i32.sub').i32(-items).op('i32.and').get(at).op('i32.add').set(whole);
  }

  #while(items: number, body: () => void): void {
    const c = this.#f.code;
    rising(c, this.#l.at, () => c.get(this.#l.whole), items, body);
  }
}
