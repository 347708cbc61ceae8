// Inclusive scans of lines that lie in memory as they are scanned: reduce, then scan.
//
// A workgroup has a tile of a line: four vectors a thread, scanned in registers, then the threads' sums in workgroup memory. Where a
// line has several tiles, a launch before folds each of them and another scans those sums, one workgroup a line: the data is read
// twice and written once. A scan in one pass, in which tiles look back for the sums of those before them, would read it once, but has
// to wait for other workgroups, and WGSL does not promise that they make progress.
//
// The order of combination follows from the sizes alone, and float sums are as accurate as pairwise ones.

import { accumulatorFor, type DType } from '../../../base/dtype.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { AccumulatorText } from '../wgsl/accumulators.ts';
import { gridOf } from '../wgsl/grid.ts';
import { literal, veiledConstant } from '../wgsl/literals.ts';
import { Module } from '../wgsl/module.ts';
import { heldAs, isPacked } from '../wgsl/types.ts';
import { RowJoin } from './join.ts';

/** Vectors of four that a thread has of a tile. */
const rounds = 4;
const perThread = 4 * rounds;

/** Null for lines that other lines lie between, and where threads would share words of bytes. */
export function renderLines(w: Scan, traits: Traits): PassPlan | null {
  const vector = w.length % 4 === 0 || (w.outer === 1 && !w.reverse);
  if (w.inner !== 1 || (isPacked(w.type) && !vector)) return null;
  const lines = new Lines(w, traits, vector);
  const passes = lines.tiles > 1 ? [lines.fold(), lines.scanTotals(), lines.scan()] : [lines.scan()];
  return {
    name: w.name,
    passes,
    scratch: lines.tiles > 1 ? [4 * w.outer * lines.tiles] : [],
    scalars: [],
    buffers: 2,
    firstOutput: 1,
  };
}

interface Access {
  /** The vector at logical position `s` of the line, of which the caller knows that it begins inside. */
  readonly read: (s: string) => string;
  readonly write: (s: string, value: string) => string[];
}

const each = <T>(count: number, f: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => f(i));
const components = ['x', 'y', 'z', 'w'] as const;

class Lines {
  readonly #w: Scan;
  readonly #traits: Traits;
  readonly #vector: boolean;
  readonly #threads: number;
  /** Threads of a line. */
  readonly #group: number;
  /** The type in which values are combined, as WGSL holds it, and four of them. */
  readonly #type: DType;
  readonly #value: string;
  readonly #four: string;
  readonly tiles: number;

