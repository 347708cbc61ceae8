// The steps of sorting a long row with positions: what the code of one block does in each.
//
// An element is a key and its position, side by side. Keys of one byte need none: positions go from their places in the row straight to
// those in the results, and the values are as many of each as were counted.

import type { Sort } from '../../../../kernel/kernel.ts';
import { WasmModule } from '../../wasm/module.ts';
import { address, machines, rising } from '../emit.ts';
import { emitKey, emitValue, keys } from './keys.ts';

export const buckets = 256;

/** Words of the argument block. */
export const arg = {
  input: 0,
  values: 1,
  positions: 2,
  from: 3,
  to: 4,
  counts: 5,
  starts: 6,
  flags: 7,
  step: 8,
  shift: 9,
  exact: 10,
} as const;
export const step = { keys: 0, count: 1, move: 2, write: 3 } as const;

/** Bytes of an element. */
export const elementBytesOf = (r: Sort): 8 | 16 => (keys[r.type].word === 'i64' ? 16 : 8);

/** Whether one pass sorts all: the key is one byte. */
export const inOnePass = (r: Sort): boolean => keys[r.type].digits.length === 1;

export function renderLong(r: Sort, blockItems: number, shared: boolean): Uint8Array {
  const { word } = keys[r.type];
  const wide = word === 'i64';
  const elementBytes = elementBytesOf(r);
  const machine = machines[r.type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const c = f.code;
  const [args, item, end] = [0, 1, 2];
  const { input, values, positions, from, to, counts, shift, which } = f.named(
    'i32',
    'input',
    'values',
    'positions',
    'from',
    'to',
    'counts',
    'shift',
    'which',
  );
  const { i, stop, place, dirty, at } = f.named('i32', 'i', 'stop', 'place', 'dirty', 'at');
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

  const keyAt = (): void => {
    emitKey(c, r, { input, i, bits });
    c.set(key);
  };
  /** Where the next element of the key's bucket goes, in `place`; `move` finds the starts in the counts. */
  const take = (): void => {
    bucket();
    c.tee(at).get(at).mem('i32.load').tee(place).i32(1).op('i32.add').mem('i32.store');
  };
  const starts = (): void => {
    // The counts become running places, so that the starts stay as they are if the block has to be done again.
    c.get(counts);
    c.get(args)
      .mem('i32.load', arg.starts * 4)
      .get(item)
      .i32(buckets * 4)
      .ops('i32.mul', 'i32.add');
    c.i32(buckets * 4).memoryCopy();
  };

  const onePass: Readonly<Record<number, () => void>> = {
    [step.keys]: () => {
      clear();
      each(() => {
        keyAt();
        count();
      });
    },
    [step.move]: () => {
      starts();
      each(() => {
        keyAt();
        take();
        address(c, positions, place, 4).get(i).mem('i32.store');
      });
    },
  };
  const passes: Readonly<Record<number, () => void>> = {
    [step.keys]: () => {
      clear();
      c.i32(0).set(dirty);
      each(() => {
        keyAt();
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
    [step.count]: () => {
      clear();
      each(() => {
        load();
        keyOf();
        count();
      });
    },
    [step.move]: () => {
      starts();
      each(() => {
        load();
        keyOf();
        take();
        address(c, to, place, elementBytes)
          .get(element)
          .mem(wide ? 'v128.store' : 'i64.store');
      });
    },
    [step.write]: () => {
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
    [arg.step, which],
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
      for (const [number, emit] of Object.entries(inOnePass(r) ? onePass : passes)) {
        c.get(which).i32(Number(number)).op('i32.eq');
        c.if();
        emit();
        c.end();
      }
    },
  );
  return module.bytes();
}
