// The two ends of a sort of values: keys from values, and values from sorted keys.

import type { Sort } from '../../../../kernel/kernel.ts';
import type { Func, WasmModule } from '../../wasm/module.ts';
import { machines, rising } from '../emit.ts';
import { emitKey, emitValue, emitVectorKeys, emitVectorValues, inVectors, keys, zeroKey } from './keys.ts';

/**
 * What is noted about keys: the bits that differ from the first, whether there were values that a key does not keep, and, of 32-bit
 * keys, the least and the largest.
 */
export const note = { differing: 0, lost: 8, least: 12, largest: 16, bytes: 32 } as const;

/** (input, first, keys, count, note): the keys of `count` values; `first` is where the row's first value lies. */
export function keysPass(module: WasmModule, r: Sort): Func {
  const { word, kind } = keys[r.type];
  const machine = machines[r.type];
  const bytes = word === 'i64' ? 8 : 4;
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const [input, first, target, count, notes] = [0, 1, 2, 3, 4] as const;
  const c = f.code;
  const end = f.local('i32');
  /** A position that stays 0: addresses move instead. */
  const here = f.local('i32');
  const [bits, key, reference, differing] = [f.local(word), f.local(word), f.local(word), f.local(word)];
  const lost = f.local('i32');
  const [least, largest] = word === 'i32' ? [f.local('i32'), f.local('i32')] : [null, null];
  emitKey(c, r, { input: first, i: here, bits });
  c.set(reference);
  if (least !== null && largest !== null) c.get(reference).tee(least).set(largest);
  const single = (): void => {
    emitKey(c, r, { input, i: here, bits });
    c.set(key).get(target).get(key).mem(`${word}.store`);
    c.get(differing).get(key).get(reference).ops(`${word}.xor`, `${word}.or`).set(differing);
    if (least !== null && largest !== null) {
      c.get(key).get(least).get(key).get(least).ops('i32.lt_u', 'select').set(least);
      c.get(key).get(largest).get(key).get(largest).ops('i32.gt_u', 'select').set(largest);
    }
    if (kind === 'float') noteLost(f, r, input, key, lost);
    c.get(input).i32(machine.bytes).op('i32.add').set(input);
  };
  if (inVectors(r.type)) vectors(f, r, { input, target, count, reference, differing, lost, least, largest });
  c.get(target).get(count).i32(bytes).ops('i32.mul', 'i32.add').set(end);
  rising(c, target, () => c.get(end), bytes, single);
  c.get(notes).get(differing).mem(`${word}.store`, note.differing);
  c.get(notes).get(lost).mem('i32.store', note.lost);
  if (least !== null && largest !== null) {
    c.get(notes).get(least).mem('i32.store', note.least);
    c.get(notes).get(largest).mem('i32.store', note.largest);
  }
  return f;
}

/** NaN has the largest key; -0 is told from 0 by its bits alone. */
function noteLost(f: Func, r: Sort, input: number, key: number, lost: number): void {
  const c = f.code;
  const { bytes } = machines[r.type];
  c.get(lost).get(key);
  if (bytes === 8)
    c.i64(-1n)
      .op('i64.eq')
      .get(input)
      .mem('i64.load')
      .i64(-(1n << 63n))
      .op('i64.eq');
  else {
    c.i32(-1).op('i32.eq').get(input);
    if (bytes === 2) c.mem('i32.load16_u').i32(0x8000).op('i32.eq');
    else
      c.mem('i32.load')
        .i32(-(2 ** 31))
        .op('i32.eq');
  }
  c.ops('i32.or', 'i32.or').set(lost);
}

interface KeyLoop {
  readonly input: number;
  readonly target: number;
  readonly count: number;
  readonly reference: number;
  readonly differing: number;
  readonly lost: number;
  readonly least: number | null;
  readonly largest: number | null;
}

