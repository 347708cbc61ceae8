// Stable sort of rows: short ones in registers (`row-sort.ts`), long ones by radix.

import { type DType, dtypeInfo, isFloat, isSigned } from '../../../base/dtype.ts';
import type { Sort } from '../../../kernel/kernel.ts';
import { loadElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { type Kit, Layout } from './kit.ts';
import { radixBuffers, radixPasses } from './radix.ts';
import type { RadixPlan } from './radix-plan.ts';
import { recipeOf } from './recipe-of.ts';
import { longestRow, rowSort } from './row-sort.ts';
import { keyBytes, sortKey } from './sort-key.ts';

export function sortRecipe(sort: Sort, target: Target): ModuleRecipe {
  return sort.columns <= longestRow ? rowSort(sort, target) : radixSort(sort, target);
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