  constructor(w: Scan, traits: Traits, vector: boolean) {
    this.#w = w;
    this.#traits = traits;
    this.#vector = vector;
    this.#threads = Math.min(256, 2 ** Math.floor(Math.log2(traits.maxInvocations)));
    const wanted = 2 ** Math.ceil(Math.log2(Math.max(w.length / perThread, 1)));
    this.#group = Math.min(this.#threads, wanted);
    this.tiles = Math.ceil(w.length / (this.#group * perThread));
    this.#type = w.type === 'bool' ? 'u8' : accumulatorFor(w.type);
    this.#value = heldAs(this.#type).value;
    this.#four = `vec4<${this.#value}>`;
  }

  /** Folds every tile to one value. */
  fold(): Pass {
    const module = new Module(this.#traits);
    const { read } = this.#data(module, false);
    module.words('totals', { from: 'scratch', index: 0, access: 'write' }, this.#value);
    const acc = this.#accumulator(module);
    const layout = { group: this.#threads, threads: this.#threads, vector: 4, places: rounds, turned: false } as const;
    const { grid, lines } = this.#place(this.#w.outer * this.tiles, this.tiles);
    const text = [
      ...lines,
      ...this.#load(read, this.#w.length),
      `let a0 = ${each(rounds, (r) => `v${r}`).reduce((a, b) => acc.combined(a, b, 4))};`,
      ...acc.gather('g', 'a'),
      ...new RowJoin(module, layout, this.#traits).join([acc]),
      `if (lid == 0u) { totals[line * ${this.tiles}u + tile] = r0; }`,
    ];
    return module.pass(`${this.#w.name}_fold`, [this.#threads, 1, 1], grid.workgroups, text.join('\n'));
  }

  /** Scans the tiles' sums in place, one workgroup a line. */
  scanTotals(): Pass {
    const module = new Module(this.#traits);
    module.words('totals', { from: 'scratch', index: 0, access: 'write' }, this.#value);
    const step = this.#threads * perThread;
    const at = (s: string, i: number): string =>
      `totals[line * ${this.tiles}u + min(${s} + ${i}u, ${this.tiles - 1}u)]`;
    const access: Access = {
      read: (s) => `${this.#four}(${each(4, (i) => at(s, i)).join(', ')})`,
      write: (s, value) => [
        `let out = ${value};`,
        ...each(
          4,
          (i) => `if (${s} + ${i}u < ${this.tiles}u) { totals[line * ${this.tiles}u + ${s} + ${i}u] = out[${i}]; }`,
        ),
      ],
    };
    const grid = gridOf(this.#w.outer, this.#traits);
    const text = [
      `let line = ${grid.group};`,
      `if (line >= ${this.#w.outer}u) { return; }`,
      'let member = lid;',
      'let real = true;',
      `var carry = ${this.#identity()};`,
      `for (var start = 0u; start < ${this.tiles}u; start += ${step}u) {`,
      ...this.#scanTile(module, access, this.tiles, this.#threads),
      'carry = after;',
      'workgroupBarrier();',
      '}',
    ];
    return module.pass(`${this.#w.name}_totals`, [this.#threads, 1, 1], grid.workgroups, text.join('\n'));
  }

  /** Scans every tile, from where the ones before it end. */
  scan(): Pass {
    const module = new Module(this.#traits);
    const access = this.#data(module, true);
    const { outer, length } = this.#w;
    const single = this.tiles === 1;
    if (!single) module.words('totals', { from: 'scratch', index: 0, access: 'read' }, this.#value);
    const perGroup = this.#threads / this.#group;
    const { grid, lines } = this.#place(single ? Math.ceil(outer / perGroup) : outer * this.tiles, this.tiles);
    const text = [
      ...lines,
      `var carry = ${this.#identity()};`,
      ...(single ? [] : [`if (tile > 0u) { carry = totals[line * ${this.tiles}u + tile - 1u]; }`]),
      ...this.#scanTile(module, access, length, this.#group),
    ];
    return module.pass(`${this.#w.name}_scan`, [this.#threads, 1, 1], grid.workgroups, text.join('\n'));
  }

  /** Which line and which part of it a thread has. Lines beyond the last are that one, and are not written. */
  #place(groups: number, tiles: number): { grid: ReturnType<typeof gridOf>; lines: string[] } {
    const grid = gridOf(groups, this.#traits);
    const { outer } = this.#w;
    const perGroup = this.#threads / this.#group;
    const head = [`let group = ${grid.group};`, `if (group >= ${groups}u) { return; }`];
    if (tiles > 1) {
      const step = this.#threads * perThread;
      const own = ['let member = lid;', `let line = group / ${tiles}u;`, `let tile = group % ${tiles}u;`];
      return { grid, lines: [...head, ...own, `let start = tile * ${step}u;`, 'let real = true;'] };
    }
    const wanted = `group * ${perGroup}u + lid / ${this.#group}u`;
    const own = [`let member = lid % ${this.#group}u;`, `let wanted = ${wanted};`, `let real = wanted < ${outer}u;`];
    return { grid, lines: [...head, ...own, `let line = min(wanted, ${outer - 1}u);`, 'let start = 0u;'] };
  }

  /** Where a thread's vectors begin, and what is there; behind the end of the line, what changes nothing. */
  #load(read: (s: string) => string, length: number, group = this.#threads): string[] {
    return each(rounds, (r) => [
      `let s${r} = start + member * 4u + ${r * group * 4}u;`,
      `var v${r} = ${this.#four}(${this.#identity()});`,
      `if (s${r} < ${length}u) { v${r} = ${read(`s${r}`)}; }`,
    ]).flat();
  }

  /** Scans what the threads of a line have from `start` on, with `carry` before it; `after` is what comes behind it. */
  #scanTile(module: Module, { read, write }: Access, length: number, group: number): string[] {
    const acc = this.#accumulator(module);
    const join = (a: string, b: string): string => acc.combined(a, b, 1);
    const own = each(rounds, (r) =>
      components.slice(1).map((c, i) => `v${r}.${c} = ${join(`v${r}.${components[i]}`, `v${r}.${c}`)};`),
    );
    const last = `${this.#four}(${each(rounds, (r) => `v${r}.w`).join(', ')})`;
    const bits = Math.log2(group);
    if (group > 1)
      for (const i of [0, 1]) module.global(`var<workgroup> sums${i}: array<${this.#four}, ${this.#threads}>;`);
    const levels = each(bits, (n) => [
      `if (member >= ${2 ** n}u) { sum = ${acc.combined(`sums${n % 2}[lid - ${2 ** n}u]`, 'sum', 4)}; }`,
      `sums${(n + 1) % 2}[lid] = sum;`,
      'workgroupBarrier();',
    ]).flat();
    const final = `sums${bits % 2}`;
    const shared =
      group > 1
        ? [
            'sums0[lid] = sum;',
            'workgroupBarrier();',
            ...levels,
            `if (member > 0u) { before = ${final}[lid - 1u]; }`,
            `let whole = ${final}[lid - member + ${group - 1}u];`,
          ]
        : ['let whole = sum;'];
    return [
      ...this.#load(read, length, group),
      ...own.flat(),
      `var sum = ${last};`,
      `var before = ${this.#four}(${this.#identity()});`,
      ...shared,
      'let c0 = carry;',
      ...each(rounds, (r) => `let c${r + 1} = ${join(`c${r}`, `whole.${components[r]}`)};`),
      `let after = c${rounds};`,
      ...each(rounds, (r) => [
        `if (real && s${r} < ${length}u) {`,
        `let base = ${this.#four}(${join(`c${r}`, `before.${components[r]}`)});`,
        ...write(`s${r}`, acc.combined('base', `v${r}`, 4)),
        '}',
      ]).flat(),
    ];
  }

  #accumulator(module: Module): AccumulatorText {
    return new AccumulatorText(module, { op: this.#w.combine, type: this.#type }, 0);
  }

  /** -0 for sums of floats: 0 would make 0 of it. */
  #identity(): string {
    const { combine } = this.#w;
    if (combine === 'sum' && this.#value === 'f32') return veiledConstant(-0);
    return literal(this.#type, identityOf(combine, this.#type));
  }

  /** The data in the scan's direction. */
  #data(module: Module, writes: boolean): Access {
    const { type, length, outer, reverse } = this.#w;
    const elements = outer * length;
    const input = module.buffer('input', type, { from: 'buffer', index: 0, access: 'read' }, this.#vector, elements);
    const output = writes
      ? module.buffer('output', type, { from: 'buffer', index: 1, access: 'write' }, this.#vector, elements)
      : null;
    const own = heldAs(type).value;
    const converted = own === this.#value ? (text: string) => text : (text: string) => `${this.#four}(${text})`;
    const back = own === this.#value ? (text: string) => text : (text: string) => `vec4<${own}>(${text})`;
    if (this.#vector) {
      const turn = (text: string): string => (reverse ? `(${text}).wzyx` : text);
      const at = (s: string): string => `i32(line * ${length}u + ${reverse ? `${length - 4}u - ${s}` : s})`;
      return {
        read: (s) => turn(converted(input.four(at(s)))),
        write: (s, value) => [output!.store(at(s), back(turn(value)), 4)],
      };
    }
    const at = (s: string, i: number): string => {
      const place = `min(${s} + ${i}u, ${length - 1}u)`;
      return `i32(line * ${length}u + ${reverse ? `${length - 1}u - ${place}` : place})`;
    };
    return {
      read: (s) => converted(`vec4<${own}>(${each(4, (i) => input.at(at(s, i))).join(', ')})`),
      write: (s, value) => [
        `let out = ${back(value)};`,
        ...each(4, (i) => `if (${s} + ${i}u < ${length}u) { ${output!.store(at(s, i), `out[${i}]`, 1)} }`),
      ],
    };
  }
}