/** Whole vectors of keys; moves the addresses on and leaves in `count` how many values are left. */
function vectors(f: Func, r: Sort, l: KeyLoop): void {
  const { word } = keys[r.type];
  const lanes = word === 'i64' ? 2 : 4;
  const c = f.code;
  const vector = (): number => f.local('v128');
  const [bits, first, differing, lost] = [vector(), vector(), vector(), vector()];
  const extremes =
    l.least === null || l.largest === null
      ? []
      : ([
          [l.least, vector(), 'i32x4.min_u', 'i32.lt_u'],
          [l.largest, vector(), 'i32x4.max_u', 'i32.gt_u'],
        ] as const);
  const end = f.local('i32');
  const shape = word === 'i64' ? 'i64x2' : 'i32x4';
  c.get(l.reference).op(`${shape}.splat`).set(first);
  for (const [, best] of extremes) c.get(first).set(best);
  c.get(l.target)
    .get(l.count)
    .i32(-lanes)
    .op('i32.and')
    .i32(16 / lanes)
    .ops('i32.mul', 'i32.add')
    .set(end);
  rising(
    c,
    l.target,
    () => c.get(end),
    16,
    () => {
      c.get(l.input).mem('v128.load', 0, 2).set(bits);
      emitVectorKeys(c, r, bits, lost);
      c.set(bits).get(l.target).get(bits).mem('v128.store', 0, 2);
      c.get(differing).get(bits).get(first).ops('v128.xor', 'v128.or').set(differing);
      for (const [, best, op] of extremes) c.get(best).get(bits).op(op).set(best);
      c.get(l.input).i32(16).op('i32.add').set(l.input);
    },
  );
  c.get(l.count)
    .i32(lanes - 1)
    .op('i32.and')
    .set(l.count);
  for (let lane = 0; lane < lanes; lane++) {
    c.get(l.differing).get(differing).lane(`${shape}.extract_lane`, lane).op(`${word}.or`).set(l.differing);
  }
  const lane = f.local('i32');
  for (const [into, best, , better] of extremes)
    for (let k = 0; k < lanes; k++) {
      c.get(best).lane('i32x4.extract_lane', k).tee(lane);
      c.get(into).get(lane).get(into).ops(better, 'select').set(into);
    }
  c.get(lost).op('v128.any_true').set(l.lost);
}

/** (keys, values, count): the values of sorted keys. Values may lie where the keys do. */
export function valuesPass(module: WasmModule, r: Sort): Func {
  const { word } = keys[r.type];
  const machine = machines[r.type];
  const bytes = word === 'i64' ? 8 : 4;
  const f = module.func(['i32', 'i32', 'i32']);
  const [from, to, count] = [0, 1, 2] as const;
  const c = f.code;
  const end = f.local('i32');
  const key = f.local(word);
  c.get(from).get(count).i32(bytes).ops('i32.mul', 'i32.add').set(count);
  const stepTo = (by: number): void => {
    c.get(to).i32(by).op('i32.add').set(to);
  };
  if (inVectors(r.type)) {
    const vector = f.local('v128');
    c.get(count).get(from).op('i32.sub').i32(-16).op('i32.and').get(from).op('i32.add').set(end);
    rising(
      c,
      from,
      () => c.get(end),
      16,
      () => {
        c.get(from).mem('v128.load', 0, 2).set(vector).get(to);
        emitVectorValues(c, r, vector);
        c.mem('v128.store', 0, 2);
        stepTo(16);
      },
    );
  }
  rising(
    c,
    from,
    () => c.get(count),
    bytes,
    () => {
      c.get(from).mem(`${word}.load`).set(key).get(to);
      emitValue(c, r, key);
      c.mem(machine.bytes === 1 ? 'i32.store8' : machine.bytes === 2 ? 'i32.store16' : (`${word}.store` as const));
      stepTo(machine.bytes);
    },
  );
  return f;
}

/** (input, values, count): NaN and zeros of a sorted row, in the order of the input and with the bits they have there. */
export function lostPass(module: WasmModule, r: Sort): Func {
  const { word } = keys[r.type];
  const machine = machines[r.type];
  const f = module.func(['i32', 'i32', 'i32']);
  const [input, values, count] = [0, 1, 2] as const;
  const c = f.code;
  const local = (): number => f.local('i32');
  const [i, zeros, nans] = [local(), local(), local()];
  const [bits, key] = [f.local(word), f.local(word)];
  const constant = (v: bigint): void => {
    if (word === 'i64') c.i64(BigInt.asIntN(64, v));
    else c.i32(Number(BigInt.asIntN(32, v)));
  };
  const each = (body: () => void): void => {
    c.i32(0).set(i);
    rising(
      c,
      i,
      () => c.get(count),
      1,
      () => {
        emitKey(c, r, { input, i, bits });
        c.set(key);
        body();
      },
    );
  };
  // Zeros stand behind all smaller keys, NaN at the end.
  c.get(count).set(nans);
  each(() => {
    c.get(zeros).get(key);
    constant(zeroKey(r));
    c.op(`${word}.lt_u`).op('i32.add').set(zeros);
    c.get(nans).get(key);
    constant(-1n);
    c.op(`${word}.eq`).op('i32.sub').set(nans);
  });
  const put = (where: number): void => {
    c.get(values).get(where).i32(machine.bytes).ops('i32.mul', 'i32.add');
    c.get(input).get(i).i32(machine.bytes).ops('i32.mul', 'i32.add').mem(machine.load).mem(machine.store);
    c.get(where).i32(1).op('i32.add').set(where);
  };
  each(() => {
    for (const [of, where] of [
      [zeroKey(r), zeros],
      [-1n, nans],
    ] as const) {
      c.get(key);
      constant(of);
      c.op(`${word}.eq`).if();
      put(where);
      c.end();
    }
  });
  return f;
}
