// Stable sort of long rows by the digits of their keys, from the last one on.
//
// Each round counts the digits of every tile of a row, adds the counts up, and moves each pair to its place: behind all smaller digits
// of its row, behind equal ones of the tiles before, and in the tile behind equal ones of earlier threads. A thread has neighbouring
// elements and counters of its own, so that threads never wait for each other. The first round reads the input itself, the last one
// writes the results; between them pairs of key and position go to and fro. Those rounds share their shaders: which one it is they find
// in memory.

import type { Sort } from '../../../kernel/kernel.ts';
import type { Binding, Pass, PassPlan, Traits } from '../plan.ts';
import { keyFunction } from '../routines/sort.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { isPacked } from '../wgsl/types.ts';
import { bindInput, bindResults, fetchPasses, type Ordered, storesValues } from './results.ts';

const digitBits = 4;
const numbers = 2 ** digitBits;
/** Elements of a thread. */
const ofThread = 16;
/** Threads of a tile where the counters of all of them fit, and else. */
const [manyThreads, fewThreads] = [256, 128];
/** Tiles of a row whose counts one thread adds up; more are shared by a workgroup. */
const fewTiles = 32;
const addingThreads = 256;

interface Tiling {
  readonly threads: number;
  /** Elements of a tile, and tiles of a row. */
  readonly tile: number;
  readonly tiles: number;
}

function tilingOf({ columns }: Sort, { workgroupBytes, maxInvocations }: Traits): Tiling {
  const many = 4 * (spacedSize(numbers * manyThreads) + manyThreads) <= workgroupBytes && manyThreads <= maxInvocations;
  const threads = many ? manyThreads : fewThreads;
  const tile = threads * ofThread;
  return { threads, tile, tiles: Math.ceil(columns / tile) };
}

/** Scratch buffers: pairs to and fro, counts of each (row, number, tile), totals of each (row, number) and how many rounds were added up. */
const [countsAt, totalsAt] = [2, 3];
const roundAt = ({ rows }: Sort): string => `totals[${rows * numbers}u]`;

export function radixSort(w: Sort, traits: Traits): PassPlan {
  const tiling = tilingOf(w, traits);
  const rounds = isPacked(w.type) ? 8 / digitBits : 32 / digitBits;
  const passes: Pass[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = round === 0 ? null : (round + 1) % 2;
    const to = round === rounds - 1 ? null : round % 2;
    const step = { w, traits, tiling, round, from, to };
    passes.push(countPass(step), addPass(step), movePass(step));
  }
  const ordered = orderedOf(w);
  const pairs = w.rows * w.columns * 8;
  const counters = w.rows * numbers * 4;
  return {
    name: w.name,
    passes: [...passes, ...fetchPasses(ordered, traits)],
    scratch: [pairs, pairs, counters * tiling.tiles, counters + 4],
    scalars: [],
    buffers: 3,
    firstOutput: 1,
  };
}

export const orderedOf = (w: Sort): Ordered => ({ ...w, count: w.columns });

/** A round. `from` and `to`: which buffer of pairs; null for the input and the results. */
interface Step {
  readonly w: Sort;
  readonly traits: Traits;
  readonly tiling: Tiling;
  readonly round: number;
  readonly from: number | null;
  readonly to: number | null;
}

const scratch = (index: number, access: Binding['access']): Binding => ({ from: 'scratch', index, access });

/** A module that reads pairs: texts of the key and the place of the element at a column. `whole`: the input is bound in any case. */
function reading({ w, traits, from }: Step, whole: boolean) {
  const module = new Module(traits);
  const input = from === null || whole ? bindInput(module, orderedOf(w)) : null;
  if (from === null) {
    module.global(keyFunction(w.type, w.descending));
    const pair = (column: string): string =>
      `vec2<u32>(key_of(${input!.at(`i32(row * ${w.columns}u + ${column})`)}), ${column})`;
    return { module, input, pair };
  }
  module.words('source', scratch(from, 'read'), 'vec2<u32>');
  return { module, input, pair: (column: string): string => `source[row * ${w.columns}u + ${column}]` };
}

