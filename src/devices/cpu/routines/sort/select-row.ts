// The code of select.ts: one row at a time.

import { byteSize } from '../../../../base/dtype.ts';
import type { TopK } from '../../../../kernel/kernel.ts';
import type { Code } from '../../wasm/code.ts';
import { type Func, WasmModule } from '../../wasm/module.ts';
import { address, machines, rising } from '../emit.ts';
import { emitKey, emitVectorKeys, inVectors, keys } from './keys.ts';
import { localBytes, localSort } from './local.ts';
import { pairSort } from './pairs.ts';
import type { SelectPlan } from './select.ts';

type Word = 'i32' | 'i64';
const number = (c: Code, word: Word, v: number): Code => (word === 'i64' ? c.i64(BigInt(v)) : c.i32(v));

export function renderSelect(p: SelectPlan, shared: boolean): Uint8Array {
  const r = p.routine;
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const row = selectRow(module, p);
  const c = run.code;
  const [args, item, end] = [0, 1, 2] as const;
  const { at, last } = run.named('i32', 'at', 'last');
  const size = byteSize(r.type);
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(item).i32(p.groupRows).op('i32.mul').tee(at).i32(p.groupRows).op('i32.add').tee(last);
      c.i32(r.rows).get(last).i32(r.rows).ops('i32.lt_u', 'select').set(last);
      rising(
        c,
        at,
        () => c.get(last),
        1,
        () => {
          for (const [slot, bytes] of [
            [0, r.columns * size],
            [1, r.count * size],
            [2, r.count * 4],
          ] as const) {
            c.get(args)
              .mem('i32.load', slot * 4)
              .get(at)
              .i32(bytes)
              .ops('i32.mul', 'i32.add');
          }
          c.get(args).mem('i32.load', 12).get(item).i32(p.bytes).ops('i32.mul', 'i32.add').call(row.index);
        },
      );
    },
  );
  return module.bytes();
}

/** (input, values, positions, scratch) */
function selectRow(module: WasmModule, p: SelectPlan): Func {
  const r = p.routine;
  const { word } = keys[r.type];
  const [pick, sort] = [picker(module, r), pairSort(module, word)];
  const sortSamples = p.samples > 0 ? localSort(module, word) : null;
  const f = module.func(['i32', 'i32', 'i32', 'i32']);
  const [input, values, positions, scratch] = [0, 1, 2, 3] as const;
  const c = f.code;
  const { count, below, order, i } = f.named('i32', 'count', 'below', 'order', 'i');
  const [low, high, found] = [f.local(word), f.local(word), f.local('i64')];
  const part = (offset: number): Code => c.get(scratch).i32(offset).op('i32.add');
  number(c, word, -1).set(high);
  if (sortSamples) takeSample(f, p, sortSamples, { input, scratch, low, high });

  const again = c.loop();
  c.get(input);
  part(p.at.keys);
  part(p.at.positions).get(low).get(high).call(pick.index);
  c.tee(found).op('i32.wrap_i64').set(count).get(found).i64(32n).ops('i64.shr_u', 'i32.wrap_i64').set(below);
  if (p.lower !== null) {
    c.get(below).i32(r.first).op('i32.gt_u').if();
    number(c, word, 0).set(low).br(again).end();
  }
  if (p.upper !== null) {
    c.get(below)
      .get(count)
      .op('i32.add')
      .i32(r.first + r.count)
      .op('i32.lt_u')
      .if();
    number(c, word, -1).set(high).br(again).end();
  }
  c.end();

  for (const name of ['keys', 'positions', 'otherKeys', 'otherPositions', 'buckets'] as const) part(p.at[name]);
  c.get(count).call(sort.index);
  c.i32(r.first).get(below).op('i32.sub').i32(4).ops('i32.mul', 'i32.add').set(order);
  const { load, store, bytes } = machines[r.type];
  rising(
    c,
    i,
    () => c.i32(r.count),
    1,
    () => {
      address(c, positions, i, 4);
      address(c, order, i, 4).mem('i32.load').tee(below).mem('i32.store');
      address(c, values, i, bytes);
      address(c, input, below, bytes).mem(load).mem(store);
    },
  );
  return f;
}

/** Sets the bounds to keys of a sorted sample: one element out of each stretch of the row, from a place that differs. */
function takeSample(
  f: Func,
  p: SelectPlan,
  sort: Func,
  l: { input: number; scratch: number; low: number; high: number },
): void {
  const r = p.routine;
  const { word } = keys[r.type];
  const bytes = word === 'i64' ? 8 : 4;
  const c = f.code;
  const { n, at, samples } = f.named('i32', 'n', 'at', 'samples');
  const bits = f.local(word);
  const stretch = Math.floor(r.columns / p.samples);
  const room = p.at.local + localBytes;
  c.get(l.scratch).i32(room).op('i32.add').set(samples);
  c.i32(0).set(n);
  rising(
    c,
    n,
    () => c.i32(p.samples),
    1,
    () => {
      c.get(n).i32(stretch).op('i32.mul');
      // Knuth's multiplicative hash: regular data must not meet regular samples.
      c.get(n).i32(-1640531535).op('i32.mul').i32(12).op('i32.shr_u').i32(stretch).ops('i32.rem_u', 'i32.add').set(at);
      address(c, samples, n, bytes);
      emitKey(c, r, { input: l.input, i: at, bits });
      c.mem(`${word}.store`);
    },
  );
  const places = [0, 1, 2].map((k) => room + k * 8 * p.samples);
  for (const place of places) c.get(l.scratch).i32(place).op('i32.add');
  c.get(l.scratch)
    .i32(p.at.local)
    .op('i32.add')
    .i32(p.samples)
    .i32(0)
    .i32(8 * bytes)
    .call(sort.index)
    .set(samples);
  for (const [bound, which] of [
    [l.low, p.lower],
    [l.high, p.upper],
  ] as const) {
    if (which !== null)
      c.get(samples)
        .mem(`${word}.load`, which * bytes)
        .set(bound);
  }
}

