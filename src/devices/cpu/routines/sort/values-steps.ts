// The steps of values-long.ts as a WebAssembly module.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import type { Code } from '../../wasm/code.ts';
import { type Func, WasmModule } from '../../wasm/module.ts';
import { address, fourfold, machines, rising } from '../emit.ts';
import { emitValue, keys } from './keys.ts';
import { localBytes, localSort } from './local.ts';
import { keysPass, lostPass, note, valuesPass } from './passes.ts';

export const mostBuckets = 4096;
/** Buckets beside each other are sorted together up to this many keys. */
export const together = 1024;
/** Numbers below this have their whole part in the low bits once it is added. */
const shifter = 2 ** 23;

/** Words of the argument block. */
export const arg = {
  step: 0,
  input: 1,
  values: 2,
  /** The keys, the keys by bucket, and a place as large to sort in. */
  keys: 3,
  moved: 4,
  spare: 5,
  /** Of each block and bucket: how many keys, and where they go. */
  counts: 6,
  starts: 7,
  /** Where each bucket begins, and with which bucket each task. */
  buckets: 8,
  tasks: 9,
  /** Where tasks count, and what blocks note. */
  local: 10,
  notes: 11,
  /** The bits that differ; buckets are by those from `shift` on, and each is sorted by those below. */
  low: 12,
  shift: 13,
  high: 14,
  /** What is kept of a bucket's number. */
  mask: 15,
  /** Buckets of equal width instead: values less the origin, times a factor. Both of the type of the values. */
  origin: 16,
  factor: 18,
  /** The bits that all keys have in common. One or two words. */
  common: 20,
  /** The last bucket of equal width. */
  last: 22,
} as const;

/** Items are blocks, but for `sort` and `fill` tasks, and one for `restore`. */
export const step = {
  keys: 0,
  count: 1,
  move: 2,
  sort: 3,
  restore: 4,
  countEvenly: 5,
  moveEvenly: 6,
  fill: 7,
} as const;

/** Whether values can be put into buckets of equal width. */
export const hasEven = ({ type }: Sort): boolean => type === 'f32' || type === 'f64';

export function renderLongValues(r: Sort, blockItems: number, shared: boolean): Uint8Array {
  const { word, kind } = keys[r.type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const steps = new Steps(run, r, blockItems);
  const toKeys = keysPass(module, r);
  const [sort, toValues] = [localSort(module, word), valuesPass(module, r)];
  const restore = kind === 'float' ? lostPass(module, r) : null;
  const bodies: readonly (readonly [number, () => void])[] = [
    [step.keys, () => steps.keys(toKeys)],
    [step.count, () => steps.count()],
    [step.move, () => steps.move()],
    [step.sort, () => steps.sort(sort, toValues)],
    [step.fill, () => steps.fill()],
    ...(hasEven(r)
      ? ([
          [step.countEvenly, () => steps.count(true)],
          [step.moveEvenly, () => steps.move(true)],
        ] as const)
      : []),
    ...(restore ? ([[step.restore, () => steps.restore(restore)]] as const) : []),
  ];
  const c = run.code;
  const [, item, end] = [0, 1, 2] as const;
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      for (const [number, emit] of bodies) {
        steps.given('step').i32(number).op('i32.eq');
        c.if();
        emit();
        c.end();
      }
    },
  );
  return module.bytes();
}

const splats = { 1: 'i8x16.splat', 2: 'i16x8.splat', 4: 'i32x4.splat', 8: 'i64x2.splat' } as const;

/** How the bits of a value are stored. */
function storing({ type }: Sort) {
  const { bytes } = machines[type];
  return { bytes, store: ({ 1: 'i32.store8', 2: 'i32.store16', 4: 'i32.store', 8: 'i64.store' } as const)[bytes] };
}

/** The code of one item of each step, and the locals it works in. */
class Steps {
  readonly #f: Func;
  readonly #r: Sort;
  readonly #word: 'i32' | 'i64';
  readonly #keyBytes: number;
  readonly #blockItems: number;
  readonly #first: number;
  readonly #width: number;
  readonly #at: number;
  readonly #end: number;
  readonly #table: number;
  readonly #shift: number;
  readonly #mask: number;
  readonly #target: number;
  readonly #slot: number;
  readonly #place: number;
  readonly #from: number;
  readonly #whole: number;
  readonly #origin: number;
  readonly #factor: number;
  readonly #number: number;
  readonly #last: number;
  readonly #value: number;
  /** In which buckets of equal width are computed. */
  readonly #float: 'f32' | 'f64';

