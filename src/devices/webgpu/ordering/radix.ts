// Stable sort of long rows by the digits of their keys, from the last one on.
//
// Each round counts the digits of every tile of a row, adds the counts up, and moves each pair to its place: behind all smaller digits
// of its row and behind equal ones of the tiles before. Before a tile is moved it is sorted in workgroup memory, so that neighbours are
// written together. The first round reads the input itself, the last one writes the results; between them pairs of key and position
// go to and fro. Those rounds share their shaders: which one it is they find in memory.

import type { Sort } from '../../../kernel/kernel.ts';
import type { Binding, Pass, PassPlan, Traits } from '../plan.ts';
import { keyFunction } from '../routines/sort.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { isPacked } from '../wgsl/types.ts';
import { lastPair } from './network.ts';
import { bindInput, bindResults, fetchPasses, type Ordered, storesValues } from './results.ts';
import { pairAt, prefixSums, sortTile, tileGlobals, tileWords } from './tile-sort.ts';

/** Bits of a digit, and how many numbers it can be. */
const digitBits = 8;
const numbers = 2 ** digitBits;
/** Counters of one number: threads that count the same one wait for each other. */
const copies = 4;
/** Elements of a thread. */
const ofThread = 8;
/** Threads of a tile: as many as the adapter has room for. */
const threadChoices = [256, 128, 64] as const;
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
  const fits = (n: number): boolean => n <= maxInvocations && 4 * (tileWords(n, ofThread) + numbers) <= workgroupBytes;
  const threads = threadChoices.find(fits) ?? threadChoices.at(-1)!;
  const tile = threads * ofThread;
  return { threads, tile, tiles: Math.ceil(columns / tile) };
}

/** Scratch: pairs to and fro, counts of each (row, number, tile), totals of each (row, number) and how many rounds were added up. */
const [countsAt, totalsAt] = [2, 3];
const roundAt = ({ rows }: Sort): string => `totals[${rows * numbers}u]`;

