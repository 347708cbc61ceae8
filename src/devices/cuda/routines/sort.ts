// Stable sort of rows. Short rows are sorted by one block in shared memory, long ones by radix.
//
// Values become unsigned keys that sort as they do: signed integers with the sign bit turned, floats with all bits turned
// if negative and the sign bit if not, -0 as 0, NaN above everything in both directions.

import { type DType, dtypeInfo, isFloat, isSigned } from '../../../base/dtype.ts';
import type { Sort } from '../../../kernel/kernel.ts';
import { moduleText } from '../ptx/code.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { eachOf, sortPairs } from './bitonic.ts';
import { blocksFor, Kit, Layout } from './kit.ts';
import { type RadixPlan, radixBuffers, radixPasses, radixResult } from './radix.ts';

const longestInBlock = 2048;
const threads = 256;

export function sortRecipe(sort: Sort, target: Target): ModuleRecipe {
  return sort.columns <= longestInBlock ? blockSort(sort, target) : radixSort(sort, target);
}

export const keyBytes = (type: DType): 4 | 8 => (dtypeInfo[type].bytes === 8 ? 8 : 4);

/** A value (as its type lives in registers) as an unsigned key. */
export function sortKey(kit: Kit, type: DType, value: string, descending: boolean): string {
  const { b } = kit;
  const wide = keyBytes(type) === 8;
  const [kind, suffix, bits] = wide ? (['d', 'b64', 64] as const) : (['r', 'b32', 32] as const);
  const top = wide ? '0x8000000000000000' : '0x80000000';
  const ones = wide ? '0xffffffffffffffff' : '0xffffffff';
  const turn = (key: string): string => (descending ? b.def(kind, `not.${suffix}`, key) : key);
  if (type === 'bool') return turn(b.def('r', 'selp.b32', 1, 0, value));
  if (!isFloat(type)) return turn(isSigned(type) ? b.def(kind, `xor.${suffix}`, value, top) : value);
  // Adding 0 turns -0 into 0 and changes nothing else.
  const float = wide ? 'f64' : 'f32';
  const zero = wide ? '0d0000000000000000' : '0f00000000';
  const plain = b.def(wide ? 'g' : 'f', `add.rn.${float}`, value, zero);
  const raw = b.def(kind, `mov.${suffix}`, plain);
  const sign = b.def(kind, `shr.s${bits}`, raw, bits - 1);
  const mask = b.def(kind, `or.${suffix}`, sign, top);
  const key = turn(b.def(kind, `xor.${suffix}`, raw, mask));
  const nan = b.def('p', `setp.nan.${float}`, value, value);
  return b.def(kind, `selp.${suffix}`, ones, key, nan);
}

