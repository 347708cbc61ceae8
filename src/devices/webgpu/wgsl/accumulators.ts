// Accumulators as WGSL: what they start from, how a value is taken in, how two partial results become one.
//
// Every accumulator is one variable, argmax and argmin two (the extreme and its position). Combining two partial results
// does not depend on the order in which lanes and threads meet: ties go to the lower position.

import type { DType } from '../../../base/dtype.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import { combineOp, type ReduceOp } from '../../../kernel/ops.ts';
import type { HelperName } from './helpers.ts';
import { literal } from './literals.ts';
import type { Module } from './module.ts';
import { rows } from './ops.ts';
import { heldAs, type ValueType, vectorOf, type Width } from './types.ts';

const lowest: Readonly<Partial<Record<DType, number>>> = {
  f32: -Infinity,
  f16: -Infinity,
  i32: -(2 ** 31),
  u32: 0,
  u8: 0,
  bool: 0,
};
const highest: Readonly<Partial<Record<DType, number>>> = {
  f32: Infinity,
  f16: Infinity,
  i32: 2 ** 31 - 1,
  u32: 2 ** 32 - 1,
  u8: 255,
  bool: 1,
};

type Identity = (type: DType) => number;
const identities: Readonly<Record<ReduceOp, Identity>> = {
  sum: () => 0,
  prod: () => 1,
  max: (t) => lowest[t]!,
  min: (t) => highest[t]!,
  any: () => 0,
  all: () => 1,
  argmax: (t) => lowest[t]!,
  argmin: (t) => highest[t]!,
};

const isArg = (op: ReduceOp): boolean => op === 'argmax' || op === 'argmin';

export class AccumulatorText {
  readonly #module: Module;
  readonly #op: ReduceOp;
  readonly #type: DType;
  readonly #number: number;

  constructor(module: Module, accumulator: Pick<Accumulator, 'op' | 'type'>, number: number) {
    this.#module = module;
    this.#op = accumulator.op;
    this.#type = accumulator.type;
    this.#number = number;
  }

  get isArg(): boolean {
    return isArg(this.#op);
  }

  /** WGSL value types of the variables: the extreme and its position, or the value alone. */
  get types(): readonly ValueType[] {
    const own = heldAs(this.#type).value;
    return this.isArg ? [own, 'i32'] : [own];
  }

  /** Variable names with a prefix: the first is the value. */
  names(prefix: string): string[] {
    return this.types.map((_, i) => `${prefix}${this.#number}${i === 0 ? '' : 'i'}`);
  }

  declare(prefix: string, width: Width): string[] {
    const start = identities[this.#op](this.#type);
    const texts = [literal(this.#type, start), '2147483647i'];
    return this.names(prefix).map((n, i) => `var ${n} = ${vectorOf(this.types[i]!, width)}(${texts[i]});`);
  }

  /** Statements that take `from` (value, and position for argmax) into the variables. */
  take(prefix: string, from: readonly string[], width: Width): string[] {
    return this.takeInto(this.names(prefix), from, width);
  }

  /** The same, into variables of any name. */
  takeInto(names: readonly string[], from: readonly string[], width: Width): string[] {
    const [value, at] = names as readonly [string, string];
    if (!this.isArg) return [`${value} = ${this.combined(value, from[0]!, width)};`];
    const better = this.#better(from[0]!, from[1]!, value, at, width);
    const flag = `${value}_better`;
    return [
      '{',
      `let ${flag} = ${better};`,
      `${value} = select(${value}, ${from[0]}, ${flag});`,
      `${at} = select(${at}, ${from[1]}, ${flag});`,
      '}',
    ];
  }

  /** Two values as one (not for argmax). */
  combined(a: string, b: string, width: Width): string {
    // max of f16 is that of f32, which is exact; max of bool is or.
    const op = combineOp[this.#op as keyof typeof combineOp];
    const wide = {
      use: (n: HelperName) => this.#module.use(n, width),
      byte: `${vectorOf('u32', width)}(255u)`,
      exactDivision: true,
    };
    if (this.#type === 'f16') {
      const [F, H] = [vectorOf('f32', width), vectorOf('f16', width)];
      return `${H}(${rows.f32![op]!(wide, `${F}(${a})`, `${F}(${b})`, '')})`;
    }
    const boolOps = { add: 'or', mul: 'and', max: 'or', min: 'and', or: 'or', and: 'and' } as const;
    return rows[this.#type]![this.#type === 'bool' ? boolOps[op] : op]!(wide, a, b, '');
  }

  /** Folds four lanes of the variables into scalars of another prefix. */
  gather(prefix: string, lanes: string): string[] {
    const from = this.names(lanes);
    const to = this.names(prefix);
    const start = to.map((n, i) => `var ${n} = ${from[i]}.x;`);
    const each = ['y', 'z', 'w'].flatMap((l) =>
      this.take(
        prefix,
        from.map((f) => `${f}.${l}`),
        1,
      ),
    );
    return [...start, ...each];
  }

  #better(v: string, i: string, best: string, at: string, width: Width): string {
    const sign = this.#op === 'argmax' ? '>' : '<';
    if (this.#type === 'bool') {
      const first = this.#op === 'argmax' ? `(${v} & !${best})` : `(!${v} & ${best})`;
      return `${first} | ((${v} == ${best}) & (${i} < ${at}))`;
    }
    if (this.#type !== 'f32' && this.#type !== 'f16')
      return `(${v} ${sign} ${best}) | ((${v} == ${best}) & (${i} < ${at}))`;
    const nan = (x: string): string =>
      `${this.#module.use('is_nan', width)}(${this.#type === 'f16' ? `${vectorOf('f32', width)}(${x})` : x})`;
    const tie = `((${v} == ${best}) | (${nan(v)} & ${nan(best)})) & (${i} < ${at})`;
    return `(${v} ${sign} ${best}) | (${nan(v)} & !${nan(best)}) | (${tie})`;
  }
}