export function radixSort(w: Sort, traits: Traits): PassPlan {
  const tiling = tilingOf(w, traits);
  const rounds = isPacked(w.type) ? 1 : 32 / digitBits;
  const passes: Pass[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = round === 0 ? null : (round + 1) % 2;
    const to = round === rounds - 1 ? null : round % 2;
    const step = { w, traits, tiling, round, from, to };
    passes.push(countPass(step), addPass(step), movePass(step));
  }
  const pairs = w.rows * w.columns * 8;
  const counters = w.rows * numbers * 4;
  return {
    name: w.name,
    passes: [...passes, ...fetchPasses(orderedOf(w), traits)],
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

/** A module that reads pairs, and the text of the one at a column. `whole`: the input is bound in any case. */
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

/** Statements that tell `row`, `tile`, and the first column and the number of elements of the tile. */
const whereabouts = ({ w, tiling }: Step, group: string): string[] => [
  `let row = ${group} / ${tiling.tiles}u;`,
  `let tile = ${group} % ${tiling.tiles}u;`,
  `if (row >= ${w.rows}u) { return; }`,
  `let first = tile * ${tiling.tile}u;`,
  `let length = min(${tiling.tile}u, ${w.columns}u - first);`,
];

/** How many elements of each tile have each digit. */
function countPass(step: Step): Pass {
  const { w, traits, tiling, from } = step;
  const { threads, tiles } = tiling;
  const { module, pair } = reading(step, false);
  module.words('counts', scratch(countsAt, 'write'));
  module.words('totals', scratch(totalsAt, from === null ? 'write' : 'read'));
  module.global(`var<workgroup> counters: array<atomic<u32>, ${numbers * copies}>;`);
  const grid = gridOf(w.rows * tiles, traits);
  const strided = (i: string, count: string, body: readonly string[]): string[] => [
    `for (var ${i} = lid; ${i} < ${count}; ${i} += ${threads}u) {`,
    ...body,
    '}',
  ];
  const body = [
    ...whereabouts(step, grid.group),
    ...(from === null ? [`if (row == 0u && tile == 0u && lid == 0u) { ${roundAt(w)} = 0u; }`] : []),
    `let shift = ${from === null ? '0u' : `${roundAt(w)} * ${digitBits}u`};`,
    ...strided('i', `${numbers * copies}u`, ['atomicStore(&counters[i], 0u);']),
    'workgroupBarrier();',
    ...strided('i', 'length', [
      `let number = (${pair('(first + i)')}.x >> shift) & ${numbers - 1}u;`,
      `atomicAdd(&counters[number * ${copies}u + lid % ${copies}u], 1u);`,
    ]),
    'workgroupBarrier();',
    ...strided('n', `${numbers}u`, [
      'var sum = 0u;',
      `for (var c = 0u; c < ${copies}u; c++) { sum += atomicLoad(&counters[n * ${copies}u + c]); }`,
      `counts[(row * ${numbers}u + n) * ${tiles}u + tile] = sum;`,
    ]),
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

/** Moves every pair to where its digit belongs. */
function movePass(step: Step): Pass {
  const { w, traits, tiling, from, round, to } = step;
  const { threads, tile, tiles } = tiling;
  const ordered = orderedOf(w);
  const { module, input, pair } = reading(step, to === null && storesValues(ordered));
  module.words('counts', scratch(countsAt, 'read'));
  module.words('totals', scratch(totalsAt, 'read'));
  if (to !== null) module.words('moved', scratch(to, 'write'), 'vec2<u32>');
  const store = to === null ? bindResults(module, ordered, input) : null;
  for (const line of tileGlobals(threads, ofThread)) module.global(line);
  module.global(`var<workgroup> bases: array<u32, ${numbers}>;`);
  const grid = gridOf(w.rows * tiles, traits);
  const ofNumbers = numbers / threads;
  const shift = from === null || to === null ? `${round * digitBits}u` : `(${roundAt(w)} - 1u) * ${digitBits}u`;
  const strided = (body: readonly string[]): string[] => [
    `for (var i = lid; i < ${tile}u; i += ${threads}u) {`,
    ...body,
    '}',
  ];
  const body = [
    ...whereabouts(step, grid.group),
    `let shift = ${shift};`,
    // Beyond the row: behind everything, and not moved.
    ...strided([`${pairAt('i')} = ${lastPair};`, `if (i < length) { ${pairAt('i')} = ${pair('(first + i)')}; }`]),
    'workgroupBarrier();',
    ...sortTile(threads, ofThread, 'shift'),
    ...sortTile(threads, ofThread, 'shift + 4u'),
    // How many of the row have smaller digits.
    'var own = 0u;',
    `for (var n = 0u; n < ${ofNumbers}u; n++) { own += totals[row * ${numbers}u + lid * ${ofNumbers}u + n]; }`,
    ...prefixSums('own', threads),
    `for (var n = 0u; n < ${ofNumbers}u; n++) {`,
    `let number = lid * ${ofNumbers}u + n;`,
    `bases[number] = sum + counts[(row * ${numbers}u + number) * ${tiles}u + tile];`,
    `sum += totals[row * ${numbers}u + number];`,
    '}',
    'workgroupBarrier();',
    // The first one of each number in the tile takes its own place there into account.
    ...strided([
      `let number = (${pairAt('i')}.x >> shift) & ${numbers - 1}u;`,
      `if (i == 0u || ((${pairAt('(i - 1u)')}.x >> shift) & ${numbers - 1}u) != number) { bases[number] -= i; }`,
    ]),
    'workgroupBarrier();',
    ...strided([
      'if (i >= length) { break; }',
      `let pair = ${pairAt('i')};`,
      `let rank = bases[(pair.x >> shift) & ${numbers - 1}u] + i;`,
      ...(store ? store('row', 'rank', 'pair.y') : [`moved[row * ${w.columns}u + rank] = pair;`]),
    ]),
  ].join('\n');
  return module.pass(`${w.name}_move`, [threads, 1, 1], grid.workgroups, body);
}
