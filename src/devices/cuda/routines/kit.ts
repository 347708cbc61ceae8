// Writing routines in PTX by hand: one entry with its thread numbers, control flow and typed memory access.
//
// Element numbers are 64 bits wide here: routines are few, and their arithmetic on positions is not what they wait for.

import { accumulatorFor, type DType, dtypeInfo } from '../../../base/dtype.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import { type AluContext, emitAlu } from '../ptx/alu.ts';
import { emitCast } from '../ptx/cast.ts';
import { type Block, EntryPoint, entryName, type RegKind } from '../ptx/code.ts';
import { loadElement, storeElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import { bitsSuffix, kindOf, literal } from '../ptx/types.ts';
import type { LaunchRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';

/** Shared memory from `base` on; it has as many bytes as the most that were asked for. */
export interface SharedLater {
  readonly base: string;
  hold(bytes: number): void;
}

export class Kit {
  readonly entry: EntryPoint;
  readonly b: Block;
  readonly c: AluContext;
  readonly args: Argument[] = [];
  readonly #exit: string;

  constructor(name: string, target: Target) {
    this.entry = new EntryPoint(entryName(name), target);
    this.b = this.entry.body;
    this.c = { block: this.b, target, bits: 64 };
    this.#exit = this.entry.label('exit');
  }

  /** A pointer parameter, and what fills it. */
  pointer(argument: Argument): string {
    this.args.push(argument);
    const p = this.b.def('d', 'ld.param.u64', `[${this.entry.param()}]`);
    return this.b.def('d', 'cvta.to.global.u64', p);
  }

  /** Pointers side by side: gives the one at `first` + `at`, a number that threads know (64 bits). */
  pointers(list: readonly Argument[]): (first: number, at: string) => string {
    this.args.push(...list);
    const base = this.b.def('d', 'mov.u64', this.entry.paramList(list.length));
    return (first, at) => {
      const p = this.b.def('d', 'ld.param.u64', `[${this.b.def('d', 'mad.lo.u64', at, 8, base)}+${8 * first}]`);
      return this.b.def('d', 'cvta.to.global.u64', p);
    };
  }

  /** A scalar parameter: its name, for `ld.param`. */
  scalar(argument: Argument): string {
    this.args.push(argument);
    return this.entry.param();
  }

  special(name: 'tid.x' | 'ctaid.x' | 'ctaid.y' | 'ctaid.z' | 'laneid' | 'lanemask_lt'): string {
    return this.b.def('r', 'mov.u32', `%${name}`);
  }

  /** The number of this thread in the whole grid, 64 bits. */
  globalThread(threads: number): string {
    return this.b.def(
      'd',
      'add.u64',
      this.b.def('d', 'mul.wide.u32', this.special('ctaid.x'), threads),
      this.wide(this.special('tid.x')),
    );
  }

  wide(r: string): string {
    return this.b.def('d', 'cvt.u64.u32', r);
  }

  at(pointer: string, element: string, bytes: number): string {
    return this.b.def('d', 'mad.lo.u64', element, bytes, pointer);
  }

  load(type: DType, pointer: string, element: string, op = 'ld.global'): string {
    return loadElement(this.c, op, type, this.at(pointer, element, dtypeInfo[type].bytes));
  }

  store(type: DType, pointer: string, element: string, value: string): void {
    storeElement(this.c, type, value, this.at(pointer, element, dtypeInfo[type].bytes));
  }

  alu(op: AluOp, type: DType, ...operands: readonly string[]): string {
    return emitAlu(this.c, op, type, operands);
  }

  cast(from: DType, to: DType, value: string): string {
    return emitCast(this.c, from, to, value);
  }

  /** A register to be changed later, with its first value. */
  variable(type: DType, value: string): string {
    const kind = kindOf(type, 64);
    return this.b.def(kind, `mov.${bitsSuffix[kind]}`, value);
  }

  assign(type: DType, register: string, value: string): void {
    this.b.set(register, `mov.${bitsSuffix[kindOf(type, 64)]}`, value);
  }

  constant(type: DType, value: number | bigint): string {
    return literal(this.b, type, value);
  }

  kind(type: DType): RegKind {
    return kindOf(type, 64);
  }

  when(predicate: string, then: () => void): void {
    const skip = this.entry.label('skip');
    this.b.emit(`@!${predicate} bra ${skip}`);
    then();
    this.b.label(skip);
  }

  exitWhen(predicate: string): void {
    this.b.emit(`@${predicate} bra ${this.#exit}`);
  }

  /** Runs `body` as long as `condition`, computed anew each time, holds. */
  while(condition: () => string, body: () => void): void {
    const [again, out] = [this.entry.label('again'), this.entry.label('out')];
    this.b.label(again);
    this.b.emit(`@!${condition()} bra ${out}`);
    body();
    this.b.emit(`bra ${again}`);
    this.b.label(out);
  }

  sync(): void {
    this.b.emit('bar.sync 0');
  }

  shared(bytes: number): string {
    return this.b.def('r', 'mov.u32', this.entry.sharedArray(bytes));
  }

  /** Shared memory whose size turns out while the kernel is written. */
  sharedLater(): SharedLater {
    let most = 0;
    const name = this.entry.sharedArray(0);
    const hold = (bytes: number): void => {
      most = Math.max(most, bytes);
      this.entry.resizeShared(name, most);
    };
    return { base: this.b.def('r', 'mov.u32', name), hold };
  }

  finish(
    grid: readonly [number, number, number],
    threads: number,
    shared = 0,
    resident = 0,
  ): { text: string; launch: LaunchRecipe } {
    this.b.label(this.#exit);
    this.b.emit('ret');
    return {
      text: this.entry.render(threads, resident),
      launch: { entry: this.entry.name, grid, block: [threads, 1, 1], shared, args: this.args },
    };
  }
}

/** Grids hold at most 2^31-1 blocks in x; every count here is far below. */
export const blocksFor = (elements: number, perBlock: number): number => Math.max(1, Math.ceil(elements / perBlock));

/** The type in which scans and scatters combine. */
export const computeType = (type: DType): DType => accumulatorFor(type);

/** Lays out regions of borrowed memory, each aligned to 256 bytes. */
export class Layout {
  bytes = 0;

  add(bytes: number): Argument {
    const offset = this.bytes;
    this.bytes += Math.ceil(Math.max(bytes, 1) / 256) * 256;
    return { kind: 'borrowed', offset };
  }
}