interface PickLocals {
  readonly i: number;
  readonly count: number;
  readonly below: number;
  /** How many equal the upper bound so far. */
  readonly equal: number;
  readonly key: number;
}

/**
 * (input, keys, positions, low, high) → how many keys are below `low`, in the upper half, and how many from there up to `high` were picked
 * out. `high` is left out as soon as there are as many of it as could be wanted.
 */
function picker(module: WasmModule, r: TopK): Func {
  const { word } = keys[r.type];
  const f = module.func(['i32', 'i32', 'i32', word, word], ['i64']);
  const [input, low, high] = [0, 3, 4] as const;
  const c = f.code;
  const l: PickLocals = { ...f.named('i32', 'i', 'count', 'below', 'equal'), key: f.local(word) };
  const bits = f.local(word);
  const done = c.block();
  if (inVectors(r.type)) pickVectors(f, r, l, done);
  rising(
    c,
    l.i,
    () => c.i32(r.columns),
    1,
    () => {
      emitKey(c, r, { input, i: l.i, bits });
      c.tee(l.key).get(low).op(`${word}.lt_u`).if();
      c.get(l.below).i32(1).op('i32.add').set(l.below);
      c.else();
      append(f, word, l, () => c.get(l.key).get(high).op(`${word}.le_u`));
      c.get(l.equal)
        .i32(r.first + r.count)
        .op('i32.ge_u')
        .if();
      lower(c, word, l, done);
      c.end().end();
    },
  );
  c.end();
  c.get(l.below).op('i64.extend_i32_u').i64(32n).op('i64.shl').get(l.count).ops('i64.extend_i32_u', 'i64.or');
  return f;
}

/** Takes the upper bound down by one; below the least key there is nothing. */
function lower(c: Code, word: Word, { equal }: PickLocals, done: number): void {
  const high = 4;
  c.get(high).op(`${word}.eqz`).brIf(done);
  c.get(high);
  number(c, word, 1).op(`${word}.sub`).set(high).i32(0).set(equal);
}

/** Writes the key and its position; they stay if `wanted` leaves 1. */
function append(f: Func, word: Word, l: PickLocals, wanted: () => void, offset = 0): void {
  const c = f.code;
  const [keysAt, positions, high] = [1, 2, 4] as const;
  const bit = f.local('i32');
  address(c, keysAt, l.count, word === 'i64' ? 8 : 4)
    .get(l.key)
    .mem(`${word}.store`);
  address(c, positions, l.count, 4).get(l.i);
  if (offset > 0) c.i32(offset).op('i32.add');
  c.mem('i32.store');
  wanted();
  c.tee(bit).get(l.count).op('i32.add').set(l.count);
  c.get(l.key).get(high).op(`${word}.eq`).get(bit).op('i32.and').get(l.equal).op('i32.add').set(l.equal);
}

/** As many whole vectors as there are; `i` is left at the first element behind them. */
function pickVectors(f: Func, r: TopK, l: PickLocals, done: number): void {
  const { word } = keys[r.type];
  const wide = word === 'i64';
  const lanes = wide ? 2 : 4;
  const shape = wide ? 'i64x2' : 'i32x4';
  const [input, low, high] = [0, 3, 4] as const;
  const c = f.code;
  const vector = (): number => f.local('v128');
  const [bits, lost, lows, highs, under, inside] = [vector(), vector(), vector(), vector(), vector(), vector()];
  const below = vector();
  const set = f.local('i32');
  const sign = (): void => {
    // Keys are unsigned; of 64 bits there are signed comparisons alone.
    if (wide)
      c.i64(-(1n << 63n))
        .op('i64x2.splat')
        .op('v128.xor');
  };
  const splat = (bound: number, into: number): void => {
    c.get(bound).op(`${shape}.splat`);
    sign();
    c.set(into);
  };
  splat(low, lows);
  splat(high, highs);
  rising(
    c,
    l.i,
    () => c.i32(r.columns & -lanes),
    lanes,
    () => {
      address(c, input, l.i, 16 / lanes)
        .mem('v128.load', 0, 2)
        .set(bits);
      emitVectorKeys(c, r, bits, lost);
      c.set(bits).get(bits);
      sign();
      c.tee(inside)
        .get(lows)
        .op(wide ? 'i64x2.lt_s' : 'i32x4.lt_u')
        .set(under);
      c.get(below).get(under).op(`${shape}.sub`).set(below);
      c.get(inside)
        .get(highs)
        .op(wide ? 'i64x2.le_s' : 'i32x4.le_u')
        .get(under)
        .op('v128.andnot');
      c.tee(inside).op('v128.any_true').if();
      c.get(inside).op(`${shape}.bitmask`).set(set);
      for (let lane = 0; lane < lanes; lane++) {
        c.get(bits).lane(`${shape}.extract_lane`, lane).set(l.key);
        append(f, word, l, () => c.get(set).i32(lane).op('i32.shr_u').i32(1).op('i32.and'), lane);
      }
      c.get(l.equal)
        .i32(r.first + r.count)
        .op('i32.ge_u')
        .if();
      // What was counted is not lost if the row ends here: nothing is below the least key.
      lower(c, word, l, done);
      splat(high, highs);
      c.end().end();
    },
  );
  for (let lane = 0; lane < lanes; lane++) {
    c.get(below).lane(`${shape}.extract_lane`, lane);
    if (wide) c.op('i32.wrap_i64');
    c.get(l.below).op('i32.add').set(l.below);
  }
}
