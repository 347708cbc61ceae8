// Inclusive scans in levels: threads fold pieces of a line, the folds are scanned in the same way, and the pieces are
// scanned again from where the ones before them end. The order of combination is fixed, and float sums are as accurate as
// pairwise ones.

import { accumulatorFor, type DType } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import type { Binding, Pass, PassPlan, Traits } from '../plan.ts';
import { AccumulatorText } from '../wgsl/accumulators.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { heldAs, isPacked } from '../wgsl/types.ts';
import { packPass } from './pack.ts';

/** One level: lines of `length` elements. Level 0 is the data, the others are folds in scratch. */
interface Level {
  readonly length: number;
  readonly depth: number;
}

const threads = 64;

export function renderScan(w: Scan, traits: Traits): PassPlan {
  const lines = w.outer * w.inner;
  const piece = traits.cpu ? 512 : 32;
  const levels: Level[] = [{ length: w.length, depth: 0 }];
  // Enough lines keep the device busy by themselves.
  const enough = traits.cpu ? 8 : 131072;
  while (levels.at(-1)!.length > piece && lines < enough) {
    const last = levels.at(-1)!;
    levels.push({ length: Math.ceil(last.length / piece), depth: last.depth + 1 });
  }
  const packed = isPacked(w.type);
  const writer = new ScanWriter(w, traits, piece, levels.length - 1);
  const top = levels.length - 1;
  const passes: Pass[] = [];
  for (let i = 0; i < top; i++) passes.push(writer.fold(levels[i]!, levels[i + 1]!));
  passes.push(writer.scanWhole(levels[top]!));
  for (let i = top - 1; i >= 0; i--) passes.push(writer.scanPieces(levels[i]!, levels[i + 1]!));
  const scratch = levels.slice(1).map((l) => lines * l.length * 4);
  const total = lines * w.length;
  if (packed) {
    passes.push(packPass(w.name, w.type, total, scratch.length, 1, traits));
    scratch.push(total * 4);
  }
  return { name: w.name, passes, scratch, scalars: [], buffers: 2, firstOutput: 1 };
}

class ScanWriter {
  readonly #w: Scan;
  readonly #traits: Traits;
  readonly #piece: number;
  readonly #packedScratch: number;
  /** The type in which values are combined. */
  readonly #type: DType;
  readonly #value: string;

  constructor(w: Scan, traits: Traits, piece: number, packedScratch: number) {
    this.#w = w;
    this.#traits = traits;
    this.#piece = piece;
    this.#packedScratch = packedScratch;
    this.#type = w.type === 'bool' ? 'u8' : accumulatorFor(w.type);
    this.#value = heldAs(this.#type).value;
  }

