// Sort of rows without positions: each row is turned into keys, sorted by one thread, and turned back.
//
// An item is a group of rows with a scratch of its own. Few long rows are sorted by all threads together: values-long.ts; very short ones
// some at a time, most of them without keys: short-rows.ts.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import { WasmCode, type WasmEngine } from '../../engine.ts';
import type { CpuProgram } from '../../program.ts';
import { WasmModule } from '../../wasm/module.ts';
import { moduleText } from '../../wasm/text.ts';
import { CodeProgram } from '../code-program.ts';
import { aligned, rising } from '../emit.ts';
import { keys } from './keys.ts';
import { localBytes, localSort, networkOffset } from './local.ts';
import { mostNetwork } from './network.ts';
import { keysPass, lostPass, note, valuesPass } from './passes.ts';
import { rowsAtOnce, sortShortRows } from './short-rows.ts';

const maxGroups = 64;

interface Layout {
  readonly groups: number;
  readonly groupRows: number;
  /** Where the parts of a group's scratch begin, and where it ends. */
  readonly source: number;
  readonly spare: number;
  /** null where sorted keys fit the place of the values. */
  readonly sorted: number | null;
  readonly counts: number;
  readonly notes: number;
  readonly bytes: number;
}

function layoutOf(r: Sort): Layout {
  const keyBytes = keys[r.type].word === 'i64' ? 8 : 4;
  const groupRows = Math.ceil(r.rows / maxGroups);
  const row = aligned(r.columns * keyBytes);
  const inPlace = byteSize(r.type) === keyBytes;
  const counts = row * (inPlace ? 2 : 3);
  const notes = counts + localBytes;
  // Few keys are written to where a network would sort them.
  const inRoom = keyBytes === 4 && r.columns <= mostNetwork;
  return {
    groups: Math.ceil(r.rows / groupRows),
    groupRows,
    source: inRoom ? counts + networkOffset : 0,
    spare: row,
    sorted: inPlace ? null : 2 * row,
    counts,
    notes,
    bytes: notes + aligned(note.bytes),
  };
}

export function prepareValueSort(r: Sort, engine: WasmEngine): CpuProgram {
  const layout = layoutOf(r);
  const bytes = render(r, layout, engine.memory.shared);
  const elements = r.rows * r.columns;
  const values = elements * byteSize(r.type);
  return new CodeProgram(
    {
      code: new WasmCode(r.name, bytes, () => moduleText(bytes)),
      needs: [values, values],
      inputs: 1,
      items: layout.groups,
      grain: 1,
      nanoseconds: elements * 4,
      scratchBytes: layout.groups * layout.bytes,
    },
    engine,
  );
}

function render(r: Sort, layout: Layout, shared: boolean): Uint8Array {
  const { word, kind } = keys[r.type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const toKeys = keysPass(module, r);
  const sort = localSort(module, word);
  const toValues = valuesPass(module, r);
  const restore = kind === 'float' ? lostPass(module, r) : null;
  const together = rowsAtOnce(r);
  const short = together > 0 ? sortShortRows(module, r) : null;
  const c = f.code;
  const [args, item, end] = [0, 1, 2] as const;
  const local = (): number => f.local('i32');
  const [input, values, scratch, sorted, row, rowEnd] = [local(), local(), local(), local(), local(), local()];
  const until = local();
  const differing = f.local(word);
  const part = (offset: number): void => {
    c.get(scratch).i32(offset).op('i32.add');
  };
  const find = (): void => {
    for (const [slot, pointer] of [
      [0, input],
      [1, values],
    ] as const) {
      c.get(args)
        .mem('i32.load', slot * 4)
        .get(row)
        .i32(r.columns * byteSize(r.type))
        .ops('i32.mul', 'i32.add')
        .set(pointer);
    }
  };
  const oneRow = (): void => {
    find();
    if (layout.sorted === null) c.get(values).set(sorted);
    else {
      part(layout.sorted);
      c.set(sorted);
    }
    c.get(input).get(input);
    part(layout.source);
    c.i32(r.columns);
    part(layout.notes);
    c.call(toKeys.index);
    c.get(scratch)
      .mem(`${word}.load`, layout.notes + note.differing)
      .set(differing);
    part(layout.source);
    c.get(sorted);
    part(layout.spare);
    part(layout.counts);
    c.i32(r.columns);
    // If no bit differs there are none from the word's end to its beginning.
    if (word === 'i64') {
      c.get(differing).ops('i64.ctz', 'i32.wrap_i64');
      c.i32(64).get(differing).ops('i64.clz', 'i32.wrap_i64', 'i32.sub');
    } else {
      c.get(differing).op('i32.ctz');
      c.i32(32).get(differing).ops('i32.clz', 'i32.sub');
    }
    c.call(sort.index);
    c.get(values).i32(r.columns).call(toValues.index);
    if (!restore) return;
    c.get(scratch).mem('i32.load', layout.notes + note.lost);
    c.if();
    c.get(input).get(values).i32(r.columns).call(restore.index);
    c.end();
  };
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(args).mem('i32.load', 8).get(item).i32(layout.bytes).ops('i32.mul', 'i32.add').set(scratch);
      c.get(item).i32(layout.groupRows).op('i32.mul').tee(row).i32(layout.groupRows).op('i32.add').tee(rowEnd);
      c.i32(r.rows).get(rowEnd).i32(r.rows).ops('i32.lt_u', 'select').set(rowEnd);
      if (short) {
        // What a few rows leave to the keys is done row by row; then the next few are tried.
        const exit = c.block();
        const top = c.loop();
        c.get(row).i32(together).op('i32.add').tee(until).get(rowEnd).op('i32.gt_u').brIf(exit);
        find();
        c.get(input).get(values).call(short.index).if();
        c.get(until).set(row).else();
        rising(c, row, () => c.get(until), 1, oneRow);
        c.end().br(top).end().end();
      }
      rising(c, row, () => c.get(rowEnd), 1, oneRow);
    },
  );
  return module.bytes();
}
