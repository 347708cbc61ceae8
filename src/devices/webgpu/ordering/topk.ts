// Some of each row as if it were sorted, by selection: counts of digits, from the highest on, show where the last of them is.
//
// A workgroup has a row, or a part of one where there are too few rows: then the first ones of the parts are selected from once more.
// Every round counts the next digit of those keys that agree with what is known of the wanted one so far. If keys alone do not
// tell, because some are equal, their places are counted the same way, so that the order is that of a stable sort. First ones are
// sorted in workgroup memory; others, a median for example, are searched for one by one. The first few of short rows are found by a
// subgroup (topk-few.ts).

import type { TopK } from '../../../kernel/kernel.ts';
import type { Binding, Pass, PassPlan, Traits } from '../plan.ts';
import { keyFunction } from '../routines/sort.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { isPacked } from '../wgsl/types.ts';
import { lastPair, networkGlobals, sortNetwork } from './network.ts';
import { bindInput, bindResults, fetchPasses, storesValues } from './results.ts';
import { fitsRowSort, rowSort } from './row-sort.ts';
import { pairAt } from './tile-sort.ts';
import { fewOf, fitsFew } from './topk-few.ts';

/** Every adapter has workgroups of so many. Each thread has one of the numbers that a digit can be. */
const threads = 256;
const digitBits = 8;
/** Counters of one number: keys of a row are alike, and threads that count the same one wait for each other. */
const copies = 4;
/** Keys that a thread keeps in registers, at most. Those of longer rows are read once more for every digit. */
const mostKept = 32;
/** Rows up to this length are sorted. */
const sortedRow = 256;
/** A row is cut until there are so many workgroups; parts are at least so long, and so many times what is kept of each. */
const enoughGroups = 512;
const shortestPart = 8192;
const partsOfKept = 8;

/** One dispatch: what it selects from, and where that goes. Null: the launch's own buffers. */
interface Stage {
  readonly name: string;
  readonly columns: number;
  readonly parts: number;
  readonly from: number | null;
  readonly to: number | null;
}

export function renderTopK(r: TopK, traits: Traits): PassPlan {
  const plan = (passes: Pass[], scratch: number[]): PassPlan => {
    return { name: r.name, passes, scratch, scalars: [], buffers: 3, firstOutput: 1 };
  };
  if (fitsFew(r, traits)) return plan(fewOf(r, traits), []);
  if (r.columns <= sortedRow && fitsRowSort(r.columns, traits)) {
    return plan(rowSort(r, r.first, r.descending, traits), []);
  }
  const stages: Stage[] = [];
  const scratch: number[] = [];
  let [columns, from]: [number, number | null] = [r.columns, null];
  for (let parts = partsOf(r, columns); parts > 1; parts = partsOf(r, columns)) {
    const to = scratch.length;
    stages.push({ name: `${r.name}_parts${to}`, columns, parts, from, to });
    scratch.push(r.rows * parts * r.count * 8);
    [columns, from] = [parts * r.count, to];
  }
  stages.push({ name: r.name, columns, parts: 1, from, to: null });
  return plan([...stages.map((s) => new Selection(r, s, traits).render()), ...fetchPasses(r, traits)], scratch);
}

/** Into how many parts a row is cut. Those that are not the first ones cannot be had of parts. */
function partsOf(r: TopK, columns: number): number {
  if (r.first > 0) return 1;
  const wanted = Math.floor(enoughGroups / r.rows);
  const most = Math.floor(columns / Math.max(shortestPart, partsOfKept * r.count));
  return Math.max(1, Math.min(wanted, most));
}

class Selection {
  readonly #r: TopK;
  readonly #stage: Stage;
  readonly #traits: Traits;
  readonly #module: Module;
  /** The key at place `i` of the part, and the four from there on; null where they are not in one vector. */
  readonly #key: (i: string) => string;
  readonly #four: ((i: string) => string) | null;
  /** Statements that store the result number `i` of the part: its key and where it was in its row. */
  readonly #store: (i: string, key: string, place: string) => string[];
  /** The longest part, and how many keys of it each thread has in registers; 0 if they do not fit. */
  readonly #longest: number;
  readonly #kept: number;
  /** Slots for what is found, in the sizes that the sorting network has. */
  readonly #slots: number;

