// Register programs: reversible steps on words of any content, after Ben-Or and Cleve (1992).
//
// A step adds to one register a product of others, a constant times that, or an input. A step that reads the register it
// changes could not be undone, and is refused. A program followed by its inverse is the identity, whatever the registers held.

import { argumentsOf, checked, checkMethods } from '../../base/signatures.ts';
import type { Borrowed, ReversibleStep, Runtime, Tensor } from '../../index.ts';
import { invalidArgument, NotReversibleError, wholeNumber } from '../errors.ts';
import { latticeKinds, programOptions, programSignatures } from '../signatures.ts';
import { gfMul } from './gf64.ts';

/** Whole numbers modulo 2^64, GF(2^64), or a prime field (for exercise: its words must be below the prime). */
export type Ring = 'u64' | 'gf64' | { readonly field: number };

interface Arithmetic {
  readonly name: string;
  add(a: bigint, b: bigint): bigint;
  sub(a: bigint, b: bigint): bigint;
  mul(a: bigint, b: bigint): bigint;
}

/** What is added: a product of registers, times a constant; or an input. */
export type Term =
  | { readonly kind: 'product'; readonly constant: bigint; readonly registers: readonly number[] }
  | { readonly kind: 'input'; readonly name: string };

export interface RegisterStep {
  readonly target: number;
  readonly sign: 1 | -1;
  readonly term: Term;
}

export type Inputs = Readonly<Record<string, bigint>>;

export interface ProgramOptions {
  readonly registers: number;
  readonly ring?: Ring | undefined;
}

export class RegisterProgram {
  readonly registers: number;
  readonly ring: Ring;
  readonly steps: readonly RegisterStep[];
  readonly #arithmetic: Arithmetic;

  constructor(options: ProgramOptions, steps: readonly RegisterStep[] = []) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    const { registers, ring = 'u64' } = options;
    this.registers = wholeNumber(where, 'registers', registers, 1);
    this.ring = ring;
    this.#arithmetic = arithmeticOf(ring);
    this.steps = steps;
    steps.forEach((step, i) => {
      this.#check(step, i);
    });
  }

  /** A product of registers, for `add` and `sub`. */
  mul(...registers: readonly number[]): Term {
    return { kind: 'product', constant: 1n, registers };
  }

  /** constant · product. */
  scaled(constant: bigint, ...registers: readonly number[]): Term {
    return { kind: 'product', constant, registers };
  }

  add(target: number, term: Term): RegisterProgram {
    return this.#with({ target, sign: 1, term });
  }

  sub(target: number, term: Term): RegisterProgram {
    return this.#with({ target, sign: -1, term });
  }

  addInput(target: number, name: string): RegisterProgram {
    return this.add(target, { kind: 'input', name });
  }

  subInput(target: number, name: string): RegisterProgram {
    return this.sub(target, { kind: 'input', name });
  }

  /** All steps undone, last first. */
  inverse(): RegisterProgram {
    const steps = this.steps.map((s): RegisterStep => ({ ...s, sign: s.sign === 1 ? -1 : 1 })).reverse();
    return new RegisterProgram(this.#options, steps);
  }

  /** One step a line: `r2 += r0*r1`. */
  toString(): string {
    return this.steps.map(show).join('\n');
  }

  /** On words of the host, which are changed. */
  apply(words: BigUint64Array | bigint[], inputs: Inputs = {}): void {
    if (words.length < this.registers) throw tooFew(words.length, this.registers);
    this.#known(inputs);
    for (const step of this.steps) this.#do(words, step, inputs);
  }

  /**
   * In a tensor of u64 registers, which is lent for the time and then is what it was. The result is what the program added to each
   * register.
   */
  async run(rt: Runtime, registers: Tensor, inputs: Inputs = {}): Promise<BigUint64Array> {
    if (registers.dtype !== 'u64' || registers.size < this.registers)
      throw tooFew(registers.size, this.registers, registers.dtype);
    this.#known(inputs);
    const bytes = (this.registers * 64) / 8;
    const change =
      (step: RegisterStep) =>
      async ([memory]: readonly Borrowed[]): Promise<void> => {
        const { device, buffer } = memory!;
        const read = await device.read(buffer, 0, bytes);
        const words = new BigUint64Array(read.slice().buffer);
        this.#do(words, step, inputs);
        device.write(buffer, new Uint8Array(words.buffer, step.target * 8, 8), step.target * 8);
      };
    const back = (s: RegisterStep): RegisterStep => ({ ...s, sign: s.sign === 1 ? -1 : 1 });
    const reversible = this.steps.map((s): ReversibleStep => ({ name: show(s), do: change(s), undo: change(back(s)) }));
    const { sub } = this.#arithmetic;
    const { value } = await rt.memory.borrow<BigUint64Array>(
      [registers],
      async function* ([memory]) {
        const before = new BigUint64Array((await memory!.device.read(memory!.buffer, 0, bytes)).slice().buffer);
        for (const step of reversible) yield step;
        const after = new BigUint64Array((await memory!.device.read(memory!.buffer, 0, bytes)).slice().buffer);
        return after.map((w, i) => sub(w, before[i]!));
      },
      { restore: 'guard' },
    );
    return value;
  }

  get #options(): ProgramOptions {
    return { registers: this.registers, ring: this.ring };
  }

  #with(step: RegisterStep): RegisterProgram {
    return new RegisterProgram(this.#options, [...this.steps, step]);
  }

  #do(words: BigUint64Array | bigint[], { target, sign, term }: RegisterStep, inputs: Inputs): void {
    const { add, sub, mul } = this.#arithmetic;
    const value =
      term.kind === 'input'
        ? add(0n, inputs[term.name]!)
        : term.registers.reduce((product, r) => mul(product, words[r]!), add(0n, term.constant));
    words[target] = (sign === 1 ? add : sub)(words[target]!, value);
  }

  #known(inputs: Inputs): void {
    const names = new Set(this.steps.flatMap(({ term }) => (term.kind === 'input' ? [term.name] : [])));
    const missing = [...names].filter((n) => typeof inputs[n] !== 'bigint');
    if (missing.length === 0) return;
    throw invalidArgument({
      where,
      problem: `no value for ${missing.join(', ')}`,
      fix: 'Give each input as a bigint.',
    });
  }

  #check({ target, term }: RegisterStep, step: number): void {
    const read = term.kind === 'product' ? term.registers : [];
    for (const r of [target, ...read]) {
      if (Number.isSafeInteger(r) && r >= 0 && r < this.registers) continue;
      throw invalidArgument({
        where,
        problem: `step ${step} names register ${String(r)}`,
        fix: `Use 0 to ${this.registers - 1}.`,
      });
    }
    if (!read.includes(target)) return;
    throw new NotReversibleError({
      where,
      step,
      problem: `step ${step} reads r${target}, the register it changes: it could not be undone`,
      fix: 'Collect the result in a register of its own.',
    });
  }
}

