// Where the values of transforms lie in memory, and how they are read and written.
//
// Position i of a transform is element origin + i·stride of a buffer. A value is two numbers side by side, or one number in each of two
// places, or a single number whose imaginary part is zero.

import type { Kit } from '../kit.ts';
import type { Complex, ComplexMath } from './complex.ts';

export type Format =
  | { readonly kind: 'pairs'; readonly pointer: string }
  | { readonly kind: 'parts'; readonly re: string; readonly im: string }
  | { readonly kind: 'real'; readonly pointer: string };

export interface Lines {
  readonly format: Format;
  readonly stride: number;
  /** The element of position 0 of a transform of the block, 64 bits. */
  readonly origin: (transform: string) => string;
  /** Whether there is such a transform at all; null if there always is. */
  readonly exists: (transform: string) => string | null;
}

/** Where a transform's values come from. */
export interface Source {
  /** Those of a transform of the block at position `from` and so many behind it; what is not inside has no value. */
  read(transform: string, from: string, behind: readonly number[], inside: string | null): readonly Complex[];
  readonly exists: Lines['exists'];
}

export const sourceOf = (kit: Kit, m: ComplexMath, lines: Lines): Source => ({
  read: (transform, from, behind, inside) => readLine(kit, m, lines, transform, from, behind, inside),
  exists: lines.exists,
});

/** `a` and `b`; null is true. */
export function both(kit: Kit, a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return kit.b.def('p', 'and.pred', a, b);
}

const when = (predicate: string | null): string => (predicate ? `@${predicate} ` : '');

/** The element at `from` of a transform's line, and bytes from one real number of it to the next. */
const placeOf = (kit: Kit, m: ComplexMath, { stride, origin }: Lines, transform: string, from: string) => ({
  element: kit.b.def('d', 'mad.lo.u64', kit.wide(from), stride, origin(transform)),
  unit: stride * m.bytes,
});

const partsOf = (format: Exclude<Format, { kind: 'pairs' }>): readonly string[] =>
  format.kind === 'real' ? [format.pointer] : [format.re, format.im];

/** Values at `from` and so many positions behind it; what is not inside has no value. */
export function readLine(
  kit: Kit,
  m: ComplexMath,
  lines: Lines,
  transform: string,
  from: string,
  behind: readonly number[],
  inside: string | null,
): Complex[] {
  const { b } = kit;
  const only = when(inside);
  const { element, unit } = placeOf(kit, m, lines, transform, from);
  const { format } = lines;
  if (format.kind === 'pairs') {
    const at = kit.at(format.pointer, element, 2 * m.bytes);
    return behind.map((i) => {
      const pair = { re: m.register(), im: m.register() };
      b.emit(`${only}ld.global.v2.${m.type} {${pair.re}, ${pair.im}}, [${at}+${2 * i * unit}]`);
      return pair;
    });
  }
  const parts = partsOf(format);
  const [re, im] = parts.map((pointer) => {
    const at = kit.at(pointer, element, m.bytes);
    return behind.map((i) => {
      const value = m.register();
      b.emit(`${only}ld.global.${m.type} ${value}, [${at}+${i * unit}]`);
      return value;
    });
  });
  return behind.map((_, i) => ({ re: re![i]!, im: im ? im[i]! : m.number(0) }));
}

export function writeLine(
  kit: Kit,
  m: ComplexMath,
  lines: Lines,
  transform: string,
  from: string,
  behind: readonly number[],
  values: readonly Complex[],
  inside: string | null,
): void {
  const { b } = kit;
  const only = when(inside);
  const { element, unit } = placeOf(kit, m, lines, transform, from);
  const { format } = lines;
  if (format.kind === 'pairs') {
    const at = kit.at(format.pointer, element, 2 * m.bytes);
    values.forEach(({ re, im }, i) => {
      b.emit(`${only}st.global.v2.${m.type} [${at}+${2 * behind[i]! * unit}], {${re}, ${im}}`);
    });
    return;
  }
  const parts = partsOf(format);
  parts.forEach((pointer, part) => {
    const at = kit.at(pointer, element, m.bytes);
    values.forEach((v, i) => {
      b.emit(`${only}st.global.${m.type} [${at}+${behind[i]! * unit}], ${part === 0 ? v.re : v.im}`);
    });
  });
}