/** Statements that tell `row`, `tile`, and the first and last column of this thread. */
const whereabouts = ({ w, tiling }: Step, group: string): string[] => [
  `let row = ${group} / ${tiling.tiles}u;`,
  `let tile = ${group} % ${tiling.tiles}u;`,
  `if (row >= ${w.rows}u) { return; }`,
  `let first = tile * ${tiling.tile}u + lid * ${ofThread}u;`,
  `let last = min(first + ${ofThread}u, ${w.columns}u);`,
];

/** Where counter `i` is: with a gap after each sixteen, so that threads which read sixteen neighbours each use all banks of the memory. */
const spaced = (i: string): string => `(${i}) + ((${i}) >> 4u)`;
const spacedSize = (count: number): number => count + (count >> 4);

/** Counts the digits of a thread's elements in counters of its own. */
const countDigits = ({ tiling }: Step, pair: (column: string) => string): string[] => [
  `for (var n = 0u; n < ${numbers}u; n++) { counters[${spaced(`n * ${tiling.threads}u + lid`)}] = 0u; }`,
  'for (var column = first; column < last; column++) {',
  `let number = (${pair('column')}.x >> shift) & ${numbers - 1}u;`,
  `counters[${spaced(`number * ${tiling.threads}u + lid`)}] += 1u;`,
  '}',
];

/** How many elements of each tile have each digit. */
function countPass(step: Step): Pass {
  const { w, traits, tiling, from } = step;
  const { threads, tiles } = tiling;
  const { module, pair } = reading(step, false);
  module.words('counts', scratch(countsAt, 'write'));
  module.words('totals', scratch(totalsAt, from === null ? 'write' : 'read'));
  module.global(`var<workgroup> counters: array<atomic<u32>, ${numbers}>;`);
  const grid = gridOf(w.rows * tiles, traits);
  const body = [
    ...whereabouts(step, grid.group),
    ...(from === null ? [`if (${grid.group} == 0u && lid == 0u) { ${roundAt(w)} = 0u; }`] : []),
    `let shift = ${from === null ? '0u' : `${roundAt(w)} * ${digitBits}u`};`,
    `if (lid < ${numbers}u) { atomicStore(&counters[lid], 0u); }`,
    'workgroupBarrier();',
    // Eight counters of four bits each would overflow at sixteen: of eight bits, in four words.
    'var own = vec4<u32>(0u);',
    'for (var column = first; column < last; column++) {',
    `let number = (${pair('column')}.x >> shift) & ${numbers - 1}u;`,
    'own += select(vec4<u32>(0u), vec4<u32>(1u << (8u * (number & 3u))), vec4<u32>(number >> 2u) == vec4<u32>(0u, 1u, 2u, 3u));',
    '}',
    `for (var n = 0u; n < ${numbers}u; n++) {`,
    'let count = (own[n >> 2u] >> (8u * (n & 3u))) & 255u;',
    'if (count > 0u) { atomicAdd(&counters[n], count); }',
    '}',
    'workgroupBarrier();',
    `if (lid < ${numbers}u) { counts[(row * ${numbers}u + lid) * ${tiles}u + tile] = atomicLoad(&counters[lid]); }`,
  ].join('\n');
  return module.pass(`${w.name}_count`, [threads, 1, 1], grid.workgroups, body);
}

