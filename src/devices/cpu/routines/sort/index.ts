// Stable sort of rows with positions: insertion for short rows, radix by bytes for the rest, as a WebAssembly module.
//
// Bytes of the keys that are the same in the whole row are skipped, so small integers and clustered values take fewer
// passes. An item is a group of rows with a scratch of its own; the outputs serve as half of the space that passes
// alternate between. Few long rows are sorted by all threads together: long.ts. Where nobody asks for the positions there is
// less to move: values.ts.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import { WasmCode, type WasmEngine } from '../../engine.ts';
import type { CpuProgram } from '../../program.ts';
import type { Code } from '../../wasm/code.ts';
import { type Func, WasmModule } from '../../wasm/module.ts';
import { moduleText } from '../../wasm/text.ts';
import { CodeProgram } from '../code-program.ts';
import { address, aligned, machines, rising } from '../emit.ts';
import { countAddress, tableBytes } from './digits.ts';
import { emitKey, type KeyInfo, keys } from './keys.ts';
import { isLong, LongSort } from './long.ts';
import { mayNarrow, NarrowedSort } from './narrowed.ts';
import { prepareValueSort } from './values.ts';
import { LongValueSort } from './values-long.ts';

/** Rows up to this length are sorted by insertion. */
const shortRow = 32;
const maxGroups = 64;

interface SortPlan extends Sort {
  readonly key: KeyInfo;
  readonly keyBytes: 4 | 8;
  readonly radix: boolean;
  /** Whether the values' own output is wide enough to hold keys. */
  readonly keysInOutput: boolean;
  readonly groups: number;
  readonly groupRows: number;
  readonly groupScratch: number;
}

function plan(r: Sort): SortPlan {
  const key = keys[r.type];
  const keyBytes = key.word === 'i64' ? 8 : 4;
  const keysInOutput = byteSize(r.type) === keyBytes;
  const radix = r.columns > shortRow;
  const groupRows = Math.ceil(r.rows / maxGroups);
  const groupScratch =
    (keysInOutput ? 0 : aligned(r.columns * keyBytes)) +
    (radix ? aligned(r.columns * keyBytes) + aligned(r.columns * 4) + key.digits.length * tableBytes : 0);
  return {
    ...r,
    key,
    keyBytes,
    radix,
    keysInOutput,
    groupRows,
    groups: Math.ceil(r.rows / groupRows),
    groupScratch,
  };
}

export function prepareSort(routine: Sort, engine: WasmEngine): CpuProgram {
  if (mayNarrow(routine)) return new NarrowedSort(routine, engine, (r) => prepareAsIs(r, engine));
  return prepareAsIs(routine, engine);
}

function prepareAsIs(routine: Sort, engine: WasmEngine): CpuProgram {
  if (routine.valuesOnly)
    return isLong(routine) ? new LongValueSort(routine, engine) : prepareValueSort(routine, engine);
  if (isLong(routine)) return new LongSort(routine, engine);
  const p = plan(routine);
  const bytes = render(p, engine.memory.shared);
  const elements = routine.rows * routine.columns;
  const values = elements * byteSize(routine.type);
  return new CodeProgram(
    {
      code: new WasmCode(routine.name, bytes, () => moduleText(bytes)),
      needs: [values, values, elements * 4],
      inputs: 1,
      items: p.groups,
      grain: 1,
      nanoseconds: elements * (p.radix ? 4 + 4 * p.key.digits.length : 15),
      scratchBytes: p.groups * p.groupScratch,
    },
    engine,
  );
}

interface Locals {
  readonly input: number;
  readonly values: number;
  readonly positions: number;
  readonly scratch: number;
  readonly keysA: number;
  readonly i: number;
  readonly bits: number;
}

function render(p: SortPlan, shared: boolean): Uint8Array {
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const c = f.code;
  const [args, item, end] = [0, 1, 2];
  const { input, values, positions, scratch, keysA, i, row, rowEnd } = f.named(
    'i32',
    'input',
    'values',
    'positions',
    'scratch',
    'keysA',
    'i',
    'row',
    'rowEnd',
  );
  const l: Locals = { input, values, positions, scratch, keysA, i, bits: f.local(p.key.word) };
  const size = byteSize(p.type);
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(args).mem('i32.load', 12).get(item).i32(p.groupScratch).ops('i32.mul', 'i32.add').set(scratch);
      c.get(item).i32(p.groupRows).op('i32.mul').tee(row).i32(p.groupRows).op('i32.add').tee(rowEnd);
      c.i32(p.rows).get(rowEnd).i32(p.rows).ops('i32.lt_u', 'select').set(rowEnd);
      rising(
        c,
        row,
        () => c.get(rowEnd),
        1,
        () => {
          for (const [slot, pointer, bytes] of [
            [0, input, size],
            [1, values, size],
            [2, positions, 4],
          ] as const) {
            c.get(args)
              .mem('i32.load', slot * 4)
              .get(row)
              .i32(p.columns * bytes)
              .ops('i32.mul', 'i32.add')
              .set(pointer);
          }
          c.get(p.keysInOutput ? values : scratch).set(keysA);
          if (p.radix) radixRow(f, p, l);
          else insertionRow(f, p, l);
        },
      );
    },
  );
  return module.bytes();
}

function writeKeys(f: Func, p: SortPlan, l: Locals, count: (key: number) => void): void {
  const c = f.code;
  const key = f.local(p.key.word);
  c.i32(0).set(l.i);
  rising(
    c,
    l.i,
    () => c.i32(p.columns),
    1,
    () => {
      emitKey(c, p, l);
      c.set(key);
      address(c, l.keysA, l.i, p.keyBytes).get(key).mem(`${p.key.word}.store`);
      address(c, l.positions, l.i, 4).get(l.i).mem('i32.store');
      count(key);
    },
  );
}

