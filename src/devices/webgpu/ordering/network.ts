// Sorting pairs in workgroup memory with a bitonic network. Pairs are (key, place); places make every pair different, so that the
// network, which is not stable, has one result, the stable one.

/** The array that the network sorts, and a function that says which of two pairs comes first. */
export const networkGlobals = (pairs: number): string[] => [
  `var<workgroup> pairs: array<vec2<u32>, ${pairs}>;`,
  'fn later(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x > b.x || (a.x == b.x && a.y > b.y); }',
];

/** What sorts behind every pair. */
export const lastPair = 'vec2<u32>(0xffffffffu)';

/** Brings two pairs into order. */
const order = (a: string, b: string): string[] => [
  `if (later(${a}, ${b}) == up) { let swapped = ${a}; ${a} = ${b}; ${b} = swapped; }`,
];

/**
 * Sorts `pairs`, in rows of `row` each, both powers of two; there are at least four. Barriers are before and behind it. A step of the
 * network compares pairs whose numbers differ in one bit; two steps are made with one visit to the memory.
 */
export function sortNetwork(pairs: number, row: number, threads: number): string[] {
  const each = (count: number, body: readonly string[]): string[] => [
    `for (var t = lid; t < ${count}u; t += ${threads}u) {`,
    ...body,
    '}',
    'workgroupBarrier();',
  ];
  const up = `let up = (i & k & ${row - 1}u) == 0u;`;
  return [
    'workgroupBarrier();',
    `for (var k = 2u; k <= ${row}u; k <<= 1u) {`,
    'var j = k >> 1u;',
    // An odd number of steps: the first by itself.
    'if ((countTrailingZeros(k) & 1u) == 1u) {',
    ...each(pairs / 2, [
      'let i = ((t & ~(j - 1u)) << 1u) | (t & (j - 1u));',
      up,
      'var a = pairs[i];',
      'var b = pairs[i | j];',
      'if (later(a, b) == up) { pairs[i] = b; pairs[i | j] = a; }',
    ]),
    'j >>= 1u;',
    '}',
    'while (j > 1u) {',
    'let h = j >> 1u;',
    ...each(pairs / 4, [
      'let i = ((t & ~(h - 1u)) << 2u) | (t & (h - 1u));',
      up,
      'var a = pairs[i];',
      'var b = pairs[i | h];',
      'var c = pairs[i | j];',
      'var d = pairs[i | j | h];',
      ...order('a', 'c'),
      ...order('b', 'd'),
      ...order('a', 'b'),
      ...order('c', 'd'),
      'pairs[i] = a;',
      'pairs[i | h] = b;',
      'pairs[i | j] = c;',
      'pairs[i | j | h] = d;',
    ]),
    'j >>= 2u;',
    '}',
    '}',
  ];
}
