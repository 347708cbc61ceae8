// Sorting pairs in workgroup memory with a bitonic network. Pairs are (key, place); places make every pair different, so that the
// network, which is not stable, has one result, the stable one.
//
// A step of the network compares pairs whose numbers differ in one bit. A thread makes several steps with one visit to the memory: two
// with four pairs, four with sixteen.

import { pairAt, spacedSize } from './tile-sort.ts';

/** The array that the network sorts, and a function that says which of two pairs comes first. */
export const networkGlobals = (pairs: number): string[] => [
  `var<workgroup> pairs: array<vec2<u32>, ${spacedSize(pairs)}>;`,
  'fn later(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x > b.x || (a.x == b.x && a.y > b.y); }',
];

/** What sorts behind every pair. */
export const lastPair = 'vec2<u32>(0xffffffffu)';

/** Steps that a thread makes with one visit, at most, and at least. */
const [mostSteps, fewestSteps] = [4, 2];

/** Sorts `pairs`, in rows of `row` each, both powers of two; there are at least four. Barriers are before and behind it. */
export function sortNetwork(pairs: number, row: number, threads: number): string[] {
  const most = Math.max(fewestSteps, Math.min(mostSteps, Math.log2(row), Math.floor(Math.log2(pairs / threads))));
  const rest = Array.from({ length: most - 1 }, (_, i) => i + 1);
  return [
    'workgroupBarrier();',
    `for (var k = 2u; k <= ${row}u; k <<= 1u) {`,
    'var j = k >> 1u;',
    `let rest = countTrailingZeros(k) % ${most}u;`,
    ...rest.flatMap((steps) => [`if (rest == ${steps}u) {`, ...visit(steps, pairs, row, threads), '}']),
    'j >>= rest;',
    `for (; j > 0u; j >>= ${most}u) {`,
    ...visit(most, pairs, row, threads),
    '}',
    '}',
  ];
}

/** So many steps, from the one that compares numbers which differ by `j` on. */
function visit(steps: number, pairs: number, row: number, threads: number): string[] {
  const held = Array.from({ length: 2 ** steps }, (_, i) => i);
  const bits = Array.from({ length: steps }, (_, i) => 2 ** (steps - 1 - i));
  const order = (a: number, b: number): string =>
    `if (later(p${a}, p${b}) == up) { let swapped = p${a}; p${a} = p${b}; p${b} = swapped; }`;
  return [
    `for (var t = lid; t < ${pairs >> steps}u; t += ${threads}u) {`,
    `let h = j >> ${steps - 1}u;`,
    `let i = ((t & ~(h - 1u)) << ${steps}u) | (t & (h - 1u));`,
    `let up = (i & k & ${row - 1}u) == 0u;`,
    ...held.map((e) => `var p${e} = ${pairAt(`i + h * ${e}u`)};`),
    ...bits.flatMap((bit) => held.filter((e) => (e & bit) === 0).map((e) => order(e, e | bit))),
    ...held.map((e) => `${pairAt(`i + h * ${e}u`)} = p${e};`),
    '}',
    'workgroupBarrier();',
  ];
}
