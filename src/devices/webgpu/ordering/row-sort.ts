// Rows that fit into workgroup memory, sorted there: read once, and written once as far as anybody wants them.
//
// A workgroup has one row, or several short ones.

import type { Pass, Traits } from '../plan.ts';
import { keyFunction } from '../routines/sort.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { lastPair, networkGlobals, sortNetwork } from './network.ts';
import { bindInput, bindResults, fetchPasses, type Ordered } from './results.ts';
import { pairAt, spacedSize } from './tile-sort.ts';

/** The longest row: longer ones take more steps of the network than rounds of digits. */
const longest = 4096;
/** Pairs of a workgroup, at least, and pairs of a thread. */
const [fewestPairs, ofThread] = [1024, 16];

export const fitsRowSort = (columns: number, { workgroupBytes }: Traits): boolean =>
  columns <= longest && spacedSize(Math.max(fewestPairs, roundUp(columns))) * 8 <= workgroupBytes;

/** The elements of ranks `first` to `first + count` of each row. */
export function rowSort(r: Ordered, first: number, descending: boolean, traits: Traits): Pass[] {
  const row = roundUp(r.columns);
  const rows = Math.max(1, fewestPairs / row);
  const pairs = row * rows;
  const threads = Math.min(traits.maxInvocations, pairs / ofThread);
  const grid = gridOf(Math.ceil(r.rows / rows), traits);
  const module = new Module(traits);
  const input = bindInput(module, r);
  const store = bindResults(module, r, input);
  module.global(keyFunction(r.type, descending));
  for (const line of networkGlobals(pairs)) module.global(line);
  const each = (count: number, body: readonly string[]): string[] => [
    `for (var i = lid; i < ${count}u; i += ${threads}u) {`,
    ...body,
    '}',
  ];
  const body = [
    `let top = ${grid.group} * ${rows}u;`,
    ...each(pairs, [
      `let place = i % ${row}u;`,
      `let row = min(top + i / ${row}u, ${r.rows - 1}u);`,
      `let at = i32(row * ${r.columns}u + min(place, ${r.columns - 1}u));`,
      `let key = key_of(${input.at('at')});`,
      `${pairAt('i')} = select(${lastPair}, vec2<u32>(key, place), place < ${r.columns}u);`,
    ]),
    ...sortNetwork(pairs, row, threads),
    ...each(rows * r.count, [
      `let row = top + i / ${r.count}u;`,
      `let rank = i % ${r.count}u;`,
      `if (row < ${r.rows}u) {`,
      ...store('row', 'rank', `${pairAt(`(i / ${r.count}u) * ${row}u + ${first}u + rank`)}.y`),
      '}',
    ]),
  ];
  return [module.pass(r.name, [threads, 1, 1], grid.workgroups, body.join('\n')), ...fetchPasses(r, traits)];
}

const roundUp = (n: number): number => Math.max(4, 2 ** Math.ceil(Math.log2(n)));