  constructor(r: TopK, stage: Stage, traits: Traits) {
    const { columns, parts, from, to } = stage;
    this.#r = r;
    this.#stage = stage;
    this.#traits = traits;
    this.#longest = Math.ceil(columns / parts);
    this.#slots = r.first > 0 ? 0 : Math.max(4, 2 ** Math.ceil(Math.log2(r.count)));
    const each = Math.ceil(this.#longest / (4 * threads)) * 4;
    this.#kept = each <= mostKept ? each : 0;
    const module = (this.#module = new Module(traits));
    const scratch = (index: number, access: Binding['access']): Binding => ({ from: 'scratch', index, access });
    const input = from === null || (to === null && storesValues(r)) ? bindInput(module, r) : null;
    if (from === null) {
      module.global(keyFunction(r.type, r.descending));
      this.#key = (i) => `key_of(${input!.at(`i32(start + ${i})`)})`;
      this.#four = parts === 1 && columns % 4 === 0 ? (i) => input!.four(`i32(start + ${i})`) : null;
    } else {
      module.words('candidates', scratch(from, 'read'), 'vec2<u32>');
      this.#key = (i) => `candidates[start + ${i}].x`;
      this.#four = null;
    }
    // Where the element was in the whole row.
    const origin = (place: string): string =>
      from === null ? (parts === 1 ? place : `begin + ${place}`) : `candidates[start + ${place}].y`;
    if (to !== null) {
      module.words('found_pairs', scratch(to, 'write'), 'vec2<u32>');
      this.#store = (i, key, place) => [
        `found_pairs[group * ${r.count}u + ${i}] = vec2<u32>(${key}, ${origin(place)});`,
      ];
      return;
    }
    const store = bindResults(module, r, input);
    this.#store = (i, _, place) => store('row', i, origin(place));
  }

  render(): Pass {
    const { rows, first } = this.#r;
    const { name, columns, parts } = this.#stage;
    const grid = gridOf(rows * parts, this.#traits);
    const [even, more] = [Math.floor(columns / parts), columns % parts];
    for (const line of [
      `var<workgroup> counters: array<atomic<u32>, ${threads * copies}>;`,
      `var<workgroup> totals: array<u32, ${threads}>;`,
      'var<workgroup> sums: array<u32, 16>;',
      'var<workgroup> sixteen: vec2<u32>;',
      'var<workgroup> found: vec4<u32>;',
    ])
      this.#module.global(line);
    const body = [
      `let group = ${grid.group};`,
      `if (group >= ${rows * parts}u) { return; }`,
      `let row = group / ${parts}u;`,
      `let part = group % ${parts}u;`,
      `let begin = part * ${even}u + min(part, ${more}u);`,
      `let length = ${even}u + u32(part < ${more}u);`,
      `let start = row * ${columns}u + begin;`,
      ...(this.#kept > 0 ? this.#keep() : []),
      ...(first > 0 ? this.#oneByOne() : this.#firstOnes()),
    ];
    return this.#module.pass(name, [threads, 1, 1], grid.workgroups, body.join('\n'));
  }

  #firstOnes(): string[] {
    const { count } = this.#r;
    const slots = this.#slots;
    this.#module.global('var<workgroup> taken: atomic<u32>;');
    for (const line of networkGlobals(slots)) this.#module.global(line);
    return [
      ...this.#search(`${count}u`, 'left'),
      // Slots beyond the last one sort behind everything.
      ...strided('i', `${slots}u`, [`${pairAt('i')} = ${lastPair};`]),
      'if (lid == 0u) { atomicStore(&taken, 0u); }',
      'workgroupBarrier();',
      ...this.#each((key, place) => [
        `let high = ${key} & mask;`,
        `if (high < known || (high == known && (${place} & placeMask) <= knownPlace)) {`,
        'let slot = atomicAdd(&taken, 1u);',
        `${pairAt('slot')} = vec2<u32>(${key}, ${place});`,
        '}',
      ]),
      ...sortNetwork(slots, slots, threads),
      ...strided('i', `${count}u`, this.#store('i', `${pairAt('i')}.x`, `${pairAt('i')}.y`)),
    ];
  }

  #oneByOne(): string[] {
    const { first, count } = this.#r;
    return [
      `for (var rank = 0u; rank < ${count}u; rank++) {`,
      ...this.#search(`${first + 1}u + rank`, '1u'),
      ...this.#each((key, place) => [
        `if ((${key} & mask) == known && (${place} & placeMask) == knownPlace) {`,
        ...this.#store('rank', key, place),
        '}',
      ]),
      '}',
    ];
  }

  /**
   * Looks for the last of the first `wanted`. What is known of it are bits of its key and of its place under masks; `left` of those that
   * agree with them are wanted. Ends when `enough` of them agree.
   */
  #search(wanted: string, enough: string): string[] {
    const longest = Math.max(this.#longest, this.#kept * threads);
    const places = Math.max(1, Math.ceil(Math.log2(longest) / digitBits));
    // Keys of bytes differ in their last digit alone.
    const bytes = isPacked(this.#r.type);
    const high = bytes && this.#r.descending ? '0xffffff00u' : '0u';
    return [
      `var mask = ${bytes ? '0xffffff00u' : '0u'};`,
      `var known = ${high};`,
      'var placeMask = 0u;',
      'var knownPlace = 0u;',
      `var left = ${wanted};`,
      `for (var digit = ${bytes ? 3 : 0}u; digit < ${4 + places}u; digit++) {`,
      'let ofPlace = digit > 3u;',
      `let shift = ${digitBits}u * (select(3u, ${3 + places}u, ofPlace) - digit);`,
      ...strided('i', `${threads * copies}u`, ['atomicStore(&counters[i], 0u);']),
      'workgroupBarrier();',
      ...this.#each((key, place) => [
        `if ((${key} & mask) == known && (${place} & placeMask) == knownPlace) {`,
        `let number = (select(${key}, ${place}, ofPlace) >> shift) & 255u;`,
        `atomicAdd(&counters[number * ${copies}u + lid % ${copies}u], 1u);`,
        '}',
      ]),
      'workgroupBarrier();',
      'var own = 0u;',
      `for (var c = 0u; c < ${copies}u; c++) { own += atomicLoad(&counters[lid * ${copies}u + c]); }`,
      'totals[lid] = own;',
      'workgroupBarrier();',
      // Sixteen threads look for the right sixteen numbers, and then for the right one of them.
      'if (lid < 16u) {',
      'var sum = 0u;',
      'for (var t = 0u; t < 16u; t++) { sum += totals[lid * 16u + t]; }',
      'sums[lid] = sum;',
      '}',
      'workgroupBarrier();',
      'if (lid < 16u) {',
      'var before = 0u;',
      'for (var s = 0u; s < lid; s++) { before += sums[s]; }',
      'if (before < left && left <= before + sums[lid]) { sixteen = vec2<u32>(lid * 16u, before); }',
      '}',
      'workgroupBarrier();',
      'if (lid < 16u) {',
      'var before = sixteen.y;',
      'for (var t = 0u; t < lid; t++) { before += totals[sixteen.x + t]; }',
      'let own = totals[sixteen.x + lid];',
      'if (before < left && left <= before + own) { found = vec4<u32>(sixteen.x + lid, before, own, 0u); }',
      '}',
      'let here = workgroupUniformLoad(&found);',
      'left -= here.y;',
      'if (ofPlace) {',
      'knownPlace |= here.x << shift;',
      'placeMask |= 255u << shift;',
      '} else {',
      'known |= here.x << shift;',
      'mask |= 255u << shift;',
      '}',
      `if (here.z == ${enough}) { break; }`,
      '}',
    ];
  }

  /** Statements for every element of the part, and beyond it for keys that sort behind all of them. */
  #each(body: (key: string, place: string) => string[]): string[] {
    if (this.#kept === 0) return this.#fromMemory(body);
    return Array.from({ length: this.#kept }, (_, i) => ['{', ...body(`key${i}`, this.#placeOf(i)), '}']).flat();
  }

  /** Key number `i` of a thread: neighbours in fours where they are loaded so. */
  #placeOf(i: number): string {
    return this.#four ? `(lid * 4u + ${4 * threads * Math.floor(i / 4) + (i % 4)}u)` : `(lid + ${threads * i}u)`;
  }

  /** Loads the keys of each thread: `key0`, `key1` and so on. */
  #keep(): string[] {
    const key = (i: number, value: string): string =>
      `let key${i} = select(0xffffffffu, ${value}, ${this.#placeOf(i)} < length);`;
    const numbers = Array.from({ length: this.#kept }, (_, i) => i);
    const four = this.#four;
    if (!four) return numbers.map((i) => key(i, this.#key(`min(${this.#placeOf(i)}, length - 1u)`)));
    const loads = numbers
      .filter((i) => i % 4 === 0)
      .map((i) => `let four${i} = ${four(`min(${this.#placeOf(i)}, length - 4u)`)};`);
    return [...loads, ...numbers.map((i) => key(i, `key_of(four${i - (i % 4)}[${i % 4}])`))];
  }

  /** Four elements are loaded before the first of them is looked at. */
  #fromMemory(body: (key: string, place: string) => string[]): string[] {
    const four = [0, 1, 2, 3];
    if (this.#four)
      return [
        `for (var place = lid * 4u; place < length; place += ${4 * threads}u) {`,
        `let loaded = ${this.#four('place')};`,
        ...four.flatMap((j) => [
          '{',
          `let key = key_of(loaded[${j}]);`,
          `let place${j} = place + ${j}u;`,
          ...body('key', `place${j}`),
          '}',
        ]),
        '}',
      ];
    return [
      `for (var place = lid; place < length; place += ${4 * threads}u) {`,
      ...four.map((j) => `let key${j} = ${this.#key(`min(place + ${j * threads}u, length - 1u)`)};`),
      ...four.flatMap((j) => [
        `if (place + ${j * threads}u < length) {`,
        `let place${j} = place + ${j * threads}u;`,
        ...body(`key${j}`, `place${j}`),
        '}',
      ]),
      '}',
    ];
  }
}

const strided = (i: string, count: string, body: readonly string[]): string[] => [
  `for (var ${i} = lid; ${i} < ${count}; ${i} += ${threads}u) {`,
  ...body,
  '}',
];