/** Turns the counts of a number into how many come before each tile, and their total. */
function addPass({ w, traits, tiling }: Step): Pass {
  const { tiles } = tiling;
  const lines = w.rows * numbers;
  const module = new Module(traits);
  module.words('counts', scratch(countsAt, 'write'));
  module.words('totals', scratch(totalsAt, 'write'));
  const walk = (begin: string, end: string, sum: string): string[] => [
    `for (var i = ${begin}; i < ${end}; i++) {`,
    'let count = counts[i];',
    `counts[i] = ${sum};`,
    `${sum} += count;`,
    '}',
  ];
  const addOne = `if (line == 0u && lid == 0u) { ${roundAt(w)} += 1u; }`;
  if (tiles <= fewTiles) {
    const grid = gridOf(Math.ceil(lines / 64), traits);
    const body = [
      `let line = ${grid.group} * 64u + lid;`,
      `if (line >= ${lines}u) { return; }`,
      'var sum = 0u;',
      ...walk(`line * ${tiles}u`, `(line + 1u) * ${tiles}u`, 'sum'),
      'totals[line] = sum;',
      addOne,
    ].join('\n');
    return module.pass(`${w.name}_add`, [64, 1, 1], grid.workgroups, body);
  }
  const threads = Math.min(addingThreads, traits.maxInvocations);
  const each = Math.ceil(tiles / threads);
  const grid = gridOf(lines, traits);
  module.global(`var<workgroup> sums: array<u32, ${threads}>;`);
  const body = [
    `let line = ${grid.group};`,
    `if (line >= ${lines}u) { return; }`,
    `let begin = line * ${tiles}u + min(lid * ${each}u, ${tiles}u);`,
    `let end = line * ${tiles}u + min((lid + 1u) * ${each}u, ${tiles}u);`,
    'var own = 0u;',
    'for (var i = begin; i < end; i++) { own += counts[i]; }',
    ...prefixSums('own', threads),
    `if (lid == ${threads - 1}u) { totals[line] = sum + own; }`,
    ...walk('begin', 'end', 'sum'),
    addOne,
  ].join('\n');
  return module.pass(`${w.name}_add`, [threads, 1, 1], grid.workgroups, body);
}

/** `sum`: what the threads before this one have of `own`. Needs `sums`, one of each thread. */
const prefixSums = (own: string, threads: number): string[] => [
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

/** Moves every pair to where its digit belongs. */
function movePass(step: Step): Pass {
  const { w, traits, tiling, from, round, to } = step;
  const { threads, tiles } = tiling;
  const ordered = orderedOf(w);
  const { module, input, pair } = reading(step, to === null && storesValues(ordered));
  module.words('counts', scratch(countsAt, 'read'));
  module.words('totals', scratch(totalsAt, 'read'));
  if (to !== null) module.words('moved', scratch(to, 'write'), 'vec2<u32>');
  const store = to === null ? bindResults(module, ordered, input) : null;
  module.global(`var<workgroup> counters: array<u32, ${spacedSize(numbers * threads)}>;`);
  module.global(`var<workgroup> sums: array<u32, ${threads}>;`);
  const grid = gridOf(w.rows * tiles, traits);
  const perThread = numbers;
  const body = [
    ...whereabouts(step, grid.group),
    `let shift = ${from === null || to === null ? `${round * digitBits}u` : `(${roundAt(w)} - 1u) * ${digitBits}u`};`,
    ...countDigits(step, pair),
    'workgroupBarrier();',
    // The counters of one number lie together: a thread adds up `perThread` neighbours.
    'var own = 0u;',
    `for (var i = 0u; i < ${perThread}u; i++) { own += counters[${spaced(`lid * ${perThread}u + i`)}]; }`,
    ...prefixSums('own', threads),
    `for (var i = 0u; i < ${perThread}u; i++) {`,
    `let at = ${spaced(`lid * ${perThread}u + i`)};`,
    'let count = counters[at];',
    'counters[at] = sum;',
    'sum += count;',
    '}',
    'workgroupBarrier();',
    // Where the tile's first one of each number goes, less how many of the tile come before it there.
    `if (lid < ${numbers}u) {`,
    'var smaller = 0u;',
    `for (var n = 0u; n < lid; n++) { smaller += totals[row * ${numbers}u + n]; }`,
    `sums[lid] = smaller + counts[(row * ${numbers}u + lid) * ${tiles}u + tile] - counters[${spaced(`lid * ${threads}u`)}];`,
    '}',
    'workgroupBarrier();',
    'for (var column = first; column < last; column++) {',
    `let pair = ${pair('column')};`,
    `let number = (pair.x >> shift) & ${numbers - 1}u;`,
    `let counter = ${spaced(`number * ${threads}u + lid`)};`,
    'let rank = sums[number] + counters[counter];',
    'counters[counter] += 1u;',
    ...(store ? store('row', 'rank', 'pair.y') : [`moved[row * ${w.columns}u + rank] = pair;`]),
    '}',
  ].join('\n');
  return module.pass(`${w.name}_move`, [threads, 1, 1], grid.workgroups, body);
}