  get #lines(): number {
    return this.#w.outer * this.#w.inner;
  }

  /** Folds each piece of a level into one element of the next. */
  fold(from: Level, to: Level): Pass {
    const module = new Module(this.#traits);
    const read = this.#reader(module, from);
    const target = module.words('totals', scratchOf(to, 'write'), this.#value);
    const body = [
      ...this.#pieces(from, to),
      ...this.#loop(module, read, null),
      `${target}[line * ${to.length}u + piece] = acc0;`,
    ];
    return this.#pass(module, `fold_${from.depth}`, this.#lines * to.length, body);
  }

  /** Scans whole lines, one thread each. */
  scanWhole(level: Level): Pass {
    const module = new Module(this.#traits);
    const { read, write } = this.#access(module, level);
    const body = [
      'let line = item;',
      'let begin = 0u;',
      `let end = ${level.length}u;`,
      ...this.#loop(module, read, write),
    ];
    return this.#pass(module, `whole_${level.depth}`, this.#lines, body);
  }

  /** Scans each piece, starting from the scanned total of the ones before it. */
  scanPieces(level: Level, totals: Level): Pass {
    const module = new Module(this.#traits);
    const { read, write } = this.#access(module, level);
    const before = module.words('totals', scratchOf(totals, 'read'), this.#value);
    const start = `${before}[line * ${totals.length}u + piece - 1u]`;
    const body = [...this.#pieces(level, totals), ...this.#loop(module, read, write, start)];
    return this.#pass(module, `pieces_${level.depth}`, this.#lines * totals.length, body);
  }

  #pieces(from: Level, to: Level): string[] {
    // Where lines lie side by side, neighbouring threads have neighbouring lines.
    const beside = this.#w.inner > 1;
    return [
      `let line = item ${beside ? `% ${this.#lines}u` : `/ ${to.length}u`};`,
      `let piece = item ${beside ? `/ ${this.#lines}u` : `% ${to.length}u`};`,
      `let begin = piece * ${this.#piece}u;`,
      `let end = min(begin + ${this.#piece}u, ${from.length}u);`,
    ];
  }

  #loop(
    module: Module,
    read: (s: string) => string,
    write: ((s: string, v: string) => string) | null,
    start?: string,
  ): string[] {
    const acc = new AccumulatorText(module, { op: this.#w.combine, type: this.#type }, 0);
    const step = `acc0 = ${acc.combined('acc0', 'next', 1)};`;
    return [
      `var acc0 = ${read('begin')};`,
      ...(start ? ['if (piece > 0u) {', `let next = acc0;`, `acc0 = ${start};`, step, '}'] : []),
      ...(write ? [write('begin', 'acc0')] : []),
      'for (var s = begin + 1u; s < end; s++) {',
      `let next = ${read('s')};`,
      step,
      ...(write ? [write('s', 'acc0')] : []),
      '}',
    ];
  }

  /** The element at logical position `s` of `line`: data is read in the scan's direction, folds are in order already. */
  #place(level: Level, s: string): string {
    const w = this.#w;
    if (level.depth > 0) return `line * ${level.length}u + ${s}`;
    const l = w.reverse ? `(${w.length - 1}u - (${s}))` : `(${s})`;
    return `((line / ${w.inner}u) * ${w.length}u + ${l}) * ${w.inner}u + line % ${w.inner}u`;
  }

  #reader(module: Module, level: Level): (s: string) => string {
    if (level.depth > 0) {
      const name = module.words('values', scratchOf(level, 'read'), this.#value);
      return (s) => `${name}[${this.#place(level, s)}]`;
    }
    const input = module.buffer('input', this.#w.type, { from: 'buffer', index: 0, access: 'read' });
    const convert = this.#w.type === 'f16' ? 'f32' : this.#w.type === 'bool' ? 'u32' : '';
    return (s) => `${convert}(${input.at(`i32(${this.#place(level, s)})`)})`;
  }

  #access(module: Module, level: Level): { read: (s: string) => string; write: (s: string, v: string) => string } {
    if (level.depth > 0) {
      const name = module.words('values', scratchOf(level, 'write'), this.#value);
      return {
        read: (s) => `${name}[${this.#place(level, s)}]`,
        write: (s, v) => `${name}[${this.#place(level, s)}] = ${v};`,
      };
    }
    const read = this.#reader(module, level);
    if (isPacked(this.#w.type)) {
      const name = module.words('output', { from: 'scratch', index: this.#packedScratch, access: 'write' });
      return { read, write: (s, v) => `${name}[${this.#place(level, s)}] = ${v};` };
    }
    const output = module.buffer('output', this.#w.type, { from: 'buffer', index: 1, access: 'write' });
    const convert = (v: string): string => (this.#w.type === 'f16' ? `f16(${v})` : v);
    return { read, write: (s, v) => output.store(`i32(${this.#place(level, s)})`, convert(v), 1) };
  }

  #pass(module: Module, stage: string, items: number, body: readonly string[]): Pass {
    const grid = gridOf(Math.ceil(items / threads), this.#traits);
    const text = [`let item = ${grid.group} * ${threads}u + lid;`, `if (item >= ${items}u) { return; }`, ...body].join(
      '\n',
    );
    return module.pass(`${this.#w.name}_${stage}`, [threads, 1, 1], grid.workgroups, text);
  }
}

const scratchOf = (level: Level, access: Binding['access']): Binding => ({
  from: 'scratch',
  index: level.depth - 1,
  access,
});
