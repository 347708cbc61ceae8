// Stable sorting of rows of (key, position) pairs: blocks in workgroup memory, then merges.
//
// A block is sorted by a bitonic network over (key, position); the positions make every pair different, so the unstable
// network has one result, the stable one. A merge pass puts every pair where it belongs by counting, with a binary search,
// how many pairs of the neighbouring run come before it. Pairs are vec2<u32>.

import type { Binding, Pass, Traits } from '../plan.ts';
import { gridOf } from '../wgsl/grid.ts';
import type { Module } from '../wgsl/module.ts';

const largestBlock = 1024;

export interface Rows {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
}

/** Makes a module that has `fn key_at(row: u32, column: u32) -> u32`, and binds what that reads. */
export type KeySource = () => Module;

export interface SortedPairs {
  readonly passes: readonly Pass[];
  /** Which of the two pair buffers holds the result. */
  readonly result: 0 | 1;
}

export const pairBytes = (r: Rows): number => r.rows * r.columns * 8;

/** Sorts into scratch buffers `first` and `first + 1`, each of `pairBytes`. */
export function sortPairs(r: Rows, source: KeySource, first: number, traits: Traits, empty: () => Module): SortedPairs {
  const block = Math.min(largestBlock, Math.max(2 ** Math.ceil(Math.log2(r.columns)), 2));
  const pairs = (i: number, access: Binding['access']): Binding => ({ from: 'scratch', index: first + i, access });
  const passes = [blockPass(r, block, source(), pairs(0, 'write'), traits)];
  let now: 0 | 1 = 0;
  for (let run = block; run < r.columns; run *= 2) {
    passes.push(mergePass(r, run, empty(), pairs(now, 'read'), pairs(1 - now, 'write'), traits));
    now = now === 0 ? 1 : 0;
  }
  return { passes, result: now };
}

function blockPass(r: Rows, block: number, module: Module, out: Binding, traits: Traits): Pass {
  const blocks = Math.ceil(r.columns / block);
  const grid = gridOf(r.rows * blocks, traits);
  const threads = Math.min(traits.maxInvocations, Math.max(block / (traits.cpu ? 16 : 4), 1));
  module.words('pairs', out, 'vec2<u32>');
  module.global(`var<workgroup> keys: array<u32, ${block}>;`);
  module.global(`var<workgroup> places: array<u32, ${block}>;`);
  const each = (i: string, body: readonly string[], count = block): string[] => [
    `for (var ${i} = lid; ${i} < ${count}u; ${i} += ${threads}u) {`,
    ...body,
    '}',
  ];
  // Step (k, j) of the network compares elements whose numbers differ in bit j; direction follows bit k.
  const compare = [
    'let i = ((t & ~(j - 1u)) << 1u) | (t & (j - 1u));',
    'let o = i | j;',
    'let above = keys[i] > keys[o] || (keys[i] == keys[o] && places[i] > places[o]);',
    'if (above == ((i & k) == 0u)) {',
    'let key = keys[i]; keys[i] = keys[o]; keys[o] = key;',
    'let place = places[i]; places[i] = places[o]; places[o] = place;',
    '}',
  ];
  const body = [
    `let group = ${grid.group};`,
    `let row = group / ${blocks}u;`,
    `let start = (group % ${blocks}u) * ${block}u;`,
    ...each('i', [
      'let column = start + i;',
      `let inside = row < ${r.rows}u && column < ${r.columns}u;`,
      'keys[i] = 0xffffffffu;',
      'places[i] = 0xffffffffu;',
      'if (inside) {',
      'keys[i] = key_at(row, column);',
      'places[i] = column;',
      '}',
    ]),
    'workgroupBarrier();',
    `for (var k = 2u; k <= ${block}u; k <<= 1u) {`,
    'for (var j = k >> 1u; j > 0u; j >>= 1u) {',
    ...each('t', compare, block / 2),
    'workgroupBarrier();',
    '}',
    '}',
    ...each('i', [
      'let column = start + i;',
      `if (row < ${r.rows}u && column < ${r.columns}u) { pairs[row * ${r.columns}u + column] = vec2<u32>(keys[i], places[i]); }`,
    ]),
  ].join('\n');
  return module.pass(`${r.name}_blocks`, [threads, 1, 1], grid.workgroups, body);
}

function mergePass(r: Rows, run: number, module: Module, from: Binding, to: Binding, traits: Traits): Pass {
  const total = r.rows * r.columns;
  const threads = Math.min(256, traits.maxInvocations);
  const grid = gridOf(Math.ceil(total / threads), traits);
  module.words('source', from, 'vec2<u32>');
  module.words('merged', to, 'vec2<u32>');
  const body = [
    `let item = ${grid.group} * ${threads}u + lid;`,
    `if (item >= ${total}u) { return; }`,
    `let column = item % ${r.columns}u;`,
    'let base = item - column;',
    'let pair = source[item];',
    `let side = (column / ${run}u) & 1u;`,
    `let pairStart = column - column % ${2 * run}u;`,
    // The neighbouring run: after this one for a left element, before it for a right one.
    `let low = min(select(pairStart, pairStart + ${run}u, side == 0u), ${r.columns}u);`,
    `let high = min(low + ${run}u, ${r.columns}u);`,
    'var first = low;',
    'var last = high;',
    'while (first < last) {',
    'let middle = (first + last) / 2u;',
    'let key = source[base + middle].x;',
    // Equal keys of the left run come first.
    'if (key < pair.x || (side == 1u && key == pair.x)) { first = middle + 1u; } else { last = middle; }',
    '}',
    `let own = column - pairStart - side * ${run}u;`,
    'merged[base + pairStart + own + (first - low)] = pair;',
  ].join('\n');
  return module.pass(`${r.name}_merge_${run}`, [threads, 1, 1], grid.workgroups, body);
}
