// A stable sort of the pairs in workgroup memory by four bits of their keys.
//
// A thread has neighbouring pairs and counters of its own, so that threads never wait for each other: sixteen numbers are counted, the
// counters added up in the order (number, thread), and every pair moved to where its counter says.

const numbers = 16;

/** A gap after every sixteen: threads that read neighbours each then use all banks of the memory. */
const spaced = (i: string): string => `(${i}) + ((${i}) >> 4u)`;
export const spacedSize = (count: number): number => count + (count >> 4);

/** Pair number `i` of the tile. */
export const pairAt = (i: string): string => `pairs[${spaced(i)}]`;

/** Words of workgroup memory that a tile takes. */
export const tileWords = (threads: number, ofThread: number): number =>
  2 * spacedSize(threads * ofThread) + spacedSize(numbers * threads) + threads;

export const tileGlobals = (threads: number, ofThread: number): string[] => [
  `var<workgroup> pairs: array<vec2<u32>, ${spacedSize(threads * ofThread)}>;`,
  `var<workgroup> counters: array<u32, ${spacedSize(numbers * threads)}>;`,
  `var<workgroup> sums: array<u32, ${threads}>;`,
];

/** Statements for one round, by the four bits from `shift` on. Barriers are before and behind them. */
export function sortTile(threads: number, ofThread: number, shift: string): string[] {
  const each = (body: (e: number) => string[]): string[] => Array.from({ length: ofThread }, (_, e) => body(e)).flat();
  return [
    '{',
    `for (var n = 0u; n < ${numbers}u; n++) { counters[${spaced(`n * ${threads}u + lid`)}] = 0u; }`,
    ...each((e) => [
      `let pair${e} = ${pairAt(`lid * ${ofThread}u + ${e}u`)};`,
      `let counter${e} = ${spaced(`((pair${e}.x >> (${shift})) & ${numbers - 1}u) * ${threads}u + lid`)};`,
      `let before${e} = counters[counter${e}];`,
      `counters[counter${e}] = before${e} + 1u;`,
    ]),
    'workgroupBarrier();',
    'var own = 0u;',
    `for (var n = 0u; n < ${numbers}u; n++) { own += counters[${spaced(`lid * ${numbers}u + n`)}]; }`,
    ...prefixSums('own', threads),
    `for (var n = 0u; n < ${numbers}u; n++) {`,
    `let at = ${spaced(`lid * ${numbers}u + n`)};`,
    'let count = counters[at];',
    'counters[at] = sum;',
    'sum += count;',
    '}',
    'workgroupBarrier();',
    ...each((e) => [`let to${e} = counters[counter${e}] + before${e};`, `${pairAt(`to${e}`)} = pair${e};`]),
    'workgroupBarrier();',
    '}',
  ];
}

/** `sum`: what the threads before this one have of `own`. Needs `sums`, a word of each thread. */
export const prefixSums = (own: string, threads: number): string[] => [
  `var sum = ${own};`,
  'sums[lid] = sum;',
  'workgroupBarrier();',
  `for (var d = 1u; d < ${threads}u; d <<= 1u) {`,
  'if (lid >= d) { sum += sums[lid - d]; }',
  'workgroupBarrier();',
  'sums[lid] = sum;',
  'workgroupBarrier();',
  '}',
  `sum -= ${own};`,
];
