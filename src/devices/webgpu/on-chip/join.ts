// Joins what the threads of a row have folded, so that each of them has the whole.
//
// Pairs whose numbers differ in the lowest bit come first, then those of the next bit: by shuffles within a subgroup, through workgroup
// memory beyond. Both ways join the same pairs in the same order, so bits do not depend on what the adapter has.

import type { Traits } from '../plan.ts';
import type { AccumulatorText } from '../wgsl/accumulators.ts';
import type { Module } from '../wgsl/module.ts';
import type { RowLayout } from './row-layout.ts';

/** Parts of a row that every thread reads: with more of them halving their number in turns is faster. */
const mostParts = 32;

export class RowJoin {
  readonly #module: Module;
  readonly #layout: RowLayout;
  readonly #subgroup: number;
  readonly #arrays = new Set<string>();
  /** Which of two arrays is written next: the other one may still be read. */
  #turn = 0;

  constructor(module: Module, layout: RowLayout, traits: Traits) {
    this.#module = module;
    this.#layout = layout;
    // Members of rows that lie side by side are no neighbours.
    this.#subgroup = layout.turned ? 1 : 2 ** Math.floor(Math.log2(Math.max(traits.subgroup, 1)));
  }

  /** Statements that turn the variables `g` of each thread into `r`: those of its whole row. */
  join(accs: readonly AccumulatorText[]): string[] {
    const { group } = this.#layout;
    const lines = accs.flatMap((a) => {
      const from = a.names('g');
      return a.names('r').map((n, i) => `var ${n} = ${from[i]};`);
    });
    const bools = accs.some((a) => a.types.includes('bool'));
    let half = 1;
    if (!bools) for (; half < Math.min(group, this.#subgroup); half *= 2) lines.push(...this.#shuffle(accs, half));
    if (half > 1 && half < group && group / half <= mostParts) lines.push(...this.#gather(accs, half));
    else for (; half < group; half *= 2) lines.push(...this.#exchange(accs, half));
    return lines;
  }

  #shuffle(accs: readonly AccumulatorText[], half: number): string[] {
    return accs.flatMap((a) => {
      const theirs = a.names('r').map((n) => `${n}_${half}`);
      const fetched = a.names('r').map((n, i) => `let ${theirs[i]} = subgroupShuffleXor(${n}, ${half}u);`);
      return [...fetched, ...a.take('r', theirs, 1)];
    });
  }

  /** One thread of each subgroup says what that has, and all read what belongs to their row: pairs of neighbours first. */
  #gather(accs: readonly AccumulatorText[], size: number): string[] {
    const { group, threads } = this.#layout;
    const arrays = accs.map((a, i) => this.#array(a, i, threads / size));
    this.#turn ^= 1;
    const put = accs.flatMap((a, i) => a.names('r').map((n, w) => `${arrays[i]![w]}[lid / ${size}u] = ${n};`));
    const parts = group / size;
    const first = `lid / ${group}u * ${parts}u`;
    const lines = [`if (lid % ${size}u == 0u) {`, ...put, '}', 'workgroupBarrier();'];
    accs.forEach((a, i) => {
      const name = (part: number, w: number): string => `${a.names('r')[w]}_p${part}`;
      for (let part = 0; part < parts; part++)
        arrays[i]!.forEach((array, w) => {
          lines.push(`var ${name(part, w)} = ${array}[${first} + ${part}u];`);
        });
      for (let step = 1; step < parts; step *= 2)
        for (let part = 0; part < parts; part += 2 * step) lines.push(...renamed(a, part, part + step));
      a.names('r').forEach((n, w) => {
        lines.push(`${n} = ${name(0, w)};`);
      });
    });
    return lines;
  }

  #exchange(accs: readonly AccumulatorText[], half: number): string[] {
    const { threads, turned, group } = this.#layout;
    const distance = turned ? half * (threads / group) : half;
    const arrays = accs.map((a, i) => this.#array(a, i, threads));
    this.#turn ^= 1;
    const put = accs.flatMap((a, i) => a.names('r').map((n, w) => `${arrays[i]![w]}[lid] = ${n};`));
    const taken = accs.flatMap((a, i) =>
      a.take(
        'r',
        arrays[i]!.map((array) => `${array}[lid ^ ${distance}u]`),
        1,
      ),
    );
    return [...put, 'workgroupBarrier();', ...taken];
  }

  /** Names of arrays for the variables of an accumulator, declared at their first use. */
  #array(a: AccumulatorText, number: number, length: number): string[] {
    return a.types.map((type, w) => {
      const name = `joined_${type}_${number}_${w}_${length}_${this.#turn}`;
      if (!this.#arrays.has(name)) {
        this.#arrays.add(name);
        this.#module.global(`var<workgroup> ${name}: array<${type}, ${length}>;`);
      }
      return name;
    });
  }
}

/** Takes one part into another, both named after `r`. */
function renamed(a: AccumulatorText, into: number, from: number): string[] {
  const theirs = a.names('r').map((n) => `${n}_p${from}`);
  return a.takeInto(
    a.names('r').map((n) => `${n}_p${into}`),
    theirs,
    1,
  );
}