/** An empty program to add steps to. */
export const registerProgram = checked(
  'registerProgram',
  programOptions,
  (options: ProgramOptions): RegisterProgram => new RegisterProgram(options),
  latticeKinds,
);

const where = 'registerProgram';

const show = ({ target, sign, term }: RegisterStep): string => {
  const factors = term.kind === 'input' ? [term.name] : term.registers.map((r) => `r${r}`);
  if (term.kind === 'product' && (term.constant !== 1n || factors.length === 0)) factors.unshift(String(term.constant));
  return `r${target} ${sign === 1 ? '+=' : '-='} ${factors.join('*')}`;
};

function arithmeticOf(ring: Ring): Arithmetic {
  const wrap = (x: bigint): bigint => BigInt.asUintN(64, x);
  if (ring === 'u64')
    return { name: 'u64', add: (a, b) => wrap(a + b), sub: (a, b) => wrap(a - b), mul: (a, b) => wrap(a * b) };
  if (ring === 'gf64') {
    const xor = (a: bigint, b: bigint): bigint => wrap(a ^ b);
    return { name: 'gf64', add: xor, sub: xor, mul: (a, b) => gfMul(wrap(a), wrap(b)) };
  }
  const p = BigInt(wholeNumber(where, 'field', (ring as { field: number })?.field, 2));
  const mod = (x: bigint): bigint => ((x % p) + p) % p;
  return { name: `F_${p}`, add: (a, b) => mod(a + b), sub: (a, b) => mod(a - b), mul: (a, b) => mod(a * b) };
}

function tooFew(have: number, need: number, dtype = 'u64'): Error {
  return invalidArgument({
    where,
    problem: `${have} registers of ${dtype}; the program takes ${need} of u64, ${8 * need} bytes`,
    fix: 'Give a u64 tensor or array with one word per register.',
  });
}

checkMethods(RegisterProgram.prototype, programSignatures, latticeKinds);

const takes = argumentsOf('RegisterProgram', `${programOptions} steps:object[]?`, latticeKinds);