function blockSort(sort: Sort, target: Target): ModuleRecipe {
  const kit = new Kit(sort.name, target);
  const { b } = kit;
  const size = Math.max(2, 2 ** Math.ceil(Math.log2(sort.columns)));
  const wide = keyBytes(sort.type) === 8;
  const [kind, suffix] = wide ? (['d', 'b64'] as const) : (['r', 'b32'] as const);
  const bytes = wide ? 8 : 4;
  const count = Math.min(512, Math.max(32, size / 2));
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const values = kit.pointer({ kind: 'buffer', index: 1 });
  const positions = kit.pointer({ kind: 'buffer', index: 2 });
  const tid = kit.special('tid.x');
  const rowStart = b.def('d', 'mul.lo.u64', kit.wide(kit.special('ctaid.x')), sort.columns);
  const keys = kit.shared(size * bytes);
  const places = kit.shared(size * 4);

  const each = (n: number, body: (i: string) => void): void => eachOf(kit, tid, count, n, body);
  const keyAt = (i: string): string => b.def('r', 'mad.lo.u32', i, bytes, keys);
  const placeAt = (i: string): string => b.def('r', 'mad.lo.u32', i, 4, places);

  // Slots beyond the row sort behind everything: their keys are the largest, and their positions too.
  each(size, (i) => {
    const key = b.def(kind, `mov.${suffix}`, -1);
    const inside = b.def('p', 'setp.lt.u32', i, sort.columns);
    kit.when(inside, () => {
      const value = kit.load(sort.type, input, b.def('d', 'add.u64', rowStart, kit.wide(i)));
      b.set(key, `mov.${suffix}`, sortKey(kit, sort.type, value, sort.descending));
    });
    b.emit(`st.shared.${suffix} [${keyAt(i)}], ${key}`);
    b.emit(`st.shared.u32 [${placeAt(i)}], ${i}`);
  });
  kit.sync();
  sortPairs(kit, { tid, threads: count, size, keys, places, wide });
  each(sort.columns, (i) => {
    const from = b.def('r', 'ld.shared.u32', `[${placeAt(i)}]`);
    const to = b.def('d', 'add.u64', rowStart, kit.wide(i));
    kit.store(sort.type, values, to, kit.load(sort.type, input, b.def('d', 'add.u64', rowStart, kit.wide(from))));
    kit.store('i32', positions, to, from);
  });
  const part = kit.finish([sort.rows, 1, 1], count);
  return {
    name: sort.name,
    ptx: moduleText(target, [part.text]),
    launches: [part.launch],
    keptBytes: 0,
    borrowedBytes: 0,
  };
}

function radixSort(sort: Sort, target: Target): ModuleRecipe {
  const bytes = dtypeInfo[sort.type].bytes;
  const plan: RadixPlan = {
    name: sort.name,
    rows: sort.rows,
    columns: sort.columns,
    keyBytes: keyBytes(sort.type),
    // Narrow floats are sorted by their f32 keys: their low bits are zero, but NaN and the sign need the top ones.
    passes: isFloat(sort.type) && bytes === 2 ? 4 : bytes,
  };
  const layout = new Layout();
  const buffers = radixBuffers(plan, layout);
  const total = sort.rows * sort.columns;

  const toKeys = new Kit(`${sort.name}_keys`, target);
  {
    const kit = toKeys;
    const input = kit.pointer({ kind: 'buffer', index: 0 });
    const keys = kit.pointer(buffers.keys[0]);
    const i = kit.globalThread(threads);
    kit.exitWhen(kit.b.def('p', 'setp.ge.u64', i, total));
    const key = sortKey(kit, sort.type, kit.load(sort.type, input, i), sort.descending);
    kit.store(plan.keyBytes === 8 ? 'u64' : 'u32', keys, i, key);
  }
  const out = new Kit(`${sort.name}_out`, target);
  {
    const kit = out;
    const { b } = kit;
    const input = kit.pointer({ kind: 'buffer', index: 0 });
    const values = kit.pointer({ kind: 'buffer', index: 1 });
    const positions = kit.pointer({ kind: 'buffer', index: 2 });
    const sorted = kit.pointer(buffers.positions[radixResult(plan)]);
    const i = kit.globalThread(threads);
    kit.exitWhen(b.def('p', 'setp.ge.u64', i, total));
    const from = kit.load('i32', sorted, i);
    const row = b.def('d', 'div.u64', i, sort.columns);
    const at = b.def('d', 'mad.lo.u64', row, sort.columns, kit.wide(from));
    kit.store(sort.type, values, i, kit.load(sort.type, input, at));
    kit.store('i32', positions, i, from);
  }
  const grid = [blocksFor(total, threads), 1, 1] as const;
  const parts = [
    toKeys.finish(grid, threads),
    ...radixPasses(plan, buffers, layout, target),
    out.finish(grid, threads),
  ];
  return {
    name: sort.name,
    ptx: moduleText(
      target,
      parts.map((p) => p.text),
    ),
    launches: parts.map((p) => p.launch),
    keptBytes: 0,
    borrowedBytes: layout.bytes,
  };
}