/** Values follow their positions from the input, so that -0 and the bits of NaN survive. */
function writeValues(c: Code, p: SortPlan, l: Locals, order: number): void {
  const { load, store, bytes } = machines[p.type];
  c.i32(0).set(l.i);
  rising(
    c,
    l.i,
    () => c.i32(p.columns),
    1,
    () => {
      address(c, l.values, l.i, bytes);
      c.get(l.input);
      address(c, order, l.i, 4).mem('i32.load').i32(bytes).ops('i32.mul', 'i32.add').mem(load).mem(store);
      address(c, l.positions, l.i, 4);
      address(c, order, l.i, 4).mem('i32.load').mem('i32.store');
    },
  );
}

function insertionRow(f: Func, p: SortPlan, l: Locals): void {
  const c = f.code;
  const { word } = p.key;
  const [key, other] = [f.local(word), f.local(word)];
  const [position, j] = [f.local('i32'), f.local('i32')];
  writeKeys(f, p, l, () => {});
  c.i32(1).set(l.i);
  rising(
    c,
    l.i,
    () => c.i32(p.columns),
    1,
    () => {
      address(c, l.keysA, l.i, p.keyBytes).mem(`${word}.load`).set(key);
      address(c, l.positions, l.i, 4).mem('i32.load').set(position);
      c.get(l.i).set(j);
      const exit = c.block();
      const top = c.loop();
      c.get(j).op('i32.eqz').brIf(exit);
      address(c, l.keysA, j, p.keyBytes).i32(p.keyBytes).op('i32.sub').mem(`${word}.load`).tee(other);
      c.get(key).op(`${word}.le_u`).brIf(exit);
      address(c, l.keysA, j, p.keyBytes).get(other).mem(`${word}.store`);
      address(c, l.positions, j, 4);
      address(c, l.positions, j, 4).i32(4).op('i32.sub').mem('i32.load').mem('i32.store');
      c.get(j).i32(1).op('i32.sub').set(j).br(top).end().end();
      address(c, l.keysA, j, p.keyBytes).get(key).mem(`${word}.store`);
      address(c, l.positions, j, 4).get(position).mem('i32.store');
    },
  );
  writeValues(c, p, l, l.positions);
}

function radixRow(f: Func, p: SortPlan, l: Locals): void {
  const c = f.code;
  const { word, digits } = p.key;
  const { fromKeys, fromOrder, toKeys, toOrder, buckets, spare, sum, at } = f.named(
    'i32',
    'fromKeys',
    'fromOrder',
    'toKeys',
    'toOrder',
    'buckets',
    'spare',
    'sum',
    'at',
  );
  const keysB = p.keysInOutput ? 0 : aligned(p.columns * p.keyBytes);
  const orderB = keysB + aligned(p.columns * p.keyBytes);
  c.get(l.scratch)
    .i32(orderB + aligned(p.columns * 4))
    .op('i32.add')
    .tee(buckets);
  c.i32(0)
    .i32(digits.length * tableBytes)
    .memoryFill();
  /** Leaves the address of a key's bucket of one digit. */
  const bucketOf = (key: number, digit: number, index: number): void => {
    countAddress(c, word, buckets, key, digit)
      .i32(index * tableBytes)
      .op('i32.add');
  };
  writeKeys(f, p, l, (key) => {
    digits.forEach((digit, index) => {
      bucketOf(key, digit, index);
      c.tee(at).get(at).mem('i32.load').i32(1).op('i32.add').mem('i32.store');
    });
  });
  c.get(l.keysA).set(fromKeys).get(l.positions).set(fromOrder);
  c.get(l.scratch).i32(keysB).op('i32.add').set(toKeys);
  c.get(l.scratch).i32(orderB).op('i32.add').set(toOrder);
  const key = f.local(word);
  digits.forEach((digit, index) => {
    c.get(fromKeys).mem(`${word}.load`).set(key);
    bucketOf(key, digit, index);
    c.mem('i32.load').i32(p.columns).op('i32.ne');
    c.if();
    // Counts become the positions where each bucket starts.
    c.i32(0).set(sum).i32(0).set(l.i);
    rising(
      c,
      l.i,
      () => c.i32(tableBytes),
      4,
      () => {
        c.get(buckets)
          .get(l.i)
          .op('i32.add')
          .i32(index * tableBytes)
          .op('i32.add')
          .tee(at);
        c.get(at).mem('i32.load').get(sum).set(spare).get(sum).op('i32.add').set(sum).get(spare).mem('i32.store');
      },
    );
    c.i32(0).set(l.i);
    rising(
      c,
      l.i,
      () => c.i32(p.columns),
      1,
      () => {
        address(c, fromKeys, l.i, p.keyBytes).mem(`${word}.load`).set(key);
        bucketOf(key, digit, index);
        c.tee(at).get(at).mem('i32.load').tee(sum).i32(1).op('i32.add').mem('i32.store');
        address(c, toKeys, sum, p.keyBytes).get(key).mem(`${word}.store`);
        address(c, toOrder, sum, 4);
        address(c, fromOrder, l.i, 4).mem('i32.load').mem('i32.store');
      },
    );
    c.get(fromKeys).get(toKeys).set(fromKeys).set(toKeys);
    c.get(fromOrder).get(toOrder).set(fromOrder).set(toOrder);
    c.end();
  });
  writeValues(c, p, l, fromOrder);
}
