// Division of unsigned words by a number that is known, without dividing.
//
// The assembler does not look at the divisor: every `div.u32` becomes an inverse, two corrections and their waits, some 20 instructions,
// by 4 as well as by 12. Powers of two are shifts. The rest is one product: n / d = (n · m) >> (w + s) for a suitable m, exactly and for every
// n of w bits (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994). Where m needs w + 1 bits, its upper
// bit is added by hand.

import type { Block, RegKind } from './code.ts';

interface Word {
  readonly kind: RegKind;
  readonly bits: 32 | 64;
}

const words: Readonly<Record<string, Word>> = { u32: { kind: 'r', bits: 32 }, u64: { kind: 'd', bits: 64 } };

/** Quotient or remainder for `div.u32`, `rem.u64` and so on by a literal; null for other instructions. */
export function divideByLiteral(block: Block, op: string, operands: readonly (string | number)[]): string | null {
  const [what, type] = op.split('.') as [string, string];
  const word = words[type];
  if (!word || (what !== 'div' && what !== 'rem') || operands.length !== 2) return null;
  const [n, by] = [String(operands[0]), String(operands[1])];
  if (!n.startsWith('%') || !/^\d|^0x/.test(by)) return null;
  const d = BigInt(by.replace(/U$/, ''));
  if (d === 0n) return null;
  const { kind, bits } = word;
  const isPower = (d & (d - 1n)) === 0n;
  if (what === 'rem' && isPower) return block.def(kind, `and.b${bits}`, n, `${d - 1n}`);
  const q = isPower ? shifted(block, word, n, log2(d)) : product(block, word, n, d);
  if (what === 'div') return q;
  return block.def(kind, `sub.${type}`, n, block.def(kind, `mul.lo.${type}`, q, `${d}`));
}

const log2 = (d: bigint): number => d.toString(2).length - 1;

const shifted = (block: Block, { kind, bits }: Word, n: string, by: number): string =>
  by === 0 ? n : block.def(kind, `shr.u${bits}`, n, by);

function product(block: Block, word: Word, n: string, d: bigint): string {
  const { kind, bits } = word;
  const high = (value: string, by: bigint): string => block.def(kind, `mul.hi.u${bits}`, value, literal(by, bits));
  const one = factorOf(d, bits, bits);
  if (one.factor >> BigInt(bits) === 0n) return shifted(block, word, high(n, one.factor), one.shift);
  // Halved until it is odd, so that fewer bits of the number are left.
  let [odd, zeros] = [d, 0];
  for (; (odd & 1n) === 0n; odd >>= 1n) zeros++;
  if (zeros > 0) {
    const { factor, shift } = factorOf(odd, bits, bits - zeros);
    return shifted(block, word, high(shifted(block, word, n, zeros), factor), shift);
  }
  const low = high(n, one.factor - (1n << BigInt(bits)));
  const half = shifted(block, word, block.def(kind, `sub.u${bits}`, n, low), 1);
  return shifted(block, word, block.def(kind, `add.u${bits}`, half, low), one.shift - 1);
}

const literal = (v: bigint, bits: 32 | 64): string => (bits === 32 ? `${v}` : `0x${v.toString(16)}`);

/** The least factor and shift with which products are right for numbers of so many bits. */
function factorOf(d: bigint, bits: number, numberBits: number): { factor: bigint; shift: number } {
  for (let shift = 0; ; shift++) {
    const power = 1n << BigInt(bits + shift);
    const factor = power / d + 1n;
    if (factor * d - power <= 1n << BigInt(bits + shift - numberBits)) return { factor, shift };
  }
}
