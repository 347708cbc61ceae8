// Where the operands and the result of one product among several begin: at a multiple of its size in one buffer each, or in buffers of
// its own.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import { outputIndex, outputType } from './epilogue.ts';
import type { Kit } from './kit.ts';

/** Addresses by the number of a product (64 bits). */
export interface Bases {
  a(number: string): string;
  b(number: string): string;
  c(number: string): string;
}

export function basesOf(kit: Kit, r: Matmul, count: number): Bases {
  if (count > 1) {
    const at = kit.pointers(Array.from({ length: 3 * count }, (_, index) => ({ kind: 'buffer', index })));
    return { a: (n) => at(0, n), b: (n) => at(count, n), c: (n) => at(2 * count, n) };
  }
  const [a, b, c] = [0, 1, outputIndex(r)].map((index) => kit.pointer({ kind: 'buffer', index })) as [
    string,
    string,
    string,
  ];
  const size = dtypeInfo[r.type].bytes;
  const beyond = (base: string, n: string, bytes: number): string => kit.b.def('d', 'mad.lo.u64', n, bytes, base);
  return {
    a: (n) => (r.batchA === 1 ? a : beyond(a, n, r.m * r.k * size)),
    b: (n) => (r.batchB === 1 ? b : beyond(b, n, r.k * r.n * size)),
    c: (n) => beyond(c, n, r.m * r.n * dtypeInfo[outputType(r)].bytes),
  };
}
