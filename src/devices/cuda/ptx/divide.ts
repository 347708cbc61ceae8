// Divisions of unsigned words by numbers that are known.
//
// The assembler divides by a known number as by any other: some 18 instructions of which three take long. A product with the number's
// reciprocal, of which the upper word is kept, takes two to five (Granlund and Montgomery, PLDI 1994; Warren, Hacker's Delight, ch. 10).

import type { Block, RegKind } from './code.ts';

/** How n / d is computed for every word n: q = ((n >> before) · magic) >> width >> after; `long` adds n once more before the last shift. */
export interface Reciprocal {
  readonly magic: bigint;
  readonly before: number;
  readonly after: number;
  /** The reciprocal has one bit more than a word: `magic` is what is left without it. */
  readonly long: boolean;
}

export function reciprocalOf(divisor: bigint, width: 32 | 64): Reciprocal {
  const short = shortReciprocal(divisor, width, 0);
  if (short) return short;
  let even = 0;
  while ((divisor >> BigInt(even)) % 2n === 0n) even++;
  // An even number is halved together with what it divides, which then has bits to spare.
  const halved = even > 0 ? shortReciprocal(divisor >> BigInt(even), width, even) : null;
  if (halved) return halved;
  const bits = BigInt(divisor.toString(2).length);
  const magic = (((1n << bits) - divisor) << BigInt(width)) / divisor + 1n;
  return { magic, before: 0, after: Number(bits) - 1, long: true };
}

/** One of a single word, if there is one that is right for all n below 2^(width - before). */
function shortReciprocal(divisor: bigint, width: number, before: number): Reciprocal | null {
  const limit = 1n << BigInt(width - before);
  for (let after = 0; after < width; after++) {
    const power = 1n << BigInt(width + after);
    const magic = (power + divisor - 1n) / divisor;
    if (magic >= 1n << BigInt(width)) return null;
    if ((magic * divisor - power) * (limit - 1n) < power) return { magic, before, after, long: false };
  }
  return null;
}

/** A number as PTX writes it, or null: `64`, `0x40U`. */
function knownNumber(operand: string | number): bigint | null {
  if (typeof operand === 'number') return BigInt(operand);
  const digits = /^(0x[0-9a-f]+|\d+)U?$/i.exec(operand)?.[1];
  return digits === undefined ? null : BigInt(digits);
}

const division = /^(div|rem)\.u(32|64)$/;

/** The quotient or the remainder by a known number; null for any other instruction. */
export function dividedByNumber(block: Block, op: string, operands: readonly (string | number)[]): string | null {
  const [, want, bits] = division.exec(op) ?? [];
  const divisor = want ? knownNumber(operands[1]!) : null;
  if (divisor === null || divisor <= 0n) return null;
  const width = bits === '32' ? 32 : 64;
  const kind: RegKind = width === 32 ? 'r' : 'd';
  const n = String(operands[0]);
  const isPower = (divisor & (divisor - 1n)) === 0n;
  if (want === 'rem' && isPower) return block.def(kind, `and.b${width}`, n, `0x${(divisor - 1n).toString(16)}U`);
  const quotient = isPower
    ? shifted(block, kind, n, divisor.toString(2).length - 1)
    : byReciprocal(block, kind, n, reciprocalOf(divisor, width));
  if (want === 'div') return quotient;
  const product = block.def(kind, `mul.lo.u${width}`, quotient, `0x${divisor.toString(16)}U`);
  return block.def(kind, `sub.u${width}`, n, product);
}

const shifted = (block: Block, kind: RegKind, n: string, by: number): string =>
  by === 0 ? n : block.def(kind, kind === 'r' ? 'shr.u32' : 'shr.u64', n, by);

function byReciprocal(block: Block, kind: RegKind, n: string, { magic, before, after, long }: Reciprocal): string {
  const type = kind === 'r' ? 'u32' : 'u64';
  const upper = block.def(kind, `mul.hi.${type}`, shifted(block, kind, n, before), `0x${magic.toString(16)}U`);
  if (!long) return shifted(block, kind, upper, after);
  // The sum of both may have one bit too many: half of the difference is added instead.
  const half = shifted(block, kind, block.def(kind, `sub.${type}`, n, upper), 1);
  return shifted(block, kind, block.def(kind, `add.${type}`, half, upper), after);
}
