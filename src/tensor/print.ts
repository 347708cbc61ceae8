// Values of tensors as text, as far as they can be had at once.

import { byteSize, type DType } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { Node } from '../graph/node.ts';
import { toHostArray, typed } from './host-array.ts';

/** Tensors of more elements are shown by their first and last ones. */
const mostShown = 100;
const ends = 3;

/** The values of a node, or the first and the last of many; nothing if they are not computed, or cannot be had without a wait. */
export function printed({ size, dtype, shape, storage }: Node): string {
  const part = (from: number, count: number): readonly string[] | null => {
    const bytes = storage?.peek(from * byteSize(dtype), count * byteSize(dtype));
    if (!bytes) return null;
    // A copy: elements must lie at a multiple of their size.
    return Array.from<number | bigint, string>(toHostArray(typed(bytes.slice(), dtype), dtype), (v) => word(v, dtype));
  };
  if (size <= mostShown) {
    const all = part(0, size);
    return all ? nested(all, shape.values) : '';
  }
  const [first, last] = [part(0, ends), part(size - ends, ends)];
  return first && last ? `[${first.join(', ')}, … ${last.join(', ')}]` : '';
}

function nested(words: readonly string[], shape: Shape): string {
  let at = 0;
  const level = (axis: number): string =>
    axis === shape.length
      ? words[at++]!
      : `[${Array.from({ length: shape[axis]! }, () => level(axis + 1)).join(', ')}]`;
  return level(0);
}

/** The shortest number that is rounded to the same f32: 0.1, not 0.10000000149011612. */
function word(v: number | bigint, dtype: DType): string {
  if (dtype === 'bool') return String(v !== 0);
  if (typeof v === 'bigint' || dtype === 'f64' || Number.isInteger(v)) return String(v);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(v.toPrecision(digits));
    if (Math.fround(short) === v) return String(short);
  }
  return String(v);
}

/** A value as JSON has it: a number, or a text where there is none for it. */
export const jsonNumber = (v: number | bigint): number | string =>
  (typeof v === 'bigint' ? Number.isSafeInteger(Number(v)) : Number.isFinite(v)) ? Number(v) : String(v);
