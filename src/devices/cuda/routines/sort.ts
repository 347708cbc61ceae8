// Stable sort of rows. Short rows are sorted by one block in shared memory, long ones by radix.
//
// Values become unsigned keys that sort as they do: signed integers with the sign bit turned, floats with all bits turned
// if negative and the sign bit if not, -0 as 0, NaN above everything in both directions.

import { type DType, dtypeInfo, isFloat, isSigned } from '../../../base/dtype.ts';
import type { Sort } from '../../../kernel/kernel.ts';
import { loadElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { eachOf, sortPairs } from './bitonic.ts';
import { Kit, Layout } from './kit.ts';
import { radixBuffers, radixPasses } from './radix.ts';
import type { RadixPlan } from './radix-plan.ts';
import { recipeOf } from './recipe-of.ts';

const longestInBlock = 2048;

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
  return recipeOf(sort.name, target, [part]);
}

/** The value of a key (as its type lives in registers), and where it may be another with the same key: -0 for 0, any NaN. */
function fromKey(kit: Kit, type: DType, key: string, descending: boolean): { value: string; unsure: string | null } {
  const { b } = kit;
  const wide = keyBytes(type) === 8;
  const [kind, suffix, bits] = wide ? (['d', 'b64', 64] as const) : (['r', 'b32', 32] as const);
  const top = wide ? '0x8000000000000000' : '0x80000000';
  const plain = descending ? b.def(kind, `not.${suffix}`, key) : key;
  if (type === 'bool') return { value: b.def('p', 'setp.ne.u32', plain, 0), unsure: null };
  if (!isFloat(type)) return { value: isSigned(type) ? b.def(kind, `xor.${suffix}`, plain, top) : plain, unsure: null };
  // Positive ones had their sign turned, negative ones every bit.
  const positive = b.def(kind, `shr.s${bits}`, plain, bits - 1);
  const mask = b.def(kind, `or.${suffix}`, b.def(kind, `not.${suffix}`, positive), top);
  const raw = b.def(kind, `xor.${suffix}`, plain, mask);
  const unsigned = wide ? 'u64' : 'u32';
  const nan = b.def('p', `setp.eq.${unsigned}`, key, wide ? '0xffffffffffffffff' : '0xffffffff');
  const unsure = b.def('p', 'or.pred', nan, b.def('p', `setp.eq.${unsigned}`, raw, 0));
  return { value: b.def(wide ? 'g' : 'f', `mov.${suffix}`, raw), unsure };
}

function radixSort(sort: Sort, target: Target): ModuleRecipe {
  const bytes = dtypeInfo[sort.type].bytes;
  const { type, descending } = sort;
  const plan: RadixPlan = {
    name: sort.name,
    rows: sort.rows,
    columns: sort.columns,
    keyBytes: keyBytes(type),
    // Narrow floats are sorted by their f32 keys: their low bits are zero, but NaN and the sign need the top ones.
    passes: isFloat(type) && bytes === 2 ? 4 : bytes,
    source: (kit) => {
      const input = kit.pointer({ kind: 'buffer', index: 0 });
      return (element, inside) => {
        const value = loadElement(kit.c, 'ld.global.nc', type, kit.at(input, element, bytes), 0, inside);
        return sortKey(kit, type, value, descending);
      };
    },
    sink: (kit) => {
      const input = kit.pointer({ kind: 'buffer', index: 0 });
      const values = kit.pointer({ kind: 'buffer', index: 1 });
      const positions = kit.pointer({ kind: 'buffer', index: 2 });
      return (key, position, rowStart, element) => {
        const { value, unsure } = fromKey(kit, type, key, descending);
        if (unsure) {
          kit.when(unsure, () => {
            const from = kit.b.def('d', 'add.u64', rowStart, kit.wide(position));
            kit.assign(type, value, kit.load(type, input, from));
          });
        }
        kit.store(type, values, element, value);
        kit.store('i32', positions, element, position);
      };
    },
  };
  const layout = new Layout();
  const buffers = radixBuffers(plan, layout);
  const parts = radixPasses(plan, buffers, target);
  return recipeOf(sort.name, target, parts, { borrowedBytes: layout.bytes });
}
