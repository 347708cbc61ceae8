// Stable sort of rows with positions: a network (short-pairs.ts) or insertion for short rows, radix by bytes for the rest, as a WebAssembly
// module.
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
import { tableBytes } from './digits.ts';
import { emitKey, type KeyInfo, keys } from './keys.ts';
import { isLong, LongSort } from './long.ts';
import { mayNarrow, NarrowedSort } from './narrowed.ts';
import { countKey, insertPairs, type PairCount, radixPairs } from './pairs.ts';
import { arePairs, pairRows, sortShortPairs } from './short-pairs.ts';
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
  const short = arePairs(p) ? sortShortPairs(module, p) : null;
  const find = (): void => {
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
  };
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(args).mem('i32.load', 12).get(item).i32(p.groupScratch).ops('i32.mul', 'i32.add').set(scratch);
      c.get(item).i32(p.groupRows).op('i32.mul').tee(row).i32(p.groupRows).op('i32.add').tee(rowEnd);
      c.i32(p.rows).get(rowEnd).i32(p.rows).ops('i32.lt_u', 'select').set(rowEnd);
      if (short) {
        const whole = (): Code =>
          c
            .get(rowEnd)
            .i32(pairRows - 1)
            .op('i32.sub');
        c.get(rowEnd).i32(pairRows).op('i32.ge_u').if();
        rising(c, row, whole, pairRows, () => {
          find();
          c.get(input).get(values).get(positions).call(short.index);
        });
        c.end();
      }
      rising(
        c,
        row,
        () => c.get(rowEnd),
        1,
        () => {
          find();
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
  writeKeys(f, p, l, () => {});
  insertPairs(f, columnsOf(f, p), { keys: l.keysA, positions: l.positions });
  writeValues(f.code, p, l, l.positions);
}

const columnsOf = (f: Func, p: SortPlan): PairCount => ({ word: p.key.word, count: () => f.code.i32(p.columns) });

function radixRow(f: Func, p: SortPlan, l: Locals): void {
  const c = f.code;
  const { word, digits } = p.key;
  const { fromKeys, fromOrder, toKeys, toOrder, buckets } = f.named(
    'i32',
    'fromKeys',
    'fromOrder',
    'toKeys',
    'toOrder',
    'buckets',
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
  writeKeys(f, p, l, (key) => countKey(f, word, { digits, buckets }, key));
  c.get(l.keysA).set(fromKeys).get(l.positions).set(fromOrder);
  c.get(l.scratch).i32(keysB).op('i32.add').set(toKeys);
  c.get(l.scratch).i32(orderB).op('i32.add').set(toOrder);
  const from = { keys: fromKeys, positions: fromOrder };
  radixPairs(f, columnsOf(f, p), { digits, buckets }, from, { keys: toKeys, positions: toOrder });
  writeValues(c, p, l, fromOrder);
}
