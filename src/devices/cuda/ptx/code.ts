// PTX text: registers, labels, and blocks of lines.
//
// A `Block` is a run of instructions under construction. Blocks nest: code that does not change inside a loop is put into
// the block around it while the loop's own block is still open, and lands before the loop when that is appended.

import type { Arms } from '../../../kernel/arms.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { dividedByNumber } from './divide.ts';
import type { Target } from './target.ts';

/** Register files: predicate, 16, 32 and 64 bits, single and double floats. */
export type RegKind = 'p' | 'h' | 'r' | 'd' | 'f' | 'g';

const declared: Readonly<Record<RegKind, string>> = {
  p: '.pred',
  h: '.b16',
  r: '.b32',
  d: '.b64',
  f: '.f32',
  g: '.f64',
};

export interface SharedArray {
  readonly name: string;
  readonly bytes: number;
}

const sharedArray = (name: string, bytes: number, align: number): SharedArray => ({
  name: `.shared .align ${align} .b8 ${name}[${bytes}]`,
  bytes,
});

/** One kernel entry: its parameters, registers, labels and shared memory. */
export class EntryPoint {
  readonly name: string;
  readonly target: Target;
  readonly params: string[] = [];
  readonly body: Block;
  readonly shared: SharedArray[] = [];
  /** A register with the number 1 that the assembler does not know: sums of words as products with it, see `alu.ts`. */
  one: string | null = null;
  /** What it writes does not stay in the cache: nothing else has to leave it for that. */
  writesPast = false;
  /** What is computed behind a branch, by its condition. */
  arms: ReadonlyMap<Expr, Arms> = new Map();
  readonly #counts: Record<RegKind, number> = { p: 0, h: 0, r: 0, d: 0, f: 0, g: 0 };
  #labels = 0;

  constructor(name: string, target: Target) {
    this.name = name;
    this.target = target;
    this.body = new Block(this);
  }

  reg(kind: RegKind): string {
    return `%${kind}${this.#counts[kind]++}`;
  }

  label(hint: string): string {
    return `$${hint}_${this.#labels++}`;
  }

  /** An 8-byte parameter; offsets are 8 times the position, whatever the type. */
  param(): string {
    const name = `p${this.params.length}`;
    this.params.push(`.param .u64 ${name}`);
    return name;
  }

  /** So many of them side by side, as one parameter that may be read at any place. */
  paramList(count: number): string {
    const name = `p${this.params.length}`;
    this.params.push(`.param .align 8 .b8 ${name}[${8 * count}]`);
    return name;
  }

  sharedArray(bytes: number, align = 16): string {
    const name = `s${this.shared.length}`;
    this.shared.push(sharedArray(name, bytes, align));
    return name;
  }

  /** Another size for an array of that name, aligned as by default. */
  resizeShared(name: string, bytes: number): void {
    this.shared[Number(name.slice(1))] = sharedArray(name, bytes, 16);
  }

  /** `resident`: how many blocks a multiprocessor shall hold at a time, 0 for what comes out. */
  render(threads: number, resident = 0): string {
    const registers = (Object.keys(declared) as RegKind[])
      .filter((k) => this.#counts[k] > 0)
      .map((k) => `  .reg ${declared[k]} %${k}<${this.#counts[k]}>;`);
    return [
      `.visible .entry ${this.name}(${this.params.map((p) => `\n  ${p}`).join(',')}\n)`,
      `.maxntid ${threads}, 1, 1`,
      ...(resident > 0 ? [`.minnctapersm ${resident}`] : []),
      '{',
      ...registers,
      ...this.shared.map((s) => `  ${s.name};`),
      ...this.body.lines,
      '}',
    ].join('\n');
  }
}

export class Block {
  readonly lines: string[] = [];
  readonly entry: EntryPoint;

  constructor(entry: EntryPoint) {
    this.entry = entry;
  }

  emit(line: string): void {
    this.lines.push(`  ${line};`);
  }

  label(name: string): void {
    this.lines.push(`${name}:`);
  }

  comment(text: string): void {
    this.lines.push(`  // ${text}`);
  }

  /** A new register set by one instruction; by a few where a known number divides. */
  def(kind: RegKind, op: string, ...operands: readonly (string | number)[]): string {
    const quotient = op.startsWith('div') || op.startsWith('rem') ? dividedByNumber(this, op, operands) : null;
    if (quotient !== null) return quotient;
    const r = this.entry.reg(kind);
    this.lines.push(`  ${op} ${r}, ${operands.join(', ')};`);
    return r;
  }

  /** Sets a register that exists: for values that change in a loop. */
  set(register: string, op: string, ...operands: readonly (string | number)[]): void {
    this.lines.push(`  ${op} ${register}, ${operands.join(', ')};`);
  }

  append(block: Block): void {
    for (const line of block.lines) this.lines.push(line);
  }

  child(): Block {
    return new Block(this.entry);
  }
}

/** A whole module: the header that the driver's assembler needs, then the entries. */
export function moduleText(target: Target, entries: readonly string[], suffix: '' | 'a' = ''): string {
  const version = suffix === 'a' ? Math.max(target.ptx, 80) : target.ptx;
  return [
    `.version ${Math.floor(version / 10)}.${version % 10}`,
    `.target sm_${target.sm}${suffix}`,
    '.address_size 64',
    ...entries,
    '',
  ].join('\n');
}

/** A name as PTX allows it. */
export function entryName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, 120);
  return /^[A-Za-z]/.test(clean) ? clean : `k_${clean}`;
}