  constructor(f: Func, r: Sort, blockItems: number) {
    this.#f = f;
    this.#r = r;
    this.#word = keys[r.type].word;
    this.#keyBytes = this.#word === 'i64' ? 8 : 4;
    this.#float = r.type === 'f64' ? 'f64' : 'f32';
    this.#blockItems = blockItems;
    const local = (): number => f.local('i32');
    [this.#first, this.#width, this.#at, this.#end, this.#table] = [local(), local(), local(), local(), local()];
    [this.#shift, this.#mask, this.#target, this.#slot, this.#place] = [local(), local(), local(), local(), local()];
    [this.#from, this.#whole, this.#origin, this.#factor] = [
      local(),
      local(),
      f.local(this.#float),
      f.local(this.#float),
    ];
    [this.#number, this.#last, this.#value] = [local(), local(), f.local('f64')];
  }

  /** Pushes a word of the arguments. */
  given(name: keyof typeof arg): Code {
    return this.#f.code.get(0).mem('i32.load', arg[name] * 4);
  }

  keys(toKeys: Func): void {
    const size = byteSize(this.#r.type);
    this.#block();
    this.#offset('input', this.#first, size);
    this.given('input');
    this.#offset('keys', this.#first, this.#keyBytes).get(this.#width);
    this.#offset('notes', 1, note.bytes).call(toKeys.index);
  }

  count(evenly = false): void {
    const c = this.#f.code;
    this.#block();
    this.#offset('counts', 1, 4 * mostBuckets).tee(this.#table);
    c.i32(0)
      .i32(4 * mostBuckets)
      .memoryFill();
    this.#eachKey(evenly, () => {
      c.tee(this.#slot).get(this.#slot).mem('i32.load').i32(1).op('i32.add').mem('i32.store');
    });
  }

  /** The counts become running places, so that the starts stay as they are if the block has to be done again. */
  move(evenly = false): void {
    const c = this.#f.code;
    this.#block();
    this.given('moved').set(this.#target);
    this.#offset('counts', 1, 4 * mostBuckets).tee(this.#table);
    this.#offset('starts', 1, 4 * mostBuckets)
      .i32(4 * mostBuckets)
      .memoryCopy();
    this.#eachKey(evenly, (load) => {
      c.tee(this.#slot).get(this.#slot).mem('i32.load').tee(this.#place).i32(1).op('i32.add').mem('i32.store');
      address(c, this.#target, this.#place, this.#keyBytes);
      load().mem(`${this.#word}.store`);
    });
  }

  /** Sorts the buckets of one task, small ones together with their neighbours. */
  sort(sort: Func, toValues: Func): void {
    const c = this.#f.code;
    const [at, end, next, top] = [this.#at, this.#end, this.#place, this.#slot];
    this.#offset('tasks', 1, 4).tee(at).mem('i32.load', 4).set(end);
    c.get(at).mem('i32.load').set(at);
    this.#offset('buckets', end, 4).set(end);
    this.#offset('buckets', at, 4).set(at);
    // Each turn begins where a bucket does, and goes on to the next.
    rising(
      c,
      at,
      () => c.get(end),
      4,
      () => {
        c.get(at).mem('i32.load').set(this.#first);
        c.get(at).mem('i32.load', 4).get(this.#first).op('i32.sub').set(this.#width);
        this.given('shift').set(top);
        const full = c.block();
        const more = c.loop();
        c.get(at).i32(4).op('i32.add').get(end).op('i32.ge_u').brIf(full);
        c.get(at).mem('i32.load', 8).get(this.#first).op('i32.sub').tee(next).i32(together).op('i32.gt_u').brIf(full);
        c.get(next).set(this.#width).get(at).i32(4).op('i32.add').set(at);
        // Several buckets differ in their higher bits, too.
        this.given('high').set(top);
        c.br(more).end().end();
        c.get(this.#width).if();
        for (const part of ['moved', 'keys', 'spare'] as const) this.#offset(part, this.#first, this.#keyBytes);
        this.#offset('local', 1, localBytes).get(this.#width);
        this.given('low').get(top).call(sort.index);
        this.#offset('values', this.#first, byteSize(this.#r.type)).get(this.#width).call(toValues.index);
        c.end();
      },
    );
  }

  /** Writes the values of one task's buckets, of which each holds equal keys: as many as were counted. */
  fill(): void {
    const c = this.#f.code;
    const { bytes, store } = storing(this.#r);
    const [key, vector] = [this.#f.local(this.#word), this.#f.local('v128')];
    const [bucket, last, at, end] = [this.#place, this.#slot, this.#at, this.#end];
    this.#offset('tasks', 1, 4).tee(at).mem('i32.load', 4).set(last);
    c.get(at).mem('i32.load').set(bucket);
    this.given('shift').set(this.#shift);
    rising(
      c,
      bucket,
      () => c.get(last),
      1,
      () => {
        this.#offset('buckets', bucket, 4).tee(at).mem('i32.load', 4).set(end);
        c.get(at).mem('i32.load').set(at);
        this.#offset('values', end, bytes).set(end);
        this.#offset('values', at, bytes).set(at);
        c.get(0).mem(`${this.#word}.load`, arg.common * 4);
        if (this.#word === 'i64') c.get(bucket).op('i64.extend_i32_u').get(this.#shift).op('i64.extend_i32_u');
        else c.get(bucket).get(this.#shift);
        c.ops(`${this.#word}.shl`, `${this.#word}.or`).set(key);
        emitValue(c, this.#r, key);
        c.set(key).get(key).op(splats[bytes]).set(vector);
        c.get(end).get(at).op('i32.sub').i32(-16).op('i32.and').get(at).op('i32.add').set(this.#whole);
        rising(
          c,
          at,
          () => c.get(this.#whole),
          16,
          () => c.get(at).get(vector).mem('v128.store', 0, 0),
        );
        rising(
          c,
          at,
          () => c.get(end),
          bytes,
          () => c.get(at).get(key).mem(store),
        );
      },
    );
  }

  restore(restore: Func): void {
    this.given('input');
    this.given('values').i32(this.#r.columns).call(restore.index);
  }

  /** The first key of this item's block, and how many there are. */
  #block(): void {
    const c = this.#f.code;
    const { columns } = this.#r;
    c.get(1).i32(this.#blockItems).op('i32.mul').tee(this.#first);
    c.i32(columns).op('i32.sub').set(this.#width);
    c.i32(0).get(this.#width).op('i32.sub').tee(this.#width).i32(this.#blockItems);
    c.get(this.#width).i32(this.#blockItems).ops('i32.lt_u', 'select').set(this.#width);
  }

  /** Pushes an address: a pointer of the arguments and `index` times a size. */
  #offset(name: keyof typeof arg, index: number, size: number): Code {
    return this.given(name).get(index).i32(size).ops('i32.mul', 'i32.add');
  }

  /** From the f64 on the stack to its bucket: what lies outside the range is in the first or the last, NaN in the last. */
  #clamped(): void {
    const c = this.#f.code;
    c.tee(this.#value).get(this.#origin).op('f64.sub').get(this.#factor).op('f64.mul').op('i32.trunc_sat_f64_u');
    c.tee(this.#number).get(this.#last);
    c.get(this.#number).get(this.#last).op('i32.lt_u');
    c.get(this.#value).get(this.#value).ops('f64.eq', 'i32.and', 'select');
  }

  /** Walks the keys of the block with the address of each one's bucket on the stack; `load` pushes the key. */
  #eachKey(evenly: boolean, body: (load: () => Code) => void): void {
    const c = this.#f.code;
    this.given('mask').i32(2).op('i32.shl').set(this.#mask);
    if (evenly) {
      // From a key to its value.
      this.given('input');
      this.given('keys').op('i32.sub').set(this.#from);
      c.get(0)
        .mem(`${this.#float}.load`, arg.origin * 4)
        .set(this.#origin);
      c.get(0)
        .mem(`${this.#float}.load`, arg.factor * 4)
        .set(this.#factor);
      this.given('last').set(this.#last);
    } else this.given('shift').set(this.#shift);
    this.#offset('keys', this.#first, this.#keyBytes).tee(this.#at);
    c.get(this.#width).i32(this.#keyBytes).ops('i32.mul', 'i32.add').set(this.#end);
    fourfold(c, { at: this.#at, end: this.#end, whole: this.#whole }, this.#keyBytes, (offset) => {
      const load = (): Code => c.get(this.#at).mem(`${this.#word}.load`, offset);
      c.get(this.#table);
      if (evenly) {
        // Values lie as far apart as their keys.
        c.get(this.#at).get(this.#from).op('i32.add').mem(`${this.#float}.load`, offset);
        if (this.#float === 'f64') this.#clamped();
        else {
          c.get(this.#origin).op('f32.sub').get(this.#factor).op('f32.mul');
          c.f32(shifter).ops('f32.add', 'i32.reinterpret_f32');
        }
      } else {
        load().get(this.#shift);
        if (this.#word === 'i64') c.ops('i64.extend_i32_u', 'i64.shr_u', 'i32.wrap_i64');
        else c.op('i32.shr_u');
      }
      c.i32(2).op('i32.shl').get(this.#mask).ops('i32.and', 'i32.add');
      body(load);
    });
  }
}
