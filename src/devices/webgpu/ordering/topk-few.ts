// The first few of each short row: found one after the other, each as the least that comes behind the last.
//
// The threads of a subgroup have a row, a few of its keys each in registers, and exchange what they found without barriers.

import type { TopK } from '../../../kernel/kernel.ts';
import type { Pass, Traits } from '../plan.ts';
import { keyFunction } from '../routines/sort.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { bindInput, bindResults, fetchPasses } from './results.ts';

const threads = 256;
/** Threads of a row, at least and at most, and keys of each. */
const [fewestMembers, mostMembers, mostKept] = [4, 32, 32];
/** What finding them may cost: of a thread for each of them, its keys and the exchange, in comparisons. */
const mostWork = 400;
const exchange = 10;

const membersOf = ({ subgroup }: Traits): number =>
  Math.min(mostMembers, 2 ** Math.floor(Math.log2(Math.max(subgroup, 1))));

export function fitsFew({ first, count, columns }: TopK, traits: Traits): boolean {
  const members = membersOf(traits);
  const [kept, found] = [keptOf(columns, members), first + count];
  return found <= members && members >= fewestMembers && kept <= mostKept && found * (kept + exchange) <= mostWork;
}

const keptOf = (columns: number, members: number): number => 4 * Math.ceil(columns / (4 * members));

export function fewOf(r: TopK, traits: Traits): Pass[] {
  const members = membersOf(traits);
  const rows = threads / members;
  const grid = gridOf(Math.ceil(r.rows / rows), traits);
  const module = new Module(traits);
  const input = bindInput(module, r);
  const store = bindResults(module, r, input);
  module.global(keyFunction(r.type, r.descending));
  const vector = r.columns % 4 === 0;
  const kept = Array.from({ length: keptOf(r.columns, members) }, (_, i) => i);
  const placeOf = (i: number): string =>
    vector ? `(member * 4u + ${4 * members * Math.floor(i / 4) + (i % 4)}u)` : `(member + ${members * i}u)`;
  const at = (place: string, last: number): string => `i32(start + min(${place}, ${last}u))`;
  const load = (i: number): string[] => {
    const key = vector ? `key_of(four${i - (i % 4)}[${i % 4}])` : `key_of(${input.at(at(placeOf(i), r.columns - 1))})`;
    return [
      ...(vector && i % 4 === 0 ? [`let four${i} = ${input.four(at(placeOf(i), r.columns - 4))};`] : []),
      // Beyond the row: behind everything.
      `let key${i} = select(0xffffffffu, ${key}, ${placeOf(i)} < ${r.columns}u);`,
    ];
  };
  // Pairs of a key and a place, which is i32: before the first there is none.
  module.global(
    'fn later(k: u32, p: i32, key: u32, place: i32) -> bool { return k > key || (k == key && p > place); }',
  );
  const halves = Array.from({ length: Math.log2(members) }, (_, i) => 2 ** i);
  const body = [
    `let member = lid % ${members}u;`,
    `let own = ${grid.group} * ${rows}u + lid / ${members}u;`,
    `let row = min(own, ${r.rows - 1}u);`,
    `let start = row * ${r.columns}u;`,
    ...kept.flatMap(load),
    'var key = 0u;',
    'var place = -1;',
    'var mine = -1;',
    `for (var rank = 0u; rank < ${r.first + r.count}u; rank++) {`,
    'var k = 0xffffffffu;',
    'var p = 0x7fffffff;',
    ...kept.flatMap((i) => [
      `if (later(key${i}, i32${placeOf(i)}, key, place) && later(k, p, key${i}, i32${placeOf(i)})) {`,
      `k = key${i};`,
      `p = i32${placeOf(i)};`,
      '}',
    ]),
    ...halves.flatMap((half) => [
      '{',
      `let otherKey = subgroupShuffleXor(k, ${half}u);`,
      `let other = subgroupShuffleXor(p, ${half}u);`,
      'if (later(k, p, otherKey, other)) { k = otherKey; p = other; }',
      '}',
    ]),
    'key = k;',
    'place = p;',
    `if (rank == member + ${r.first}u) { mine = place; }`,
    '}',
    `if (member < ${r.count}u && own < ${r.rows}u) {`,
    ...store('row', 'member', 'mine'),
    '}',
  ];
  return [module.pass(r.name, [threads, 1, 1], grid.workgroups, body.join('\n')), ...fetchPasses(r, traits)];
}
